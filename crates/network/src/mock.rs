//! A network that exists nowhere: it has containers in which no program runs, and hops that no packet passes.
//!
//! With it the whole flow runs without privileges, on any machine, with exact figures.

use crate::{
    About, Command, Container, Error, Hop, HopKind, Need, Network, NetworkOption, Process, Route,
    Shape, Site, Topology,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A mock network of a given name.
#[derive(Clone, Copy, Debug)]
pub struct Mock {
    name: &'static str,
}

impl Mock {
    /// A mock network of this name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name }
    }
}

/// A container that runs nothing.
struct Nowhere(String);

impl Container for Nowhere {
    fn name(&self) -> &str {
        &self.0
    }

    fn address(&self) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn spawn(&self, _: &Command) -> Result<Box<dyn Process>, Error> {
        Err(Error::new(format!("start a program in {}", self.0), "a mock container runs nothing"))
    }
}

impl Network for Mock {
    fn about(&self) -> About {
        About {
            name: self.name,
            summary: "a network that exists nowhere, for tests",
            stands_for: "nothing",
            source: "tare's own tests",
            options: &[NetworkOption::Plain],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        Vec::new()
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        let containers = |role: &str, count: u32| -> Vec<Box<dyn Container>> {
            (0..count)
                .map(|index| Box::new(Nowhere(format!("{role}-{index}"))) as Box<dyn Container>)
                .collect()
        };
        let servers = shape.servers.max(1) as usize;
        let routes = (0..shape.clients as usize)
            .flat_map(|client| site.ports.iter().map(move |&port| (client, port)))
            .map(|(client, port)| {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                Route { client, server: client % servers, listen: address, dial: address }
            })
            .collect();
        Ok(Topology {
            servers: containers("server", shape.servers),
            clients: containers("client", shape.clients),
            nodes: Vec::new(),
            routes,
            hops: vec![Hop::new(HopKind::Device, self.name, "nowhere")],
            findings: Vec::new(),
            watch: None,
            guard: Box::new(()),
        })
    }

    fn commands(&self, _: &Shape, _: &Site) -> Vec<String> {
        vec!["true".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_spread_over_servers() {
        let shape = Shape { servers: 2, clients: 5, ..Shape::default() };
        let site = Site { ports: vec![7001, 7002], ..Site::default() };
        let topology = Mock::new("mock").raise(&shape, &site).unwrap();
        let servers: Vec<_> = topology.routes.iter().map(|route| route.server).collect();
        assert_eq!(servers, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(topology.routes_of(3).count(), 2);
    }
}
