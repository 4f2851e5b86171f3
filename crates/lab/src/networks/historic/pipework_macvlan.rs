//! `pipework-macvlan`: containers on Docker's bridge, each with a second interface on the node's uplink.
//!
//! It does what the shell script pipework does for `pipework eth0 CONTAINER ADDRESS`.

use crate::networks::historic::pipework::SECOND;
use crate::networks::single_host::bridge_plain::{BridgeLayout, layout_on_bridge};
use crate::networks::{LabNetworkDefinition, uplink_requirements};
use crate::plan::layout::{Layout, NamespaceEndpoint, PathProof, client_routes, server_of};
use crate::plan::nodes::BRIDGED_PAST_NETFILTER;
use crate::plan::uplink::{
    UplinkChild, UplinkMode, add_child, add_neighbours, check_capacity, path, slot,
};
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct PipeworkMacvlanNetwork;

impl LabNetworkDefinition for PipeworkMacvlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "pipework-macvlan",
            summary: "two containers with a second interface each, a macvlan device on the uplink",
            stands_for: "pipework eth0 CONTAINER ADDRESS: its steps, not the script itself",
            source: "https://github.com/jpetazzo/pipework",
            options: &NetworkOption::UPLINK,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        uplink_requirements("macvlan")
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        const BY: UplinkMode = UplinkMode::Macvlan;
        check_capacity("pipework-macvlan", shape)?;
        let BridgeLayout { mut layout, node, servers, clients, .. } =
            layout_on_bridge("pipework-macvlan", shape, site, &BRIDGED_PAST_NETFILTER)?;
        let hung: Vec<UplinkChild> = (0..)
            .zip(servers.iter().chain(&clients))
            .map(|(number, one)| UplinkChild { space: one.space, slot: slot(number) })
            .collect();
        for one in &hung {
            add_child(&mut layout.wiring, node, BY, *one, SECOND);
        }
        let (servers, clients) = hung.split_at(servers.len());
        for (index, client) in clients.iter().enumerate() {
            let server = servers[server_of(index, shape)];
            add_neighbours(&mut layout.wiring, node, BY, [*client, server], SECOND);
        }
        let address = |one: &UplinkChild| one.slot.address(shape.family);
        let endpoint =
            |one: &UplinkChild| NamespaceEndpoint { space: Some(one.space), address: address(one) };
        layout.servers = servers.iter().map(endpoint).collect();
        layout.clients = clients.iter().map(endpoint).collect();
        layout.routes = client_routes(shape, site, |_, server| {
            (address(&servers[server]), address(&servers[server]))
        });
        layout.path = path(BY, clients[0].space, servers[0].space, SECOND);
        layout.proof = Some(PathProof::Device { space: clients[0].space, name: SECOND.to_owned() });
        Ok(layout)
    }
}
