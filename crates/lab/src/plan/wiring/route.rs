//! IP routes.

use super::NamespaceId;
use std::net::IpAddr;
use tare_sandbox::addressing::{RouteDestination, RouteKind};

/// IP route of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IpRoute {
    /// Namespace of the route.
    pub(crate) space: NamespaceId,
    /// Destination of the packets.
    pub(crate) to: RouteDestination,
    /// Gateway. `None` if the device reaches the destination directly.
    pub(crate) via: Option<IpAddr>,
    /// Device. `None` for the one that reaches `via`.
    pub(crate) device: Option<String>,
    /// Takes `via` to be directly at the device, whatever the addresses say (`onlink`).
    pub(crate) onlink: bool,
    /// Number of its table. `None` for the main table.
    pub(crate) table: Option<u32>,
    /// Type of the route.
    pub(crate) kind: RouteKind,
}

impl IpRoute {
    /// Returns a default route through a gateway.
    pub(crate) fn default_via(space: NamespaceId, gateway: IpAddr) -> Self {
        Self { via: Some(gateway), ..Self::to(space, RouteDestination::Default) }
    }

    /// Returns a route to a network, by a device that reaches all of it.
    pub(crate) fn by_device(
        space: NamespaceId,
        to: RouteDestination,
        device: impl Into<String>,
    ) -> Self {
        Self { device: Some(device.into()), ..Self::to(space, to) }
    }

    /// Returns a route without a gateway and a device yet.
    pub(crate) fn to(space: NamespaceId, to: RouteDestination) -> Self {
        let (via, device, table) = (None, None, None);
        Self { space, to, via, device, onlink: false, table, kind: RouteKind::Unicast }
    }
}
