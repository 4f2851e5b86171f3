//! `link`: Docker's legacy link. Containers on the default bridge may not talk to one another, but for a client and the
//! server that it is linked to, whose address and port it is told by variables and a hosts file.

use super::Recipe;
use super::bridge::{AFTER_THE_BRIDGE, DOCKER_HOST, docker_needs, forwarded, tracked};
use super::bridge_plain::{Bridged, bridged};
use crate::docker::{Linked, linked_rules};
use crate::layout::{Layout, Proof, Waypoint, server_of};
use crate::wiring::{Rules, SpaceId, Wiring};
use std::net::SocketAddr;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Link;

/// What a client calls its server: `--link server-0:server`.
const ALIAS: &str = "server";

impl Recipe for Link {
    fn about(&self) -> About {
        About {
            name: "link",
            summary: "two containers on a bridge that lets only linked ones talk to one another",
            stands_for: "dockerd --icc=false, docker run --link SERVER:server",
            source: "https://docs.docker.com/engine/network/links/",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        docker_needs()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let Bridged { mut layout, node, subnet, servers, clients, .. } =
            bridged("link", shape, site, &DOCKER_HOST)?;
        let mut linked = Vec::new();
        for (index, client) in clients.iter().enumerate() {
            let server = servers[server_of(index, shape)];
            linked.extend(site.ports.iter().map(|&port| Linked {
                client: client.slot,
                server: server.slot,
                port,
            }));
            let address = server.slot.address(shape.family);
            let ports = site.ports.iter().map(|&port| SocketAddr::new(address, port));
            tell(&mut layout.wiring, client.space, index, &ports.collect::<Vec<_>>());
        }
        let text = linked_rules(shape.family, subnet, &linked);
        layout.wiring.rules.push(Rules { space: node.space, text });
        let place = layout.wiring.name(node.space);
        let rules = [tracked(place), forwarded(place)];
        layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
        layout.proof = Some(Proof::Rule { space: node.space, rule: "dport" });
        Ok(layout)
    }
}

/// Tells a client where its server listens, as Docker does.
fn tell(wiring: &mut Wiring, client: SpaceId, index: usize, server: &[SocketAddr]) {
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
        let site = Site { ports: vec![5201], ..Site::default() };
        let layout = Link.layout(&Shape::default(), &site).unwrap();
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
