//! Network `docker:NETWORK=name`: two containers on an existing network, made by any driver or plugin.

use super::bridge::{self, DEVICE};
use super::layout::{NODE, NetworkLayout, PathStep, direct_routes, start_both};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::EngineResources;
use crate::requirement::EngineRequirement;
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Prefix of the network's name.
const SCHEME: &str = "docker:NETWORK=";

pub(super) struct ExistingDockerNetwork;

/// Returns the name of the network that the user gave. Returns `None` when networks are listed.
fn network_name(site: &NetworkParameters) -> Option<&str> {
    site.argument.as_deref()?.strip_prefix("NETWORK=")
}

impl DockerNetworkDefinition for ExistingDockerNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:NETWORK=NAME",
            summary: "two Docker containers on an existing network of any driver or plugin, by its name",
            stands_for: "docker run --network NAME",
            source: "https://docs.docker.com/engine/extend/plugins_network/",
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
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let network = network_name(site).unwrap_or_default();
        let inspecting = work.engine().docker().inspect_network(network, None);
        let what = format!("inspect the network {network}");
        let driver = work.engine().request(what, inspecting)?.driver.unwrap_or_default();
        if matches!(driver.as_str(), "host" | "null") {
            let why = format!("containers have no address of their own on the network {network}");
            return Err(Error::new(format!("use {SCHEME}{network}"), why)
                .with_remedy("use docker:host, docker:none+veth or docker:none+pipework"));
        }
        let (servers, clients) = start_both(work, network, shape)?;
        let path = if driver == "bridge" {
            bridge::bridge_path(work, network, shape.family)?
        } else {
            let between =
                Hop::new(HopKind::Device, network, NODE).with_detail(format!("driver {driver}"));
            vec![
                PathStep::ClientDevice(HopKind::Device, DEVICE),
                PathStep::Node(between),
                PathStep::ServerDevice(HopKind::Device, DEVICE),
            ]
        };
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        script::all_lines(shape, &format!("--network {}", network_name(site).unwrap_or("NAME")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_own_name_follows_the_sign() {
        let spelled = "docker:NETWORK=my-net+unconfined".parse().unwrap();
        let site = NetworkParameters::from_spec(&spelled, Vec::new());
        assert_eq!(
            ExistingDockerNetwork.requirements(&site),
            [EngineRequirement::ExistingNetwork("my-net".to_owned())]
        );
        assert_eq!(ExistingDockerNetwork.requirements(&NetworkParameters::default()), []);
    }
}
