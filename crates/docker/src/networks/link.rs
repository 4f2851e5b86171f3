//! Network `docker:link`: two containers on the default bridge, the client linked to the server by `--link`.

use super::bridge::{self, DEFAULT_NETWORK};
use super::layout::{
    NetworkLayout, container_names, direct_routes, server_of, start_endpoints, start_servers,
};
use super::machine::MachineSnapshot;
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::{AttachTo, ContainerSpec, EngineResources};
use tare_network::{Error, NetworkInfo, NetworkParameters, Shape};

pub(super) struct DockerLinkNetwork;

impl DockerNetworkDefinition for DockerLinkNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:link",
            summary: "two Docker containers on the default bridge, the client linked to the server",
            stands_for: "docker run --link NAME",
            source: "https://docs.docker.com/engine/network/links/",
            options: OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let on = AttachTo::Network(DEFAULT_NETWORK.to_owned());
        let servers = start_servers(work, DEFAULT_NETWORK, shape)?;
        let specs: Vec<ContainerSpec> = container_names("client", shape.clients)
            .enumerate()
            .map(|(client, name)| {
                let server = &servers[server_of(client, shape)].container;
                let links = vec![(server.id.clone(), server.name.clone())];
                ContainerSpec { links, ..ContainerSpec::new(name, on.clone()) }
            })
            .collect();
        let clients = start_endpoints(work, &specs, DEFAULT_NETWORK, shape)?;
        // The link is the difference from `docker:bridge`, so the server's name must be in the client's hosts file.
        let server = &servers[0];
        let hosts = MachineSnapshot::snapshot_container(work, &clients[0].container)?.hosts;
        if !hosts.iter().any(|line| names_server(line, &server.container.name)) {
            let what = format!("find {} in the hosts file of client-0", server.container.name);
            return Err(Error::new(what, "Docker has not linked the containers"));
        }
        let path = bridge::bridge_path(work, DEFAULT_NETWORK, shape.family)?;
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.extend(
            container_names("server", shape.servers).map(|name| script::run_line(&name, "")),
        );
        lines.extend(container_names("client", shape.clients).enumerate().map(|(client, name)| {
            script::run_line(&name, &format!("--link server-{}", server_of(client, shape)))
        }));
        lines
    }
}

/// Returns whether a line of a hosts file gives this name to an address.
fn names_server(line: &str, name: &str) -> bool {
    line.split_whitespace().skip(1).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_line_of_the_hosts_file() {
        assert!(names_server("172.17.0.2\tserver-0 4f66ad9f2d8e tare-1-server-0", "server-0"));
        assert!(!names_server("172.17.0.2\tserver-01", "server-0"));
        assert!(!names_server("server-0", "server-0"));
    }
}
