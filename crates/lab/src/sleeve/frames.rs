//! Frames in a UDP packet: for each the name of the node that it is for, that of the node that it is from, its length, itself.

/// The name of a node.
pub(super) type Name = [u8; 6];

/// A link-layer address.
pub(super) type Address = [u8; 6];

/// What stands before a frame, bytes: two names and a length.
const HEADER: usize = 14;

/// A packet that is being filled.
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// What is left free at its beginning, for whoever sends it.
    head: usize,
    /// How many bytes it may have.
    room: usize,
}

impl Batch {
    /// An empty one.
    pub(super) fn new(head: usize, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room);
        bytes.resize(head, 0);
        Self { bytes, head, room }
    }

    /// Whether there is room for a frame. An empty packet has room for any: what is too large for a link is for IP to cut.
    pub(super) fn fits(&self, frame: &[u8]) -> bool {
        self.is_empty() || self.bytes.len() + HEADER + frame.len() <= self.room
    }

    /// Whether no frame is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == self.head
    }

    /// Adds a frame; one that no length can tell of is left out.
    pub(super) fn push(&mut self, to: Name, from: Name, frame: &[u8]) {
        let Ok(length) = u16::try_from(frame.len()) else { return };
        self.bytes.extend(to);
        self.bytes.extend(from);
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(frame);
    }

    /// The whole packet.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(self.head);
    }
}

/// The frames of a packet, up to the first that is not whole.
pub(super) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let length = u16::from_be_bytes([header[HEADER - 2], header[HEADER - 1]]);
        let (frame, rest) = rest.split_at_checked(length.into())?;
        bytes = rest;
        Some(frame)
    })
}

/// For whom a frame is, and from whom; nothing for what is no frame (IEEE 802.3, 3.2.3).
pub(super) fn addresses(frame: &[u8]) -> Option<(Address, Address)> {
    Some((*frame.first_chunk()?, *frame.get(6..)?.first_chunk()?))
}

/// Whether a frame is for more than one.
pub(super) fn is_for_many(to: &Address) -> bool {
    to[0] & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_filled_to_its_room() {
        let mut batch = Batch::new(6, 6 + 2 * (HEADER + 60));
        let frame = [7; 60];
        for _ in 0..2 {
            assert!(batch.fits(&frame));
            batch.push([1; 6], [2; 6], &frame);
        }
        assert!(!batch.fits(&[0; 1]));
        assert_eq!(frames(&batch.bytes()[6..]).count(), 2);
        batch.clear();
        assert!(batch.is_empty() && batch.fits(&[0; 9000]), "what is too large goes alone");
    }

    #[test]
    fn addresses_are_where_ethernet_has_them() {
        let frame: Vec<u8> = (0..14).collect();
        assert_eq!(addresses(&frame), Some(([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11])));
        assert_eq!(addresses(&frame[..11]), None);
        assert!(is_for_many(&[0xff; 6]) && !is_for_many(&[0x02, 0x42, 0, 0, 0, 1]));
    }

    proptest! {
        #[test]
        fn frames_come_back_as_they_went(all in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 0..10)) {
            let mut batch = Batch::new(3, 60_000);
            all.iter().for_each(|frame| batch.push([1; 6], [2; 6], frame));
            let back: Vec<Vec<u8>> = frames(&batch.bytes()[3..]).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(back, all);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(frames(&bytes).map(<[u8]>::len).sum::<usize>() <= bytes.len());
        }
    }
}
