//! What stands at the beginning of every datagram, so that its receiver knows what became of it.
//!
//! | bytes | what, the most significant byte first |
//! |---|---|
//! | 0–3 | the trial's token, folded: a stranger, or a straggler of an earlier trial, is refused |
//! | 4–7 | which flow |
//! | 8–15 | the datagram's number in its flow, from 0 |
//! | 16–23 | when it was sent, ns after the client's epoch, by the client's clock |

/// Bytes of it: the least payload of a datagram.
pub(crate) const LENGTH: usize = 24;

/// The number of a datagram that only says where its flow comes from.
const ANNOUNCEMENT: u64 = u64::MAX;

/// What all datagrams of one flow begin with in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// That of this flow. A session of several trials counts them from 0.
    pub(crate) fn new(token: u64, trial: u32, flow: u32) -> Self {
        let folded = ((token >> 32) as u32 ^ token as u32).wrapping_add(trial);
        Self(u64::from(folded) << 32 | u64::from(flow))
    }

    /// The flow of a datagram that announces one of this trial.
    pub(crate) fn announced(token: u64, bytes: &[u8]) -> Option<u32> {
        let header = Header::read(bytes)?;
        let flow = header.mark.0 as u32;
        let known = header.mark == Self::new(token, 0, flow) && header.number == ANNOUNCEMENT;
        known.then_some(flow)
    }

    /// The datagram that announces this flow.
    pub(crate) fn announcement(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        Header { mark: self, number: ANNOUNCEMENT, sent: 0 }.write(&mut bytes);
        bytes
    }
}

/// A datagram's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Which trial and flow.
    pub(crate) mark: Mark,
    /// Its number in its flow.
    pub(crate) number: u64,
    /// When it was sent, ns after the client's epoch.
    pub(crate) sent: u64,
}

impl Header {
    /// Reads it off the beginning of a datagram; nothing where that is too short.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.first_chunk()?;
        let (words, _) = bytes.as_chunks::<8>();
        let [mark, number, sent] = [words[0], words[1], words[2]].map(u64::from_be_bytes);
        Some(Self { mark: Mark(mark), number, sent })
    }

    /// Writes it to the beginning of a datagram, which has at least [`LENGTH`] bytes.
    #[inline]
    pub(crate) fn write(self, datagram: &mut [u8]) {
        if let Some(bytes) = datagram.first_chunk_mut::<LENGTH>() {
            bytes[..8].copy_from_slice(&self.mark.0.to_be_bytes());
            bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
            bytes[16..].copy_from_slice(&self.sent.to_be_bytes());
        }
    }

    /// Whether it belongs to the traffic of a flow.
    #[inline]
    pub(crate) fn is_of(&self, mark: Mark) -> bool {
        self.mark == mark && self.number != ANNOUNCEMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_announcement_is_known_to_its_own_trial_only_and_is_no_traffic() {
        let mark = Mark::new(0x1234_5678_9abc_def0, 0, 7);
        let bytes = mark.announcement();
        assert_eq!(Mark::announced(0x1234_5678_9abc_def0, &bytes), Some(7));
        assert_eq!(Mark::announced(0x1234_5678_9abc_def1, &bytes), None);
        assert_eq!(Mark::announced(0x1234_5678_9abc_def0, &bytes[1..]), None);
        assert!(!Header::read(&bytes).unwrap().is_of(mark));
        let traffic = Header { mark, number: 0, sent: 0 };
        let mut bytes = [0; LENGTH];
        traffic.write(&mut bytes);
        assert_eq!(Mark::announced(0x1234_5678_9abc_def0, &bytes), None);
        assert!(traffic.is_of(mark));
        assert!(!traffic.is_of(Mark::new(0x1234_5678_9abc_def0, 1, 7)), "another trial's");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(token: u64, trial: u32, flow: u32, number: u64, sent: u64) {
            let header = Header { mark: Mark::new(token, trial, flow), number, sent };
            let mut bytes = [0; LENGTH + 1];
            header.write(&mut bytes);
            prop_assert_eq!(Header::read(&bytes), Some(header));
            prop_assert_eq!(Header::read(&bytes[..LENGTH - 1]), None);
        }
    }
}
