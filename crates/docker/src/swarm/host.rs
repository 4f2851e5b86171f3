//! `swarm:host`: tasks of services on their nodes' own networks.

use super::crew::Crew;
use super::wanted::{On, Wanted};
use super::{OPTIONS, Recipe, Spread};
use crate::networks::laid::{Endpoint, Laid, Step, direct, names};
use tare_network::{About, Error, HopKind, Shape, Site};

pub(super) struct Host;

impl Recipe for Host {
    fn about(&self) -> About {
        About {
            name: "swarm:host",
            summary: "tasks of Docker services on their nodes' own networks",
            stands_for: "docker service create --network host",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: OPTIONS,
        }
    }

    fn has_room(&self, shape: &Shape) -> Result<(), Error> {
        own_ports("swarm:host", shape)
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
        let clients = clients.map(|(n, name)| Wanted::new(name, nodes.of_client(n), On::Host));
        let started = crew.tasks(&servers.chain(clients).collect::<Vec<_>>())?;
        let mut started = started.into_iter();
        let servers: Vec<Endpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .enumerate()
            .map(|(n, container)| Endpoint { container, address: nodes.of_server(n).address })
            .collect();
        let clients = started
            .enumerate()
            .map(|(n, container)| Endpoint { container, address: nodes.of_client(n).address })
            .collect();
        let path = if nodes.is_one() {
            vec![Step::OfClient(HopKind::Loopback, "lo")]
        } else {
            vec![Step::ClientOwn(HopKind::Device), Step::ServerOwn(HopKind::Device)]
        };
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![super::script::image()];
        lines.extend(super::script::both(shape, "--network host"));
        lines
    }
}

/// Refuses more servers than there are nodes for them: on one network all listen on the same ports.
pub(super) fn own_ports(name: &str, shape: &Shape) -> Result<(), Error> {
    let with_servers = (shape.nodes / 2).max(1);
    if shape.servers <= with_servers {
        return Ok(());
    }
    let why = format!(
        "on {} nodes there are {with_servers} for servers, and each has its ports once",
        shape.nodes
    );
    Err(Error::new(format!("lay out {name} with {} servers", shape.servers), why)
        .with_remedy(format!("use --servers {with_servers}, or more --nodes")))
}
