//! `host`: both ends in their nodes' own namespaces, over the nodes' own addresses.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, client_routes};
use crate::plan::nodes::BRIDGED_PAST_NETFILTER;
use crate::plan::placement::NodePlacement;
use crate::plan::underlay::{MOST_NODES, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{
    Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

pub(crate) struct HostNetwork;

impl LabNetworkDefinition for HostNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "host",
            summary: "both ends in their node's own namespace, over the node's own address",
            stands_for: "docker run --network host, hostNetwork: true",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: &[NetworkOption::Without],
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        1..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        veth_and_bridge_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("host", shape, site)
    }
}

/// Lays out clients and servers in their nodes' own namespaces.
pub(crate) fn layout(name: &str, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
    check_nodes(name, 1, shape)?;
    let mut wiring = Wiring::new(shape.family, inner_mtu(shape, &parse_link(shape)?, 0));
    let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
    let spread = NodePlacement::for_shape(shape);
    let servers = underlay.server_slots(&mut wiring, shape)?;
    let endpoint = |node: usize, address| NamespaceEndpoint {
        space: Some(underlay.nodes[node].space),
        address,
    };
    let server =
        |index: usize| endpoint(spread.server_node(index), servers[index].address(shape.family));
    let client = |index: usize| {
        let node = spread.client_node(index);
        endpoint(node, underlay.nodes[node].slot(0).address(shape.family))
    };
    Ok(Layout {
        servers: (0..shape.servers as usize).map(server).collect(),
        clients: (0..shape.clients as usize).map(client).collect(),
        routes: client_routes(shape, site, |_, server| {
            let address = servers[server].address(shape.family);
            (address, address)
        }),
        path: path(&underlay, spread),
        proof: None,
        wiring,
    })
}

/// Returns the path. Within one node it is the loopback device: packets to a machine's own address never reach the
/// device with that address.
fn path(underlay: &Underlay, spread: NodePlacement) -> Vec<Waypoint> {
    match (spread.client_node(0), spread.server_node(0)) {
        (client, server) if client == server => {
            vec![Waypoint::device(HopKind::Loopback, underlay.nodes[client].space, "lo")]
        }
        (client, server) => underlay.path(client, server),
    }
}
