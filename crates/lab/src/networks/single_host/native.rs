//! `native`: both ends outside of the lab. The difference between this and `loopback` is the cost of the lab itself.

use crate::networks::LabNetworkDefinition;
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, check_one_node, client_routes};
use crate::plan::wiring::Wiring;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{
    AgentNamespaces, Error, Family, NetworkInfo, NetworkParameters, Requirement, Shape,
};

/// Name of the network namespace in which tare was started.
pub(crate) const PLACE: &str = "caller";

pub(crate) struct NativeNetwork;

impl LabNetworkDefinition for NativeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "native",
            summary: "both ends outside of the lab, over this machine's own loopback device",
            stands_for: "two processes on one machine, without containers",
            source: "RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3",
            options: &[],
        }
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        AgentNamespaces::Caller
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        Vec::new()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node("native", shape)?;
        let servers = addresses(shape)?;
        let endpoint = |address| NamespaceEndpoint { space: None, address };
        Ok(Layout {
            wiring: Wiring::new(shape.family, shape.mtu),
            clients: (0..shape.clients).map(|_| endpoint(servers[0])).collect(),
            routes: client_routes(shape, site, |_, server| (servers[server], servers[server])),
            servers: servers.into_iter().map(endpoint).collect(),
            path: vec![Waypoint::loopback(None)],
            proof: None,
        })
    }
}

/// Returns a loopback address of this machine for each server: 127.0.0.1, 127.0.0.2 …. Fails for several servers over
/// IPv6, which has one.
fn addresses(shape: &Shape) -> Result<Vec<IpAddr>, Error> {
    match shape.family {
        Family::Ipv4 => {
            let first = u32::from(Ipv4Addr::LOCALHOST);
            Ok((0..shape.servers).map(|index| Ipv4Addr::from(first + index).into()).collect())
        }
        Family::Ipv6 if shape.servers > 1 => {
            let why = "this machine has one IPv6 loopback address, and every server needs its own";
            Err(Error::new("lay out native", why).with_remedy("use --servers 1, or loopback"))
        }
        Family::Ipv6 => Ok(vec![Ipv6Addr::LOCALHOST.into()]),
    }
}
