//! Networks `podman:pasta` and `podman:slirp4netns`: a client on the host, a server in a container that a stack in user
//! space connects, behind a port that this stack publishes.

use crate::container_handle::ContainerHandle;
use crate::engine_resources::{AttachTo, EngineResources};
use crate::networks::layout::{
    DEFAULT_MTU, NetworkEndpoint, NetworkLayout, PathStep, container_names, is_in_family,
};
use crate::networks::machine::MachineSnapshot;
use crate::networks::published::{PublishedClients, published_flags};
use crate::networks::{DockerNetworkDefinition, PODMAN_PUBLISHED_OPTIONS, script};
use crate::place::EnginePlace;
use crate::requirement::{EngineRequirement, UserModeStack};
use tare_network::{Error, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct StackNetwork(pub(super) UserModeStack);

impl StackNetwork {
    /// Returns the network mode of a container, as `podman run --network` takes it. slirp4netns publishes ports only if it
    /// is asked to: otherwise a program of Podman's forwards them past it.
    fn mode(&self, shape: &Shape) -> String {
        let mtu = (shape.mtu != DEFAULT_MTU).then_some(shape.mtu);
        match (self.0, mtu) {
            (UserModeStack::Pasta, None) => "pasta".to_owned(),
            (UserModeStack::Pasta, Some(mtu)) => format!("pasta:--mtu,{mtu}"),
            (UserModeStack::Slirp4netns, None) => "slirp4netns:port_handler=slirp4netns".to_owned(),
            (UserModeStack::Slirp4netns, Some(mtu)) => {
                format!("slirp4netns:port_handler=slirp4netns,mtu={mtu}")
            }
        }
    }
}

impl DockerNetworkDefinition for StackNetwork {
    fn info(&self) -> NetworkInfo {
        let (name, summary, stands_for) = match self.0 {
            UserModeStack::Pasta => (
                "podman:pasta",
                "a client on the host, a Podman container behind a port that pasta publishes",
                "podman run --network pasta --publish, without root: the default since Podman 5",
            ),
            UserModeStack::Slirp4netns => (
                "podman:slirp4netns",
                "a client on the host, a Podman container behind a port that slirp4netns publishes",
                "podman run --network slirp4netns:port_handler=slirp4netns --publish",
            ),
        };
        NetworkInfo {
            name,
            summary,
            stands_for,
            source: "https://docs.podman.io/en/latest/markdown/podman-run.1.html#network-mode-net",
            options: PODMAN_PUBLISHED_OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        let rootless = match self.0 {
            UserModeStack::Pasta => Some(EngineRequirement::RootlessPodman),
            UserModeStack::Slirp4netns => None,
        };
        let stack = EngineRequirement::PodmanStack(self.0);
        rootless.into_iter().chain([stack]).collect()
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let clients = PublishedClients::start(work, shape)?;
        let on = AttachTo::Network(self.mode(shape));
        let specs = clients.server_specs(shape, site, &on);
        let started = work.start_containers(&specs)?.into_iter();
        let servers: Vec<NetworkEndpoint> =
            started.map(|one| endpoint(work, one, shape)).collect::<Result<_, Error>>()?;
        let port = site.ports.first().copied().unwrap_or_default();
        Ok(NetworkLayout {
            routes: clients.routes(shape, site, &servers),
            servers,
            clients: clients.endpoints,
            path: vec![
                PathStep::StackForwarder(self.0, port),
                PathStep::ServerAddressDevice(HopKind::Device),
            ],
        })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.push("ADDRESS=$(hostname -I | cut -d ' ' -f 1)".to_owned());
        lines.extend(container_names("server", shape.servers).enumerate().map(|(server, name)| {
            let flags = published_flags(server, site);
            script::run_line(&name, &format!("--network {} {flags}", self.mode(shape)))
        }));
        let clients = container_names("client", shape.clients);
        lines.extend(clients.map(|name| script::run_line(&name, "--network host")));
        lines.iter().map(|line| super::as_podman(line)).collect()
    }

    fn copies_in_user_space(&self, _: &EnginePlace) -> bool {
        true
    }
}

/// Returns a container with the address of its only device, which Podman's inspection does not state.
fn endpoint(
    work: &EngineResources,
    container: ContainerHandle,
    shape: &Shape,
) -> Result<NetworkEndpoint, Error> {
    let seen = MachineSnapshot::snapshot_container(work, &container)?;
    let address = seen.addresses.iter().find(|one| is_in_family(one, shape.family)).copied();
    let address = address.ok_or_else(|| {
        let what = format!("find the address of {}", container.name);
        Error::new(what, format!("the stack gave it no {} address", shape.family))
    })?;
    Ok(NetworkEndpoint { container, address })
}
