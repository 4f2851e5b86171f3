//! Redirection among the veth pairs of a node, past its bridge.

use super::NamespaceId;
use tare_sandbox::ebpf::PairProgram;
use tare_sandbox::netlink::MacAddress;

/// Redirection among the veth pairs of a node: a packet from one of its containers goes on in another at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedRedirect {
    /// Namespace of the node.
    pub(crate) space: NamespaceId,
    /// Program that redirects.
    pub(crate) program: PairProgram,
    /// Node's end of each pair, with the link-layer address of the container's end.
    pub(crate) targets: Vec<(String, MacAddress)>,
}

/// Device of a container that is to receive packets from XDP programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XdpReceiver {
    /// Namespace of the container.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
}
