//! `loopback`: both ends in one fresh namespace, over its loopback device.

use crate::networks::LabNetworkDefinition;
use crate::plan::address::host_prefix;
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, check_one_node, client_routes};
use crate::plan::wiring::{InterfaceAddress, Wiring};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{
    Error, Family, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

pub(crate) struct LoopbackNetwork;

impl LabNetworkDefinition for LoopbackNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "loopback",
            summary: "both ends in one fresh network namespace, over its loopback device",
            stands_for: "two processes in one pod or container that talk over localhost",
            source: "network_namespaces(7)",
            options: &NetworkOption::SHARED,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        Vec::new()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node("loopback", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let space = wiring.add_namespace("node-0", &[]);
        let servers: Vec<IpAddr> =
            (0..shape.servers).map(|index| address(shape.family, index)).collect();
        // The kernel gives the device its first address and, of IPv4, all of 127.0.0.0/8.
        let others = match shape.family {
            Family::Ipv4 => &[],
            Family::Ipv6 => servers.get(1..).unwrap_or_default(),
        };
        wiring.addresses.extend(others.iter().copied().chain([private_address(shape.family)]).map(
            |address| {
                let prefix = host_prefix(shape.family);
                InterfaceAddress { space, device: "lo".to_owned(), address, prefix }
            },
        ));
        let endpoint = |address| NamespaceEndpoint { space: Some(space), address };
        Ok(Layout {
            clients: (0..shape.clients).map(|_| endpoint(servers[0])).collect(),
            routes: client_routes(shape, site, |_, server| (servers[server], servers[server])),
            servers: servers.into_iter().map(endpoint).collect(),
            path: vec![Waypoint::device(HopKind::Loopback, space, "lo")],
            proof: None,
            wiring,
        })
    }
}

/// First private IPv6 address of this network.
const PRIVATE: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 127, 0, 0, 0, 1);

/// Returns a private address, as a pod has one, though nothing is sent to it. If a machine has no other address than
/// the loopback device's first, resolvers that look for the families it can reach (`AI_ADDRCONFIG`) ignore that one
/// too, and netperf cannot dial 127.0.0.1.
fn private_address(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 127, 0, 1).into(),
        Family::Ipv6 => PRIVATE.into(),
    }
}

/// Returns the address of a server: 127.0.0.1, 127.0.0.2 …, or ::1, then private ones.
fn address(family: Family, index: u32) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + index).into(),
        Family::Ipv6 if index == 0 => Ipv6Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::from(u128::from(PRIVATE) + u128::from(index)).into(),
    }
}
