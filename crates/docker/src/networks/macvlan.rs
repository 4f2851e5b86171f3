//! Networks `docker:macvlan`, `docker:ipvlan-l2` and `docker:ipvlan-l3`: containers with their own devices on the
//! machine's uplink.

use super::bridge::DEVICE;
use super::layout::{
    NODE, NetworkEndpoint, NetworkLayout, PathStep, container_specs, direct_routes,
    endpoint_on_network, start_both,
};
use super::machine::{self, MachineSnapshot};
use super::ranges::EngineRanges;
use super::two_engines::CLIENTS_NODE;
use super::user_bridge::{create_command, network_request};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::{AttachTo, EngineResources};
use crate::requirement::EngineRequirement;
use std::collections::HashMap;
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Kind of the containers' devices.
#[derive(Clone, Copy)]
pub(super) enum ParentDeviceNetwork {
    /// macvlan: each device has its own MAC address.
    Macvlan,
    /// ipvlan in mode L2: all devices have the uplink's MAC address, and packets are switched.
    IpvlanL2,
    /// ipvlan in mode L3: all devices have the uplink's MAC address, and packets are routed.
    IpvlanL3,
}

impl ParentDeviceNetwork {
    fn driver(self) -> &'static str {
        match self {
            Self::Macvlan => "macvlan",
            Self::IpvlanL2 | Self::IpvlanL3 => "ipvlan",
        }
    }

    /// Returns the driver's option for its mode, and the mode.
    fn mode(self) -> (&'static str, &'static str) {
        match self {
            Self::Macvlan => ("macvlan_mode", "bridge"),
            Self::IpvlanL2 => ("ipvlan_mode", "l2"),
            Self::IpvlanL3 => ("ipvlan_mode", "l3"),
        }
    }
}

impl DockerNetworkDefinition for ParentDeviceNetwork {
    fn info(&self) -> NetworkInfo {
        let (name, summary, source) = match self {
            Self::Macvlan => (
                "docker:macvlan",
                "two Docker containers with macvlan devices on the host's uplink",
                "https://docs.docker.com/engine/network/drivers/macvlan/",
            ),
            Self::IpvlanL2 => (
                "docker:ipvlan-l2",
                "two Docker containers with ipvlan devices on the host's uplink, switched",
                "https://docs.docker.com/engine/network/drivers/ipvlan/",
            ),
            Self::IpvlanL3 => (
                "docker:ipvlan-l3",
                "two Docker containers with ipvlan devices on the host's uplink, routed",
                "https://docs.docker.com/engine/network/drivers/ipvlan/",
            ),
        };
        let stands_for = match self {
            Self::Macvlan => "docker network create --driver macvlan",
            Self::IpvlanL2 | Self::IpvlanL3 => "docker network create --driver ipvlan",
        };
        NetworkInfo { name, summary, stands_for, source, options: OPTIONS }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        let module = self.driver();
        vec![EngineRequirement::Driver(module), EngineRequirement::Kernel(module)]
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let seen = MachineSnapshot::take(work)?.snapshot;
        let parent = parent_device(work, &seen)?;
        let mut request = request_on_parent(*self, &parent, shape);
        if work.podman().is_some() {
            // netavark asks a DHCP server unless the network has a subnet.
            request.ipam.get_or_insert_with(|| EngineRanges::random().ipam_for_engine(0));
        }
        let network = work.create_network(request)?;
        let (servers, clients) = start_both(work, &network, shape)?;
        let mut below = Hop::new(HopKind::Device, &parent, NODE).with_detail(format!(
            "driver {}, {}",
            self.driver(),
            self.mode().1
        ));
        below.mtu = seen.device(&parent).and_then(|device| device.mtu);
        Ok(NetworkLayout {
            routes: direct_routes(shape, site, &servers),
            servers,
            clients,
            path: vec![
                PathStep::ClientDevice(HopKind::Device, DEVICE),
                PathStep::Node(below),
                PathStep::ServerDevice(HopKind::Device, DEVICE),
            ],
        })
    }

    fn supports_two_engines(&self) -> bool {
        matches!(self, Self::Macvlan)
    }

    fn lay_out_apart(
        &self,
        servers: &EngineResources,
        clients: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        lay_out_between_engines(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let (option, mode) = self.mode();
        let mut lines = script::first_lines();
        lines.push(
            "PARENT=$(ip -o route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')".to_owned(),
        );
        let more = format!("--opt parent=\"$PARENT\" --opt {option}={mode}");
        lines.push(create_command(self.driver(), shape, &more));
        lines.extend(script::container_lines(shape, "--network tare"));
        lines
    }
}

/// Returns the parent device of such a network: the user's choice, else the uplink.
pub(super) fn parent_device(
    work: &EngineResources,
    seen: &tare_netns_probe::NetnsSnapshot,
) -> Result<String, Error> {
    match &work.docker_options().parent {
        Some(parent) => Ok(parent.clone()),
        None => machine::uplink_device(seen),
    }
}

/// Builds the request for a network on a parent device.
pub(super) fn request_on_parent(
    sub: ParentDeviceNetwork,
    parent: &str,
    shape: &Shape,
) -> bollard::models::NetworkCreateRequest {
    let mut request = network_request(sub.driver(), shape);
    let (option, mode) = sub.mode();
    let options = request.options.get_or_insert_with(HashMap::new);
    options.insert("parent".to_owned(), parent.to_owned());
    options.insert(option.to_owned(), mode.to_owned());
    request
}

/// Lays out `docker:macvlan` between two engines: one subnet on both uplinks, each engine with a range of it.
fn lay_out_between_engines(
    servers: &EngineResources,
    clients: &EngineResources,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<NetworkLayout, Error> {
    let ranges = EngineRanges::random();
    let started = |work: &EngineResources,
                   index,
                   role,
                   count|
     -> Result<(Vec<NetworkEndpoint>, String), Error> {
        let parent = parent_device(work, &MachineSnapshot::take(work)?.snapshot)?;
        let mut asked = request_on_parent(ParentDeviceNetwork::Macvlan, &parent, shape);
        asked.ipam = Some(ranges.ipam_for_engine(index));
        let network = work.create_network(asked)?;
        let on = AttachTo::Network(network.clone());
        let started = work.start_containers(&container_specs(role, count, &on))?;
        let endpoints = started.into_iter().map(|one| endpoint_on_network(one, &network, shape));
        Ok((endpoints.collect::<Result<_, _>>()?, parent))
    };
    let (on_clients, parent) = started(clients, 0, "client", shape.clients)?;
    let (on_servers, _) = started(servers, 1, "server", shape.servers)?;
    let below =
        Hop::new(HopKind::Device, parent, CLIENTS_NODE).with_detail("driver macvlan, bridge");
    Ok(NetworkLayout {
        routes: direct_routes(shape, site, &on_servers),
        servers: on_servers,
        clients: on_clients,
        path: vec![
            PathStep::ClientAddressDevice(HopKind::Device),
            PathStep::Node(below),
            PathStep::ServerAddressDevice(HopKind::Device),
        ],
    })
}
