//! `shared`: both ends in one container's namespace, over the container's own address.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, Waypoint, check_one_node, direct_routes, server_of,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, DockerBridge, add_nodes};
use crate::plan::wiring::Wiring;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct SharedNamespaceNetwork;

impl LabNetworkDefinition for SharedNamespaceNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "shared",
            summary: "both ends in one container's namespace, over the container's own address",
            stands_for: "docker run --network container:NAME, containers of one pod",
            source: "https://docs.docker.com/engine/network/#container-networks",
            options: &NetworkOption::SHARED,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        veth_and_bridge_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node("shared", shape)?;
        DockerBridge::check_ports("shared", shape.servers)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
        let mut bridge = DockerBridge::add(&mut wiring, node, None);
        let servers: Vec<NamespaceEndpoint> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                let plugged = bridge.add_container(&mut wiring, &name, &port);
                NamespaceEndpoint::at_slot(plugged.space, plugged.slot, shape.family)
            })
            .collect();
        let clients = 0..shape.clients as usize;
        Ok(Layout {
            clients: clients.map(|client| servers[server_of(client, shape)].clone()).collect(),
            routes: direct_routes(shape, site, &servers),
            path: vec![Waypoint::loopback(servers[0].space)],
            servers,
            proof: None,
            wiring,
        })
    }
}
