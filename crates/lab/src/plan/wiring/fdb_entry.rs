//! Static entries in the forwarding database of a bridge.

use super::NamespaceId;
use crate::plan::address::MacAddress;

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
