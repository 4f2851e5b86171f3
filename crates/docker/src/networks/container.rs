//! `docker:container`: clients in their server's network namespace.

use super::bridge::DEFAULT;
use super::laid::{Endpoint, Laid, Step, direct, names, server_of, side, specs};
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::{On, Spec, Work};
use tare_network::{About, Error, HopKind, Shape, Site};

pub(super) struct Shared;

impl Recipe for Shared {
    fn about(&self) -> About {
        About {
            name: "docker:container",
            summary: "a Docker container in the network namespace of another, over its loopback device",
            stands_for: "docker run --network container:NAME",
            source: "https://docs.docker.com/engine/network/#container-networks",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let on = On::Network(DEFAULT.to_owned());
        let servers = side(work, &specs("server", shape.servers, &on), DEFAULT, shape)?;
        let specs: Vec<Spec> = names("client", shape.clients)
            .enumerate()
            .map(|(client, name)| {
                let server = &servers[server_of(client, shape)].container;
                Spec::new(name, On::Container(server.id.clone()))
            })
            .collect();
        let started = work.containers(&specs)?;
        let clients = started.into_iter().enumerate().map(|(client, container)| Endpoint {
            container,
            address: servers[server_of(client, shape)].address,
        });
        Ok(Laid {
            clients: clients.collect(),
            routes: direct(shape, site, &servers),
            servers,
            path: vec![Step::OfClient(HopKind::Loopback, "lo")],
        })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = script::begin();
        lines.extend(names("server", shape.servers).map(|name| script::run(&name, "")));
        lines.extend(names("client", shape.clients).enumerate().map(|(client, name)| {
            script::run(&name, &format!("--network container:server-{}", server_of(client, shape)))
        }));
        lines
    }
}
