//! What a bridge knows for good of where a frame is to go.

use super::SpaceId;
use crate::address::Mac;

/// A link-layer address that a bridge knows to be behind a port.
///
/// A bridge sends a frame for an address that it does not know to all its ports. Each copy waits in the same queue of a
/// core (`net.core.netdev_max_backlog`, 1000), so that of a thousand ports some go without, perhaps the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    /// Where the bridge is.
    pub(crate) space: SpaceId,
    /// The device that is plugged into it.
    pub(crate) port: String,
    /// The address.
    pub(crate) mac: Mac,
}
