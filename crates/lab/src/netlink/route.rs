//! Requests for routes.

use super::NetlinkRequest;
use super::request::{CREATE, family};
use crate::plan::wiring::{IpRoute, RouteDestination, RouteKind};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;
use tare_network::Family;

impl NetlinkRequest {
    /// Adds a route. `device` is the index of the device in the route. `default` is the family of a default route
    /// without an address.
    pub(crate) fn add_route(
        place: &str,
        route: &IpRoute,
        device: Option<u32>,
        default: Family,
    ) -> Self {
        let mut message = RouteMessage::default();
        message.header.address_family = family_of(route, default);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        (message.header.kind, message.header.scope) = match (route.kind, route.via) {
            (RouteKind::Blackhole, _) => (RouteType::BlackHole, RouteScope::Universe),
            (RouteKind::Unicast, Some(_)) => (RouteType::Unicast, RouteScope::Universe),
            (RouteKind::Unicast, None) => (RouteType::Unicast, RouteScope::Link),
        };
        if route.onlink {
            message.header.flags = RouteFlags::Onlink;
        }
        if let RouteDestination::Net(address, prefix) = route.to {
            message.header.destination_prefix_length = prefix;
            message.attributes.push(RouteAttribute::Destination(address.into()));
        }
        let via = route.via.map(|via| RouteAttribute::Gateway(via.into()));
        message.attributes.extend(via);
        message.attributes.extend(device.map(RouteAttribute::Oif));
        message.attributes.extend(route.table.map(RouteAttribute::Table));
        Self {
            what: format!("add the route to {} in {place}", route.to),
            flags: CREATE,
            message: RouteNetlinkMessage::NewRoute(message),
        }
    }
}

/// Returns the family of the addresses in a route, or the given family if it has none.
fn family_of(route: &IpRoute, default: Family) -> AddressFamily {
    let to = match route.to {
        RouteDestination::Net(address, _) => Some(address),
        RouteDestination::Default => None,
    };
    let unspecified = match default {
        Family::Ipv4 => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        Family::Ipv6 => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    };
    family(to.or(route.via).unwrap_or(unspecified))
}
