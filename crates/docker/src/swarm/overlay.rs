//! `swarm:overlay`: tasks of services on an overlay network, by their own addresses.

use super::crew::Crew;
use super::wanted::{On, Wanted};
use super::{OPTIONS, Recipe, Spread, place_of};
use crate::networks::laid::{Endpoint, Laid, Step, USUAL_MTU, direct, names, on_network};
use crate::networks::user_bridge;
use bollard::models::NetworkCreateRequest;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

pub(super) struct Overlay;

impl Recipe for Overlay {
    fn about(&self) -> About {
        About {
            name: "swarm:overlay",
            summary: "tasks of Docker services on an overlay network, by DNS round robin's addresses",
            stands_for: "docker network create --driver overlay; docker service create --endpoint-mode dnsrr",
            source: "https://docs.docker.com/engine/network/drivers/overlay/",
            options: OPTIONS,
        }
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let network = crew.network(request(shape, VXLAN))?;
        let (servers, clients) = both_on(crew, nodes, &network, shape)?;
        Ok(Laid {
            routes: direct(shape, site, &servers),
            servers,
            clients,
            path: path(nodes, 0, 0),
        })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![super::script::image()];
        lines.push(create(shape, VXLAN, ""));
        lines.extend(super::script::both(shape, "--network tare --endpoint-mode dnsrr"));
        lines
    }
}

/// What Docker takes off the MTU that an overlay is told, bytes: for VXLAN's headers, and for ESP's.
pub(crate) const VXLAN: u32 = 50;
pub(super) const ESP: u32 = 26;

/// An overlay in the shape's family, whose containers get the MTU that was asked for.
pub(crate) fn request(shape: &Shape, headers: u32) -> NetworkCreateRequest {
    user_bridge::request("overlay", &outer(shape, headers))
}

/// The same as a command.
pub(crate) fn create(shape: &Shape, headers: u32, more: &str) -> String {
    user_bridge::create("overlay", &outer(shape, headers), more)
}

/// A shape whose MTU, where somebody asked for one, has room for headers.
fn outer(shape: &Shape, headers: u32) -> Shape {
    let asked = shape.mtu != USUAL_MTU;
    Shape { mtu: if asked { shape.mtu + headers } else { shape.mtu }, ..shape.clone() }
}

/// Starts both sides on one network.
pub(super) fn both_on(
    crew: &Crew,
    nodes: &Spread<'_>,
    network: &str,
    shape: &Shape,
) -> Result<(Vec<Endpoint>, Vec<Endpoint>), Error> {
    let on = On::Network(network.to_owned());
    let servers = names("server", shape.servers).enumerate();
    let servers = servers.map(|(n, name)| Wanted::new(name, nodes.of_server(n), on.clone()));
    let clients = names("client", shape.clients).enumerate();
    let clients = clients.map(|(n, name)| Wanted::new(name, nodes.of_client(n), on.clone()));
    let started = crew.tasks(&servers.chain(clients).collect::<Vec<_>>())?;
    let mut endpoints = started.into_iter().map(|one| on_network(one, network, shape));
    let servers = endpoints.by_ref().take(shape.servers as usize).collect::<Result<_, _>>()?;
    Ok((servers, endpoints.collect::<Result<_, _>>()?))
}

/// The path between two tasks on an overlay: a bridge on each node, in a network namespace of the overlay's own, and
/// VXLAN between them.
pub(super) fn path(nodes: &Spread<'_>, client: usize, server: usize) -> Vec<Step> {
    let bridge = |node| {
        Step::Node(Hop::new(HopKind::Bridge, "br0", place_of(node)).with_detail("driver overlay"))
    };
    let (client, server) = (nodes.client(client), nodes.server(server));
    let mut path = vec![Step::ClientOwn(HopKind::Veth), bridge(client)];
    if client != server {
        let [from, to] = [client, server].map(|node| &nodes.nodes[node].name);
        path.push(Step::Node(
            Hop::new(HopKind::Encapsulation, "vxlan0", place_of(client))
                .with_detail(format!("VXLAN, UDP 4789, from {from} to {to}")),
        ));
        path.push(bridge(server));
    }
    path.push(Step::ServerOwn(HopKind::Veth));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mtu_that_was_asked_for_has_room_for_vxlan() {
        let line = |mtu| create(&Shape { mtu, ..Shape::default() }, VXLAN, "");
        assert!(line(1400).contains("driver.mtu=1450"), "{}", line(1400));
        assert!(!line(USUAL_MTU).contains("mtu"), "{}", line(USUAL_MTU));
    }
}
