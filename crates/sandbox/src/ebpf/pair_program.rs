//! Programs at veth pairs.

use tare_network::RedirectProgram;

/// Program at the node's end of veth pairs, which redirects packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairProgram {
    /// Classifier at the reception of the device.
    Peer,
    /// XDP program in the driver of the device.
    Xdp,
}

impl PairProgram {
    /// All programs.
    pub const ALL: [Self; 2] = [Self::Peer, Self::Xdp];

    /// Returns the program as users choose it.
    #[must_use]
    pub fn option(self) -> RedirectProgram {
        match self {
            Self::Peer => RedirectProgram::Peer,
            Self::Xdp => RedirectProgram::Xdp,
        }
    }
}
