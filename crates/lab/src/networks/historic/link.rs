//! `link`: Docker's legacy links. Containers on the default bridge cannot reach each other, except that a client
//! reaches the server it is linked to. The client gets the server's address and port in variables and a hosts file.

use crate::networks::LabNetworkDefinition;
use crate::networks::single_host::bridge::{
    AFTER_THE_BRIDGE, DOCKER_HOST, conntrack_hop, docker_requirements,
};
use crate::networks::single_host::bridge_plain::{BridgeLayout, layout_on_bridge};
use crate::plan::docker_rules::{Communication, LinkedContainer, forward_hop};
use crate::plan::layout::{Layout, PathProof, Waypoint, server_of};
use crate::plan::wiring::{NamespaceId, Ruleset, Wiring};
use std::net::SocketAddr;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct LegacyLinkNetwork;

/// Alias of the server at its client: `--link server-0:server`.
const ALIAS: &str = "server";

impl LabNetworkDefinition for LegacyLinkNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "link",
            summary: "two containers on a bridge that lets only linked ones talk to one another",
            stands_for: "dockerd --icc=false, docker run --link SERVER:server",
            source: "https://docs.docker.com/engine/network/links/",
            options: &NetworkOption::DOCKER_RULES,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        docker_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let mut bridge = layout_on_bridge("link", shape, site, &DOCKER_HOST)?;
        announce_servers(&mut bridge, shape, site);
        let mut linked = Vec::new();
        for (index, client) in bridge.clients.iter().enumerate() {
            let server = bridge.servers[server_of(index, shape)];
            linked.extend(site.ports.iter().map(|&port| LinkedContainer {
                client: client.slot,
                server: server.slot,
                port,
            }));
        }
        let backend = site.options.firewall.unwrap_or_default();
        let text = bridge.rules(backend, Communication::Linked(&linked)).text();
        let BridgeLayout { mut layout, node, .. } = bridge;
        layout.wiring.rules.push(Ruleset { space: node.space, text });
        let place = layout.wiring.name(node.space);
        let rules = [conntrack_hop(place), forward_hop(backend, place)];
        layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
        layout.proof = Some(PathProof::Rule { space: node.space, rule: "dport" });
        Ok(layout)
    }
}

/// Adds every server's address and ports to the hosts files and environments of its clients.
pub(crate) fn announce_servers(bridge: &mut BridgeLayout, shape: &Shape, site: &NetworkParameters) {
    for (index, client) in bridge.clients.iter().enumerate() {
        let address = bridge.servers[server_of(index, shape)].slot.address(shape.family);
        let ports = site.ports.iter().map(|&port| SocketAddr::new(address, port));
        let ports: Vec<SocketAddr> = ports.collect();
        announce_server(&mut bridge.layout.wiring, client.space, index, &ports);
    }
}

/// Adds the server's address and ports to a client's hosts file and environment, as Docker does.
fn announce_server(wiring: &mut Wiring, client: NamespaceId, index: usize, server: &[SocketAddr]) {
    let Some(first) = server.first() else { return };
    let space = &mut wiring.spaces[client.0];
    space.names.push((ALIAS.to_owned(), first.ip()));
    let mut set = |name: &str, value: String| {
        let name = format!("{}{name}", ALIAS.to_uppercase());
        space.environment.push((name, value));
    };
    set("_NAME", format!("/client-{index}/{ALIAS}"));
    set("_PORT", format!("tcp://{first}"));
    for one in server {
        for transport in ["tcp", "udp"] {
            let name = format!("_PORT_{}_{}", one.port(), transport.to_uppercase());
            set(&name, format!("{transport}://{one}"));
            set(&format!("{name}_ADDR"), one.ip().to_string());
            set(&format!("{name}_PORT"), one.port().to_string());
            set(&format!("{name}_PROTO"), transport.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_as_docker_tells_it() {
        let site = NetworkParameters { ports: vec![5201], ..NetworkParameters::default() };
        let layout = LegacyLinkNetwork.layout(&Shape::default(), &site).unwrap();
        let client = layout.clients[0].space.unwrap();
        let told = &layout.wiring.spaces[client.0].environment;
        let told = |name: &str| told.iter().find(|(one, _)| one == name).unwrap().1.as_str();
        assert_eq!(told("SERVER_PORT"), "tcp://10.100.0.2:5201");
        assert_eq!(told("SERVER_PORT_5201_TCP"), "tcp://10.100.0.2:5201");
        assert_eq!(told("SERVER_PORT_5201_TCP_ADDR"), "10.100.0.2");
        assert_eq!(told("SERVER_PORT_5201_UDP_PORT"), "5201");
        assert_eq!(told("SERVER_PORT_5201_UDP_PROTO"), "udp");
        assert_eq!(told("SERVER_NAME"), "/client-0/server");
    }
}
