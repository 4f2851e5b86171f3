//! Routes.

use super::SpaceId;
use std::fmt;
use std::net::IpAddr;

/// Where packets go to that take a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Wherever no other route leads.
    Default,
    /// To a network: its address, and the length of its prefix, bits.
    Net(IpAddr, u8),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Net(address, prefix) => write!(f, "{address}/{prefix}"),
        }
    }
}

/// What becomes of packets that take a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// They go on.
    #[default]
    Unicast,
    /// They are dropped in silence.
    Blackhole,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Where.
    pub(crate) space: SpaceId,
    /// To what.
    pub(crate) to: Destination,
    /// Through whom; nothing for whom the device reaches itself.
    pub(crate) via: Option<IpAddr>,
    /// By which device; nothing for the one that reaches `via`.
    pub(crate) device: Option<String>,
    /// Whether `via` is taken to be at the device, whatever the addresses say.
    pub(crate) onlink: bool,
    /// The number of its table; nothing for the main one.
    pub(crate) table: Option<u32>,
    /// What becomes of the packets.
    pub(crate) kind: RouteKind,
}

impl Route {
    /// Everything through a gateway.
    pub(crate) fn default_via(space: SpaceId, gateway: IpAddr) -> Self {
        Self { via: Some(gateway), ..Self::to(space, Destination::Default) }
    }

    /// To a network, by a device that reaches all of it.
    pub(crate) fn by_device(space: SpaceId, to: Destination, device: impl Into<String>) -> Self {
        Self { device: Some(device.into()), ..Self::to(space, to) }
    }

    /// A route without a way yet.
    pub(crate) fn to(space: SpaceId, to: Destination) -> Self {
        let (via, device, table) = (None, None, None);
        Self { space, to, via, device, onlink: false, table, kind: RouteKind::Unicast }
    }
}
