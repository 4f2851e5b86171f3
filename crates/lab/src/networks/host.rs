//! `host`: both ends in the node's own namespace, over the node's own address.

use super::{Recipe, wired};
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes};
use crate::nodes::{BRIDGED_PAST_NETFILTER, add_nodes};
use crate::wiring::Wiring;
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Host;

impl Recipe for Host {
    fn about(&self) -> About {
        About {
            name: "host",
            summary: "both ends in the node's own namespace, over the node's own address",
            stands_for: "docker run --network host, hostNetwork: true",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: &[NetworkOption::Without],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        wired()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("host", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
        let servers: Vec<_> = node
            .addresses(&mut wiring, shape.servers)?
            .iter()
            .map(|slot| slot.address(shape.family))
            .collect();
        let endpoint = |address| Endpoint { space: Some(node.space), address };
        Ok(Layout {
            clients: (0..shape.clients).map(|_| endpoint(servers[0])).collect(),
            routes: routes(shape, site, |_, server| (servers[server], servers[server])),
            servers: servers.into_iter().map(endpoint).collect(),
            // What a machine sends to its own address never reaches the device that has it.
            path: vec![Waypoint::device(HopKind::Loopback, node.space, "lo")],
            proof: None,
            wiring,
        })
    }
}
