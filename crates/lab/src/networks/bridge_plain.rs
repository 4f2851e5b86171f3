//! `bridge-plain`: two containers on a bridge, and no netfilter on it. `bridge+plain` is the same.

use super::{Recipe, wired};
use crate::address::{Slot, Subnet};
use crate::docker::BRIDGE;
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes, server_of};
use crate::nodes::{BRIDGED_PAST_NETFILTER, DockerBridge, Node, Plugged, UPLINK, add_nodes};
use crate::wiring::{Sysctl, Wiring};
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct BridgePlain;

impl Recipe for BridgePlain {
    fn about(&self) -> About {
        About {
            name: "bridge-plain",
            summary: "two containers on a bridge, without netfilter; beyond 1,023 of them on several bridges",
            stands_for: "dockerd --iptables=false --ip6tables=false, br_netfilter off",
            source: "https://docs.docker.com/engine/network/packet-filtering-firewalls/",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        wired()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("bridge-plain", shape, site)
    }
}

/// The layout of a bridge without netfilter.
pub(super) fn layout(name: &str, shape: &Shape, site: &Site) -> Result<Layout, Error> {
    Ok(spread(name, shape, site, &BRIDGED_PAST_NETFILTER)?.layout)
}

/// Containers on a bridge, and what rules on it must know.
pub(super) struct Bridged {
    /// All of it, without rules.
    pub(super) layout: Layout,
    /// The node.
    pub(super) node: Node,
    /// The bridge's network.
    pub(super) subnet: Subnet,
    /// The bridge's own interface.
    pub(super) gateway: Slot,
    /// The servers.
    pub(super) servers: Vec<Plugged>,
    /// The clients.
    pub(super) clients: Vec<Plugged>,
}

/// Servers and clients on Docker's default bridge, on a node with these settings.
pub(super) fn bridged(
    name: &str,
    shape: &Shape,
    site: &Site,
    sysctls: &[Sysctl],
) -> Result<Bridged, Error> {
    // What is laid over it is one bridge's.
    DockerBridge::check_ports(name, shape.servers.saturating_add(shape.clients))?;
    spread(name, shape, site, sysctls)
}

/// The same on as many bridges as the containers need ports.
fn spread(name: &str, shape: &Shape, site: &Site, sysctls: &[Sysctl]) -> Result<Bridged, Error> {
    one_node(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, sysctls)[0];
    let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
    bridge.grow(&mut wiring, shape.servers + shape.clients);
    let mut plug = |role: &str, count: u32| -> Vec<Plugged> {
        (0..count)
            .map(|index| {
                let (name, port) =
                    (format!("{role}-{index}"), format!("veth-{}{index}", &role[..1]));
                bridge.plug(&mut wiring, &name, &port)
            })
            .collect()
    };
    let servers = plug("server", shape.servers);
    let clients = plug("client", shape.clients);
    bridge.announce(&mut wiring, &servers);
    for (index, client) in clients.iter().enumerate() {
        let server = servers[server_of(index, shape)];
        wiring.neighbour(client.space, UPLINK, server.slot);
        wiring.neighbour(server.space, UPLINK, client.slot);
    }
    let endpoint = |one: &Plugged| Endpoint {
        space: Some(one.space),
        address: one.slot.address(shape.family),
    };
    let layout = Layout {
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: routes(shape, site, |_, server| {
            let address = servers[server].slot.address(shape.family);
            (address, address)
        }),
        path: vec![
            Waypoint::device(HopKind::Veth, clients[0].space, UPLINK),
            Waypoint::device(HopKind::Veth, node.space, "veth-c0"),
            Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
            Waypoint::device(HopKind::Veth, node.space, "veth-s0"),
            Waypoint::device(HopKind::Veth, servers[0].space, UPLINK),
        ],
        proof: None,
        wiring,
    };
    let (subnet, gateway) = (bridge.subnet(), bridge.gateway());
    Ok(Bridged { layout, node, subnet, gateway, servers, clients })
}
