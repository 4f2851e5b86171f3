//! Network `swarm:NETWORK=name`: tasks of services on an existing network of the Swarm, made by any driver or plugin.

use super::overlay::{overlay_path, start_both};
use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name, script};
use crate::deployment::SwarmDeployment;
use tare_docker::networks::layout::{NetworkLayout, PathStep, direct_routes};
use tare_docker::requirement::EngineRequirement;
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Prefix of the network's name.
const SCHEME: &str = "swarm:NETWORK=";

pub(super) struct ExistingSwarmNetwork;

/// Returns the name of the network that the user gave. Returns `None` when networks are listed.
fn network_name(site: &NetworkParameters) -> Option<&str> {
    site.argument.as_deref()?.strip_prefix("NETWORK=")
}

impl SwarmNetworkDefinition for ExistingSwarmNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:NETWORK=NAME",
            summary: "tasks of Docker services on an existing network of any driver or plugin, by its name",
            stands_for: "docker service create --network NAME",
            source: "https://docs.docker.com/engine/swarm/networking/",
            options: OPTIONS,
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        Some(SCHEME)
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<EngineRequirement> {
        network_name(site)
            .map(|name| EngineRequirement::ExistingNetwork(name.to_owned()))
            .into_iter()
            .collect()
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let network = network_name(site).unwrap_or_default();
        let engine = &crew.swarm.engine;
        let inspecting = engine.docker().inspect_network(network, None);
        let found = engine.request(format!("inspect the network {network}"), inspecting)?;
        if found.scope.as_deref() != Some("swarm") {
            let why = format!("the network {network} belongs to one engine, not to the Swarm");
            let remedy = format!("use docker:NETWORK={network}, or a network of --scope swarm");
            return Err(Error::new(format!("use {SCHEME}{network}"), why).with_remedy(remedy));
        }
        let driver = found.driver.unwrap_or_default();
        let (servers, clients) = start_both(crew, nodes, network, shape)?;
        let path = if driver == "overlay" {
            overlay_path(nodes, 0, 0)
        } else {
            let between = Hop::new(HopKind::Device, network, node_name(nodes.client_index(0)));
            vec![
                PathStep::ClientAddressDevice(HopKind::Device),
                PathStep::Node(between.with_detail(format!("driver {driver}"))),
                PathStep::ServerAddressDevice(HopKind::Device),
            ]
        };
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let flags = format!("--network {}", network_name(site).unwrap_or("NAME"));
        [script::image_line()].into_iter().chain(script::uniform_lines(shape, &flags)).collect()
    }
}
