//! Encoding of frames in a UDP packet. Each frame has a header: the name of the destination node, the name of the
//! source node, and its length.

/// Weave's peer name of a node.
pub(super) type PeerName = [u8; 6];

/// Link-layer address of a frame.
pub(super) type EthernetAddress = [u8; 6];

/// Length of the header before each frame, bytes: two names and a length.
const HEADER: usize = 14;

/// UDP payload that is being filled with frames.
pub(super) struct FrameBatch {
    bytes: Vec<u8>,
    /// Length of the packet's head, bytes, which the sealer fills in.
    header_length: usize,
    /// Largest length of the payload, bytes.
    capacity: usize,
}

impl FrameBatch {
    /// Creates a payload without frames.
    pub(super) fn new(head: usize, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room);
        bytes.resize(head, 0);
        Self { bytes, header_length: head, capacity: room }
    }

    /// Returns true if there is room for a frame. An empty payload has room for any frame: if it is too large for a
    /// link, IP fragments it.
    pub(super) fn fits(&self, frame: &[u8]) -> bool {
        self.is_empty() || self.bytes.len() + HEADER + frame.len() <= self.capacity
    }

    /// Returns true if there is no frame in the payload.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == self.header_length
    }

    /// Adds a frame. A frame whose length does not fit 16 bits is left out.
    pub(super) fn push(&mut self, to: PeerName, from: PeerName, frame: &[u8]) {
        let Ok(length) = u16::try_from(frame.len()) else { return };
        self.bytes.extend(to);
        self.bytes.extend(from);
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(frame);
    }

    /// Returns the whole payload, head included.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Removes all frames and keeps the head.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(self.header_length);
    }
}

/// Returns the frames of a packet, up to the first that is truncated.
pub(super) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let length = u16::from_be_bytes([header[HEADER - 2], header[HEADER - 1]]);
        let (frame, rest) = rest.split_at_checked(length.into())?;
        bytes = rest;
        Some(frame)
    })
}

/// Returns a frame's destination and source address. Returns `None` if it is too short for both (IEEE 802.3, 3.2.3).
pub(super) fn addresses(frame: &[u8]) -> Option<(EthernetAddress, EthernetAddress)> {
    Some((*frame.first_chunk()?, *frame.get(6..)?.first_chunk()?))
}

/// Returns true if an address is that of a group: multicast or broadcast.
pub(super) fn is_multicast(to: &EthernetAddress) -> bool {
    to[0] & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_filled_to_its_room() {
        let mut batch = FrameBatch::new(6, 6 + 2 * (HEADER + 60));
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
        assert!(is_multicast(&[0xff; 6]) && !is_multicast(&[0x02, 0x42, 0, 0, 0, 1]));
    }

    proptest! {
        #[test]
        fn frames_come_back_as_they_went(all in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 0..10)) {
            let mut batch = FrameBatch::new(3, 60_000);
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
