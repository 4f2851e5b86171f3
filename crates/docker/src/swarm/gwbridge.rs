//! `swarm:gwbridge`: the way out of a task on an overlay (north–south): the bridge docker_gwbridge, and masquerading.

use super::crew::{Crew, GATEWAY};
use super::overlay::{VXLAN, create};
use super::wanted::{On, Wanted};
use super::{OPTIONS, Recipe, Spread, place_of};
use crate::networks::laid::{Endpoint, Laid, Step, direct, names};
use tare_network::{About, Error, Family, Hop, HopKind, Shape, Site};

pub(super) struct Gateway;

impl Recipe for Gateway {
    fn about(&self) -> About {
        About {
            name: "swarm:gwbridge",
            summary: "a task on an overlay as client, by docker_gwbridge, to servers on their nodes' own networks",
            stands_for: "what every task of a Docker service takes to the world outside its overlays",
            source: "https://docs.docker.com/engine/swarm/networking/#customize-the-docker_gwbridge-interface",
            options: OPTIONS,
        }
    }

    fn has_room(&self, shape: &Shape) -> Result<(), Error> {
        if shape.family == Family::Ipv6 {
            return Err(Error::new("lay out swarm:gwbridge", "docker_gwbridge has no IPv6")
                .with_remedy("use --family ipv4"));
        }
        super::host::own_ports("swarm:gwbridge", shape)
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let servers = names("server", shape.servers).enumerate();
        let servers = servers.map(|(n, name)| Wanted::new(name, nodes.of_server(n), On::Host));
        let clients = names("client", shape.clients).enumerate();
        let clients = clients.map(|(n, name)| Wanted::new(name, nodes.of_client(n), On::Home));
        let mut started = crew.tasks(&servers.chain(clients).collect::<Vec<_>>())?.into_iter();
        let servers: Vec<Endpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .enumerate()
            .map(|(n, container)| Endpoint { container, address: nodes.of_server(n).address })
            .collect();
        let clients: Vec<Endpoint> = started.map(at_gateway).collect::<Result<_, _>>()?;
        let (client, server) = (nodes.client(0), nodes.server(0));
        let path = vec![
            Step::ClientOwn(HopKind::Veth),
            Step::Node(
                Hop::new(HopKind::Bridge, GATEWAY, place_of(client)).with_detail("driver bridge"),
            ),
            Step::Node(
                Hop::new(HopKind::Nat, "nat/POSTROUTING", place_of(client))
                    .with_detail("MASQUERADE"),
            ),
        ];
        let last = if client == server {
            Step::OfServer(HopKind::Loopback, "lo")
        } else {
            Step::ServerOwn(HopKind::Device)
        };
        let path = path.into_iter().chain([last]).collect();
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![super::script::image()];
        lines.push(create(shape, VXLAN, ""));
        lines.extend(super::script::sides(shape, "--network host", "--network tare"));
        lines
    }
}

/// A client with the address that docker_gwbridge gave it.
fn at_gateway(container: crate::work::Running) -> Result<Endpoint, Error> {
    let address = container.addresses(GATEWAY).first().copied();
    let address = address.ok_or_else(|| {
        let what = format!("find the address of {} on {GATEWAY}", container.name);
        Error::new(what, "Docker gave it none, as on an internal network")
    })?;
    Ok(Endpoint { container, address })
}
