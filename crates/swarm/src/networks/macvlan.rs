//! Network `swarm:macvlan`: tasks with macvlan devices on their nodes' uplinks, each node with a range of addresses of
//! its own.
//!
//! Docker splits such a network in two: on every engine a configuration-only network of the same name, with the node's
//! own device and its part of the subnet; and one network of the whole Swarm that is made from these. A
//! configuration-only network can be made only through its own engine, so all engines have to be named.

use super::overlay::start_both;
use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name, script};
use crate::deployment::SwarmDeployment;
use crate::nodes::SwarmNode;
use crate::task_request::{TaskAttachment, TaskRequest};
use bollard::models::NetworkCreateRequest;
use std::collections::HashMap;
use tare_docker::networks::layout::{NetworkLayout, PathStep, direct_routes};
use tare_docker::networks::machine;
use tare_docker::networks::ranges::EngineRanges;
use tare_docker::requirement::EngineRequirement;
use tare_network::{Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct SwarmMacvlanNetwork;

impl SwarmNetworkDefinition for SwarmMacvlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:macvlan",
            summary: "tasks of Docker services with macvlan devices on their nodes' uplinks",
            stands_for: "docker network create --config-only on each node, then --scope swarm --config-from",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        vec![EngineRequirement::Driver("macvlan"), EngineRequirement::Kernel("macvlan")]
    }

    fn check_capacity(&self, shape: &Shape) -> Result<(), Error> {
        if shape.family == Family::Ipv6 {
            let why = "the nodes get parts of an IPv4 subnet";
            return Err(Error::new("lay out swarm:macvlan", why).with_remedy("use --family ipv4"));
        }
        Ok(())
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let parents = parent_devices(crew, nodes)?;
        let ranges = EngineRanges::random();
        let of_nodes = crew.swarm.resources.unique_name("config");
        for (index, member) in (0_u32..).zip(nodes.nodes) {
            let engine = crew.engine_of_node(member)?;
            let parent = &parents[index as usize];
            crew.create_network_on(
                &engine,
                &of_nodes,
                node_configuration(ranges, index, parent, shape),
            )?;
        }
        let network = crew.network_from_configuration(&of_nodes, "macvlan")?;
        let (servers, clients) = start_both(crew, nodes, &network, shape)?;
        let client = nodes.client_index(0);
        let below = Hop::new(HopKind::Device, &parents[client], node_name(client));
        let path = vec![
            PathStep::ClientAddressDevice(HopKind::Device),
            PathStep::Node(below.with_detail("driver macvlan, bridge")),
            PathStep::ServerAddressDevice(HopKind::Device),
        ];
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![script::image_line()];
        lines.push("# on every node, with a range of its own:".to_owned());
        lines.push(
            "docker network create --config-only --subnet 198.18.0.0/22 --ip-range 198.18.0.32/27 \
             --opt parent=eth0 tare-config"
                .to_owned(),
        );
        lines.push(
            "docker network create --driver macvlan --scope swarm --config-from tare-config tare"
                .to_owned(),
        );
        lines.extend(script::uniform_lines(shape, "--network tare"));
        lines
    }
}

/// Returns the parent device of each node: the user's choice, else the node's uplink, which a task there finds.
fn parent_devices(crew: &SwarmDeployment, nodes: &TaskPlacement<'_>) -> Result<Vec<String>, Error> {
    if let Some(parent) = crew.swarm.resources.docker_options().parent.clone() {
        return Ok(vec![parent; nodes.nodes.len()]);
    }
    let look = |(index, member): (usize, &SwarmNode)| {
        TaskRequest::new(format!("look-{index}"), member, TaskAttachment::Host)
    };
    let wanted: Vec<TaskRequest> = nodes.nodes.iter().enumerate().map(look).collect();
    crew.take_snapshots(&wanted)?.iter().map(machine::uplink_device).collect()
}

/// Builds the configuration-only network of one node.
fn node_configuration(
    ranges: EngineRanges,
    index: u32,
    parent: &str,
    shape: &Shape,
) -> NetworkCreateRequest {
    let mut options = HashMap::from([("parent".to_owned(), parent.to_owned())]);
    if shape.mtu != tare_docker::networks::layout::DEFAULT_MTU {
        options.insert("com.docker.network.driver.mtu".to_owned(), shape.mtu.to_string());
    }
    NetworkCreateRequest {
        config_only: Some(true),
        ipam: Some(ranges.ipam_for_engine(index)),
        options: Some(options),
        ..NetworkCreateRequest::default()
    }
}
