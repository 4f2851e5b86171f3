//! Networks of Podman: those that it has in common with Docker, by Docker's API, and its own.
//!
//! A network that both engines have is a row: another name for the definition of Docker's, with what Podman needs besides.

mod pod;
mod stack;

use super::layout::NetworkLayout;
use super::{
    DockerNetwork, DockerNetworkDefinition, PODMAN_OPTIONS, PODMAN_PUBLISHED_OPTIONS, bridge,
    container, existing, host, macvlan, published, user_bridge,
};
use crate::engine_resources::EngineResources;
use crate::place::EnginePlace;
use crate::requirement::{EngineRequirement, UserModeStack};
use std::sync::Arc;
use tare_network::{Error, Network, NetworkInfo, NetworkOption, NetworkParameters, Shape};

/// Network that Podman and Docker have in common.
struct CommonNetwork {
    name: &'static str,
    summary: &'static str,
    stands_for: &'static str,
    source: &'static str,
    needs_root: bool,
    options: &'static [NetworkOption],
    scheme: Option<&'static str>,
    definition: Box<dyn DockerNetworkDefinition>,
}

const RUN: &str = "https://docs.podman.io/en/latest/markdown/podman-run.1.html";
const NETWORK_CREATE: &str =
    "https://docs.podman.io/en/latest/markdown/podman-network-create.1.html";

fn common(
    (name, summary): (&'static str, &'static str),
    stands_for: &'static str,
    definition: impl DockerNetworkDefinition,
) -> CommonNetwork {
    let definition = Box::new(definition);
    CommonNetwork {
        name,
        summary,
        stands_for,
        source: RUN,
        needs_root: false,
        options: PODMAN_OPTIONS,
        scheme: None,
        definition,
    }
}

/// Returns all networks of Podman.
#[must_use]
pub fn podman_networks(place: &Arc<EnginePlace>) -> Vec<Box<dyn Network>> {
    let rows = [
        common(
            (
                "podman:host",
                "both ends in Podman containers on the host's own network, over its loopback device",
            ),
            "podman run --network host",
            host::DockerHostNetwork,
        ),
        common(
            (
                "podman:container",
                "a Podman container in the network namespace of another, over its loopback device",
            ),
            "podman run --network container:NAME",
            container::ContainerModeNetwork,
        ),
        common(
            ("podman:bridge", "two Podman containers on the default bridge"),
            "podman run, as root; without root, podman run --network bridge",
            bridge::DefaultBridgeNetwork,
        ),
        CommonNetwork {
            source: NETWORK_CREATE,
            ..common(
                (
                    "podman:user-bridge",
                    "two Podman containers on a bridge of their own, with Podman's DNS",
                ),
                "podman network create, as podman compose does it",
                user_bridge::UserBridgeNetwork,
            )
        },
        CommonNetwork {
            options: PODMAN_PUBLISHED_OPTIONS,
            ..common(
                (
                    "podman:published",
                    "a client on the host, a Podman container on the default bridge behind a published port",
                ),
                "podman run --publish ADDRESS:PORT:PORT, dialled by the host's own address",
                published::DockerPublishedNetwork,
            )
        },
        CommonNetwork {
            source: NETWORK_CREATE,
            needs_root: true,
            ..common(
                (
                    "podman:macvlan",
                    "two Podman containers with macvlan devices on the host's uplink",
                ),
                "podman network create --driver macvlan",
                macvlan::ParentDeviceNetwork::Macvlan,
            )
        },
        CommonNetwork {
            scheme: Some("podman:NETWORK="),
            ..common(
                (
                    "podman:NETWORK=NAME",
                    "two Podman containers on an existing network of any driver, by its name",
                ),
                "podman run --network NAME",
                existing::ExistingDockerNetwork,
            )
        },
    ];
    let common = rows.into_iter().map(|row| Box::new(row) as Box<dyn DockerNetworkDefinition>);
    let own: [Box<dyn DockerNetworkDefinition>; 3] = [
        Box::new(pod::PodNetwork),
        Box::new(stack::StackNetwork(UserModeStack::Pasta)),
        Box::new(stack::StackNetwork(UserModeStack::Slirp4netns)),
    ];
    let on_engine = |definition: Box<dyn DockerNetworkDefinition>| -> Box<dyn Network> {
        Box::new(DockerNetwork { definition, place: Arc::clone(place) })
    };
    common.chain(own).map(on_engine).collect()
}

impl DockerNetworkDefinition for CommonNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: self.stands_for,
            source: self.source,
            options: self.options,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<EngineRequirement> {
        let root = self.needs_root.then_some(EngineRequirement::RootfulPodman);
        root.into_iter().chain(self.definition.requirements(site)).collect()
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        self.definition.lay_out(work, shape, site)
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let lines = self.definition.commands(shape, site);
        lines.iter().map(|line| as_podman(line)).collect()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.scheme
    }

    fn copies_in_user_space(&self, place: &EnginePlace) -> bool {
        self.definition.copies_in_user_space(place)
    }
}

/// Returns a command of Docker's client as one of Podman's, which has the same.
fn as_podman(line: &str) -> String {
    match line.strip_prefix("docker ") {
        Some(rest) => format!("podman {rest}"),
        None => line.replace("| docker load", "| podman load"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::DockerOptions;

    #[test]
    fn every_network_has_podmans_name_and_commands() {
        let place = Arc::new(EnginePlace::podman(DockerOptions::default()));
        for network in podman_networks(&place) {
            let info = network.info();
            assert!(info.name.starts_with("podman:"), "{}", info.name);
            let site = NetworkParameters { ports: vec![5001], ..NetworkParameters::default() };
            let lines = network.commands(&Shape::default(), &site);
            assert!(lines[0].ends_with("podman load"), "{lines:?}");
            assert!(!lines.iter().any(|line| line.contains("docker")), "{lines:?}");
        }
    }
}
