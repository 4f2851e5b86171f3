//! Datagram that announces a UDP flow.

/// Handshake datagram of a flow: `tare`, the trial's token, the flow's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RrHandshake(pub(super) [u8; RrHandshake::LENGTH]);

impl RrHandshake {
    pub(super) const LENGTH: usize = 20;

    pub(super) fn new(token: u64, number: u64) -> Self {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(b"tare");
        bytes[4..12].copy_from_slice(&token.to_be_bytes());
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }

    /// Returns true if a datagram is this one.
    pub(super) fn matches(self, datagram: &[u8]) -> bool {
        datagram == self.0
    }
}
