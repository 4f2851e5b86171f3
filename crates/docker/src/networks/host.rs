//! `docker:host`: both ends in the engine's own network namespace, over its loopback device.

use super::laid::{Endpoint, Laid, Step, direct, specs};
use super::{OPTIONS, Recipe, apart, script};
use crate::want::Want;
use crate::work::{On, Work};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{About, Error, Family, HopKind, Shape, Site};

pub(super) struct Host;

impl Recipe for Host {
    fn about(&self) -> About {
        About {
            name: "docker:host",
            summary: "both ends in Docker containers on the host's own network, over its loopback device",
            stands_for: "docker run --network host",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let addresses = addresses(shape)?;
        let endpoints = |role, count| -> Result<Vec<Endpoint>, Error> {
            let started = work.containers(&specs(role, count, &On::Host))?;
            let address = |index: usize| addresses[index % addresses.len()];
            let endpoint = |(index, container)| Endpoint { container, address: address(index) };
            Ok(started.into_iter().enumerate().map(endpoint).collect())
        };
        let servers = endpoints("server", shape.servers)?;
        let clients = endpoints("client", shape.clients)?;
        Ok(Laid {
            routes: direct(shape, site, &servers),
            servers,
            clients,
            path: vec![Step::OfClient(HopKind::Loopback, "lo")],
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
        apart::host(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        script::both(shape, "--network host")
    }
}

/// A loopback address for each server: 127.0.0.1, 127.0.0.2 …; of IPv6 there is one only.
fn addresses(shape: &Shape) -> Result<Vec<IpAddr>, Error> {
    match shape.family {
        Family::Ipv4 => {
            let first = u32::from(Ipv4Addr::LOCALHOST);
            Ok((0..shape.servers).map(|index| Ipv4Addr::from(first + index).into()).collect())
        }
        Family::Ipv6 if shape.servers > 1 => {
            let why = "a machine has one IPv6 loopback address, and every server needs its own";
            Err(Error::new("lay out docker:host", why).with_remedy("use --servers 1"))
        }
        Family::Ipv6 => Ok(vec![Ipv6Addr::LOCALHOST.into()]),
    }
}
