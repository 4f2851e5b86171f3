//! Mock network without a kernel behind it: its containers run no programs, and no packet passes its hops.
//!
//! With it the whole run works without privileges, on any machine, with exact figures.

use crate::{
    ClientRoute, Command, Container, Error, Hop, HopKind, Network, NetworkInfo, NetworkOption,
    NetworkParameters, Process, Requirement, Shape, Topology,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Mock network of a given name.
#[derive(Clone, Copy, Debug)]
pub struct MockNetwork {
    name: &'static str,
}

impl MockNetwork {
    /// Returns a mock network of this name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name }
    }
}

/// Container that runs no programs.
struct MockContainer(String);

impl Container for MockContainer {
    fn name(&self) -> &str {
        &self.0
    }

    fn address(&self) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn spawn(&self, _: &Command) -> Result<Box<dyn Process>, Error> {
        Err(Error::new(
            format!("start a program in {}", self.0),
            "a mock container runs no programs",
        ))
    }
}

impl Network for MockNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: "a network that exists nowhere, for tests",
            stands_for: "nothing",
            source: "tare's own tests",
            options: &[NetworkOption::Plain],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        Vec::new()
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        let containers = |role: &str, count: u32| -> Vec<Box<dyn Container>> {
            (0..count)
                .map(|index| {
                    Box::new(MockContainer(format!("{role}-{index}"))) as Box<dyn Container>
                })
                .collect()
        };
        let servers = shape.servers.max(1) as usize;
        let routes = (0..shape.clients as usize)
            .flat_map(|client| site.ports.iter().map(move |&port| (client, port)))
            .map(|(client, port)| {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                ClientRoute { client, server: client % servers, listen: address, dial: address }
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
            inspector: None,
            guard: Box::new(()),
        })
    }

    fn commands(&self, _: &Shape, _: &NetworkParameters) -> Vec<String> {
        vec!["true".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_spread_over_servers() {
        let shape = Shape { servers: 2, clients: 5, ..Shape::default() };
        let site = NetworkParameters { ports: vec![7001, 7002], ..NetworkParameters::default() };
        let topology = MockNetwork::new("mock").set_up(&shape, &site).unwrap();
        let servers: Vec<_> = topology.routes.iter().map(|route| route.server).collect();
        assert_eq!(servers, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(topology.client_routes(3).count(), 2);
    }
}
