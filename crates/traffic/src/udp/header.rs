//! Header of every datagram, by which its receiver identifies flow, order and sending time.
//!
//! | bytes | content, the most significant byte first |
//! |---|---|
//! | 0–3 | the trial's token, folded; datagrams of strangers and of earlier trials are rejected by it |
//! | 4–7 | the flow's number |
//! | 8–15 | the datagram's number in its flow, from 0 |
//! | 16–23 | the sending time, ns after the client's epoch, by the client's clock |

/// Length of the header, bytes: the minimum payload of a datagram.
pub(crate) const LENGTH: usize = 24;

/// Number of an announcement: a datagram that only shows the address from which its flow comes.
const ANNOUNCEMENT: u64 = u64::MAX;

/// First eight bytes of all datagrams of one flow in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowTag(u64);

impl FlowTag {
    /// Creates the mark of a flow in a trial. A session of several trials counts them from 0.
    pub(crate) fn new(token: u64, trial: u32, flow: u32) -> Self {
        let folded = ((token >> 32) as u32 ^ token as u32).wrapping_add(trial);
        Self(u64::from(folded) << 32 | u64::from(flow))
    }

    /// Returns the flow that a datagram announces. Returns `None` if it is no announcement of this trial.
    pub(crate) fn announced_flow(token: u64, bytes: &[u8]) -> Option<u32> {
        let header = DatagramHeader::read(bytes)?;
        let flow = header.tag.0 as u32;
        let known = header.tag == Self::new(token, 0, flow) && header.number == ANNOUNCEMENT;
        known.then_some(flow)
    }

    /// Returns the datagram that announces this flow.
    pub(crate) fn announcement(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        DatagramHeader { tag: self, number: ANNOUNCEMENT, sent: 0 }.write(&mut bytes);
        bytes
    }
}

/// Header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramHeader {
    /// Mark of the trial and flow.
    pub(crate) tag: FlowTag,
    /// Number of the datagram in its flow, from 0.
    pub(crate) number: u64,
    /// Sending time, ns after the client's epoch.
    pub(crate) sent: u64,
}

impl DatagramHeader {
    /// Reads the header of a datagram. Returns `None` if the datagram is too short.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.first_chunk()?;
        let (words, _) = bytes.as_chunks::<8>();
        let [mark, number, sent] = [words[0], words[1], words[2]].map(u64::from_be_bytes);
        Some(Self { tag: FlowTag(mark), number, sent })
    }

    /// Writes the header to the beginning of a datagram, which has at least [`LENGTH`] bytes.
    #[inline]
    pub(crate) fn write(self, datagram: &mut [u8]) {
        if let Some(bytes) = datagram.first_chunk_mut::<LENGTH>() {
            bytes[..8].copy_from_slice(&self.tag.0.to_be_bytes());
            bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
            bytes[16..].copy_from_slice(&self.sent.to_be_bytes());
        }
    }

    /// Returns whether the datagram belongs to the traffic of a flow, and is no announcement.
    #[inline]
    pub(crate) fn has_tag(&self, mark: FlowTag) -> bool {
        self.tag == mark && self.number != ANNOUNCEMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_announcement_is_known_to_its_own_trial_only_and_is_no_traffic() {
        let mark = FlowTag::new(0x1234_5678_9abc_def0, 0, 7);
        let bytes = mark.announcement();
        assert_eq!(FlowTag::announced_flow(0x1234_5678_9abc_def0, &bytes), Some(7));
        assert_eq!(FlowTag::announced_flow(0x1234_5678_9abc_def1, &bytes), None);
        assert_eq!(FlowTag::announced_flow(0x1234_5678_9abc_def0, &bytes[1..]), None);
        assert!(!DatagramHeader::read(&bytes).unwrap().has_tag(mark));
        let traffic = DatagramHeader { tag: mark, number: 0, sent: 0 };
        let mut bytes = [0; LENGTH];
        traffic.write(&mut bytes);
        assert_eq!(FlowTag::announced_flow(0x1234_5678_9abc_def0, &bytes), None);
        assert!(traffic.has_tag(mark));
        assert!(!traffic.has_tag(FlowTag::new(0x1234_5678_9abc_def0, 1, 7)), "another trial's");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(token: u64, trial: u32, flow: u32, number: u64, sent: u64) {
            let header = DatagramHeader { tag: FlowTag::new(token, trial, flow), number, sent };
            let mut bytes = [0; LENGTH + 1];
            header.write(&mut bytes);
            prop_assert_eq!(DatagramHeader::read(&bytes), Some(header));
            prop_assert_eq!(DatagramHeader::read(&bytes[..LENGTH - 1]), None);
        }
    }
}
