//! `loopback`: both ends in one fresh namespace, over its loopback device.

use super::Recipe;
use crate::address::host_prefix;
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes};
use crate::wiring::{Address, Wiring};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{About, Error, Family, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Loopback;

impl Recipe for Loopback {
    fn about(&self) -> About {
        About {
            name: "loopback",
            summary: "both ends in one fresh network namespace, over its loopback device",
            stands_for: "two processes in one pod or container that talk over localhost",
            source: "network_namespaces(7)",
            options: &[NetworkOption::Without],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        Vec::new()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("loopback", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let space = wiring.space("node-0", &[]);
        let servers: Vec<IpAddr> =
            (0..shape.servers).map(|index| address(shape.family, index)).collect();
        // The first address is the device's by itself, and so is all of 127.0.0.0/8.
        let others = match shape.family {
            Family::Ipv4 => &[],
            Family::Ipv6 => servers.get(1..).unwrap_or_default(),
        };
        wiring.addresses.extend(others.iter().copied().chain([own(shape.family)]).map(|address| {
            let prefix = host_prefix(shape.family);
            Address { space, device: "lo".to_owned(), address, prefix }
        }));
        let endpoint = |address| Endpoint { space: Some(space), address };
        Ok(Layout {
            clients: (0..shape.clients).map(|_| endpoint(servers[0])).collect(),
            routes: routes(shape, site, |_, server| (servers[server], servers[server])),
            servers: servers.into_iter().map(endpoint).collect(),
            path: vec![Waypoint::device(HopKind::Loopback, space, "lo")],
            proof: None,
            wiring,
        })
    }
}

/// The first of the private addresses here.
const PRIVATE: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 127, 0, 0, 0, 1);

/// What a pod has besides, though nothing is sent to it. Where there is no other address than the loopback device's first,
/// resolvers that are asked for what the machine can reach (`AI_ADDRCONFIG`) do not even take that one: netperf cannot
/// dial 127.0.0.1 then.
fn own(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 127, 0, 1).into(),
        Family::Ipv6 => PRIVATE.into(),
    }
}

/// An address for each server: 127.0.0.1, 127.0.0.2 …; ::1, then private ones.
fn address(family: Family, index: u32) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + index).into(),
        Family::Ipv6 if index == 0 => Ipv6Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::from(u128::from(PRIVATE) + u128::from(index)).into(),
    }
}
