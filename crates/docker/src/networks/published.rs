//! `docker:published`: a client on the engine's machine, a server behind a port that is published there.

use super::address::Subnet;
use super::bridge::{DEFAULT, DEVICE, bridge_of};
use super::laid::{Endpoint, Laid, Step, names, routes, side, specs};
use super::node::{Node, bridge_hops, own_address};
use super::{OPTIONS, Recipe, apart, script};
use crate::want::Want;
use crate::work::{On, Published as Port, Spec, Work};
use std::net::SocketAddr;
use tare_network::{About, Error, HopKind, Shape, Site};

pub(super) struct Published;

impl Recipe for Published {
    fn about(&self) -> About {
        About {
            name: "docker:published",
            summary: "a client on the host, a Docker container on the default bridge behind a published port",
            stands_for: "docker run --publish ADDRESS:PORT:PORT, dialled by the host's own address",
            source: "https://docs.docker.com/engine/network/port-publishing/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let started = work.containers(&specs("client", shape.clients, &On::Host))?;
        let seen = Node::look(work, &started[0])?;
        let address = own_address(&seen, &subnets(work)?, shape.family)?;
        let on = On::Network(DEFAULT.to_owned());
        let specs: Vec<Spec> = names("server", shape.servers)
            .enumerate()
            .map(|(server, name)| {
                let published = site.ports.iter().map(|&port| Port {
                    port,
                    on: address,
                    outside: outside(server, port, &site.ports),
                });
                Spec { published: published.collect(), ..Spec::new(name, on.clone()) }
            })
            .collect();
        let servers = side(work, &specs, DEFAULT, shape)?;
        let clients =
            started.into_iter().map(|container| Endpoint { container, address }).collect();
        Ok(Laid {
            routes: routes(shape, site, |server, port| {
                let outside = outside(server, port, &site.ports);
                let listen = SocketAddr::new(servers[server].address, port);
                (listen, SocketAddr::new(address, outside))
            }),
            path: path(work, &seen, site.ports.first())?,
            servers,
            clients,
        })
    }

    fn can_be_apart(&self) -> bool {
        true
    }

    fn lay_apart(
        &self,
        servers: &Work,
        clients: &Work,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        apart::published(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let mut lines = script::begin();
        lines.push("ADDRESS=$(hostname -I | cut -d ' ' -f 1)".to_owned());
        lines.extend(names("server", shape.servers).enumerate().map(|(server, name)| {
            let publish = |&port: &u16| {
                let outside = outside(server, port, &site.ports);
                ["tcp", "udp"]
                    .map(|by| format!("--publish \"$ADDRESS\":{outside}:{port}/{by}"))
                    .join(" ")
            };
            let flags: Vec<String> = site.ports.iter().map(publish).collect();
            script::run(&name, &flags.join(" "))
        }));
        lines.extend(
            names("client", shape.clients).map(|name| script::run(&name, "--network host")),
        );
        lines
    }
}

/// Where a server's port is published. The first server's ports keep their numbers; the others' follow after the
/// largest, each server's in a row of its own.
pub(crate) fn outside(server: usize, port: u16, ports: &[u16]) -> u16 {
    let Some(row) = server.checked_sub(1) else { return port };
    let largest = ports.iter().copied().max().unwrap_or_default();
    let place = ports.iter().position(|&one| one == port).unwrap_or_default();
    let after = u16::try_from(row * ports.len() + place).unwrap_or(u16::MAX);
    largest.saturating_add(1).saturating_add(after)
}

/// The subnets of all networks: in them the machine has addresses only because of Docker.
pub(super) fn subnets(work: &Work) -> Result<Vec<Subnet>, Error> {
    let listing = work.engine().docker().list_networks(None);
    let networks = work.engine().get("list Docker's networks", listing)?;
    let configured = networks.into_iter().filter_map(|network| network.ipam?.config).flatten();
    Ok(configured.filter_map(|config| Subnet::parse(&config.subnet?)).collect())
}

fn path(work: &Work, seen: &crate::look::Seen, port: Option<&u16>) -> Result<Vec<Step>, Error> {
    let bridge = bridge_of(work, DEFAULT)?;
    let mut path = Vec::new();
    path.extend(port.map(|port| Step::Publisher(format!("port {port}"))));
    path.extend(bridge_hops(seen, &bridge, "bridge").into_iter().take(1).map(Step::Node));
    path.push(Step::OfServer(HopKind::Veth, DEVICE));
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_servers_are_published_at_one_port() {
        let ports = [20_000, 20_007, 31_999];
        let mut seen = BTreeSet::new();
        for server in 0..40 {
            for port in ports {
                assert!(seen.insert(outside(server, port, &ports)), "{server}: {port}");
            }
        }
        assert_eq!(outside(0, 20_007, &ports), 20_007);
    }
}
