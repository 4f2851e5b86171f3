//! Forwarding entries of bridges and of VXLAN devices.

use super::NamespaceId;
use std::net::Ipv4Addr;
use tare_sandbox::netlink::MacAddress;

/// Static entry: a link-layer address behind a port of a bridge.
///
/// A bridge floods a frame for an unknown address to all its ports. Each copy waits in the same queue of a core
/// (`net.core.netdev_max_backlog`, 1000), so that with a thousand ports some copies are dropped, perhaps the one for
/// the right port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FdbEntry {
    /// Namespace of the bridge.
    pub(crate) space: NamespaceId,
    /// Device that is attached to the bridge.
    pub(crate) port: String,
    /// Link-layer address.
    pub(crate) mac: MacAddress,
}

/// Permanent forwarding entry of a VXLAN device: the node behind which an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VxlanFdbEntry {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the VXLAN device.
    pub(crate) device: String,
    /// Link-layer address.
    pub(crate) mac: MacAddress,
    /// Address of the node.
    pub(crate) remote: Ipv4Addr,
}
