//! eBPF program that takes data from one end to the other, past a part of the kernel's network stack.

/// Program that redirects packets between veth pairs, or data between sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectProgram {
    /// Classifier at the node's end of every veth pair, which continues in the destination's namespace
    /// (`bpf_redirect_peer`).
    Peer,
    /// XDP program at the node's end of every veth pair, which runs before the kernel has made a socket buffer of the
    /// packet (`bpf_redirect`).
    Xdp,
    /// Program at sockets, which appends what one sends to the queue of the other (`bpf_msg_redirect_hash`).
    Sockmap,
}

impl RedirectProgram {
    /// All programs.
    pub const ALL: [Self; 3] = [Self::Peer, Self::Xdp, Self::Sockmap];

    /// Returns the name of the option that chooses the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "redirect-peer",
            Self::Xdp => "xdp",
            Self::Sockmap => "sockmap",
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
            Self::Sockmap => "sockmap",
        }
    }
}
