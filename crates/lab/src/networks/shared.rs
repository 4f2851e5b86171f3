//! `shared`: both ends in one container's namespace, over the container's own address.

use super::{Recipe, wired};
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes, server_of};
use crate::nodes::{BRIDGED_PAST_NETFILTER, DockerBridge, add_nodes};
use crate::wiring::Wiring;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Shared;

impl Recipe for Shared {
    fn about(&self) -> About {
        About {
            name: "shared",
            summary: "both ends in one container's namespace, over the container's own address",
            stands_for: "docker run --network container:NAME, containers of one pod",
            source: "https://docs.docker.com/engine/network/#container-networks",
            options: &[NetworkOption::Without],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        wired()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("shared", shape)?;
        DockerBridge::check_ports("shared", shape.servers)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
        let mut bridge = DockerBridge::add(&mut wiring, node, None);
        let servers: Vec<Endpoint> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                let plugged = bridge.plug(&mut wiring, &name, &port);
                let address = plugged.slot.address(shape.family);
                Endpoint { space: Some(plugged.space), address }
            })
            .collect();
        let clients = 0..shape.clients as usize;
        Ok(Layout {
            clients: clients.map(|client| servers[server_of(client, shape)].clone()).collect(),
            routes: routes(shape, site, |_, server| {
                (servers[server].address, servers[server].address)
            }),
            path: vec![Waypoint::loopback(servers[0].space)],
            servers,
            proof: None,
            wiring,
        })
    }
}
