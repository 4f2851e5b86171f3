//! eBPF program that takes packets from container to container, past the bridge of their node.

/// Program at the node's end of every veth pair, which sends a packet on to the pair of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectProgram {
    /// Classifier at the device's reception, which continues in the destination's namespace (`bpf_redirect_peer`).
    Peer,
    /// XDP program, which runs before the kernel has made a socket buffer of the packet (`bpf_redirect`).
    Xdp,
}

impl RedirectProgram {
    /// All programs.
    pub const ALL: [Self; 2] = [Self::Peer, Self::Xdp];

    /// Returns the name of the option that chooses the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "redirect-peer",
            Self::Xdp => "xdp",
        }
    }

    /// Returns the program of a name. Returns `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the name of the program as a hop, and of its counter.
    #[must_use]
    pub fn hop(self) -> &'static str {
        match self {
            Self::Peer => "redirect_peer",
            Self::Xdp => "xdp_redirect",
        }
    }
}
