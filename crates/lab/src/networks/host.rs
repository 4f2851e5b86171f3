//! `host`: both ends in their nodes' own namespaces, over the nodes' own addresses.

use super::{Recipe, wired};
use crate::layout::{Endpoint, Layout, Waypoint, routes};
use crate::nodes::BRIDGED_PAST_NETFILTER;
use crate::spread::Spread;
use crate::underlay::{MOST_NODES, Underlay, joins, link_of, mtu_inside};
use crate::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Host;

impl Recipe for Host {
    fn about(&self) -> About {
        About {
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

    fn needs(&self, _: &Site) -> Vec<Need> {
        wired()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("host", shape, site)
    }
}

/// Clients and servers as programs of their nodes.
pub(super) fn layout(name: &str, shape: &Shape, site: &Site) -> Result<Layout, Error> {
    joins(name, 1, shape)?;
    let mut wiring = Wiring::new(shape.family, mtu_inside(shape, &link_of(shape)?, 0));
    let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
    let spread = Spread::of(shape);
    let servers = underlay.server_slots(&mut wiring, shape)?;
    let endpoint =
        |node: usize, address| Endpoint { space: Some(underlay.nodes[node].space), address };
    let server =
        |index: usize| endpoint(spread.server(index), servers[index].address(shape.family));
    let client = |index: usize| {
        let node = spread.client(index);
        endpoint(node, underlay.nodes[node].slot(0).address(shape.family))
    };
    Ok(Layout {
        servers: (0..shape.servers as usize).map(server).collect(),
        clients: (0..shape.clients as usize).map(client).collect(),
        routes: routes(shape, site, |_, server| {
            let address = servers[server].address(shape.family);
            (address, address)
        }),
        path: path(&underlay, spread),
        proof: None,
        wiring,
    })
}

/// What a machine sends to its own address never reaches the device that has it.
fn path(underlay: &Underlay, spread: Spread) -> Vec<Waypoint> {
    match (spread.client(0), spread.server(0)) {
        (client, server) if client == server => {
            vec![Waypoint::device(HopKind::Loopback, underlay.nodes[client].space, "lo")]
        }
        (client, server) => underlay.path(client, server),
    }
}
