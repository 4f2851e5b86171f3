//! IP routes.

use crate::NamespaceChange;
use crate::netlink::{CREATE, DeviceRef, NetlinkRequest, family};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::Family;

/// Destination of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteDestination {
    /// All packets without a more specific route.
    Default,
    /// A network: its address, and the length of its prefix, bits.
    Net(IpAddr, u8),
}

impl fmt::Display for RouteDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Net(address, prefix) => write!(f, "{address}/{prefix}"),
        }
    }
}

/// Type of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteKind {
    /// Packets are forwarded.
    #[default]
    Unicast,
    /// Packets are dropped silently.
    Blackhole,
}

/// Route to add.
#[derive(Clone, Copy, Debug)]
pub struct NewRoute<'a> {
    /// Destination of the packets.
    pub to: RouteDestination,
    /// Gateway. `None` if the device reaches the destination directly.
    pub via: Option<IpAddr>,
    /// Device. `None` for the one that reaches `via`.
    pub device: Option<DeviceRef<'a>>,
    /// Takes `via` to be directly at the device, whatever the addresses say (`onlink`).
    pub onlink: bool,
    /// Number of its table. `None` for the main table.
    pub table: Option<u32>,
    /// Type of the route.
    pub kind: RouteKind,
    /// Family of a default route without a gateway.
    pub family: Family,
}

impl NamespaceChange for NewRoute<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let mut message = RouteMessage::default();
        message.header.address_family = family(self.address());
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        (message.header.kind, message.header.scope) = match (self.kind, self.via) {
            (RouteKind::Blackhole, _) => (RouteType::BlackHole, RouteScope::Universe),
            (RouteKind::Unicast, Some(_)) => (RouteType::Unicast, RouteScope::Universe),
            (RouteKind::Unicast, None) => (RouteType::Unicast, RouteScope::Link),
        };
        if self.onlink {
            message.header.flags = RouteFlags::Onlink;
        }
        if let RouteDestination::Net(address, prefix) = self.to {
            message.header.destination_prefix_length = prefix;
            message.attributes.push(RouteAttribute::Destination(address.into()));
        }
        message.attributes.extend(self.via.map(|via| RouteAttribute::Gateway(via.into())));
        message.attributes.extend(self.device.map(|device| RouteAttribute::Oif(device.index)));
        message.attributes.extend(self.table.map(RouteAttribute::Table));
        NetlinkRequest {
            what: format!("add the route to {} in {place}", self.to),
            flags: CREATE,
            message: RouteNetlinkMessage::NewRoute(message),
        }
    }

    fn command(&self, place: &str) -> String {
        let mut words = vec!["ip".to_owned()];
        words.extend(self.address().is_ipv6().then(|| "-6".to_owned()));
        words.push(format!("-n {place} route add"));
        words.extend((self.kind == RouteKind::Blackhole).then(|| "blackhole".to_owned()));
        words.push(self.to.to_string());
        words.extend(self.via.map(|via| format!("via {via}")));
        words.extend(self.device.map(|device| format!("dev {}", device.name)));
        words.extend(self.table.map(|table| format!("table {table}")));
        words.extend(self.onlink.then(|| "onlink".to_owned()));
        words.join(" ")
    }
}

impl NewRoute<'_> {
    /// Returns an address of the route's family: one that it names, or the unspecified address.
    fn address(&self) -> IpAddr {
        let to = match self.to {
            RouteDestination::Net(address, _) => Some(address),
            RouteDestination::Default => None,
        };
        to.or(self.via).unwrap_or(match self.family {
            Family::Ipv4 => Ipv4Addr::UNSPECIFIED.into(),
            Family::Ipv6 => Ipv6Addr::UNSPECIFIED.into(),
        })
    }
}
