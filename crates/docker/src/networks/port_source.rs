//! Source of the connections that a server behind a published port accepts: it tells a rule from a program that forwards.
//!
//! A program connects from an address and a port of its own. A rule leaves the client's address, or, if it masquerades, gives
//! that of the bridge, which is the program's too; but it keeps the client's port.

use std::net::{IpAddr, SocketAddr};

/// Source of a connection through a published port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortSource {
    /// The client: a rule translates the destination.
    Client,
    /// The engine's machine, for the client: a rule translates destination and source.
    Masquerade,
    /// A program of the engine's machine.
    Program,
}

impl PortSource {
    /// Tells the source of a connection from the address that the server saw, from those that clients connected from, and
    /// from those that a program would connect from. A connection that no server saw is taken for a rule's.
    pub(super) fn of_peer(
        peer: Option<SocketAddr>,
        clients: &[SocketAddr],
        programs: &[IpAddr],
    ) -> Self {
        let Some(peer) = peer.map(to_canonical) else { return Self::Client };
        let clients: Vec<SocketAddr> = clients.iter().copied().map(to_canonical).collect();
        if clients.contains(&peer) {
            return Self::Client;
        }
        let keeps_port = clients.iter().any(|client| client.port() == peer.port());
        match programs.contains(&peer.ip()) {
            true if !keeps_port => Self::Program,
            false if clients.iter().any(|client| client.ip() == peer.ip()) => Self::Client,
            _ => Self::Masquerade,
        }
    }
}

/// Converts an IPv4-mapped address of an IPv6 socket to IPv4.
fn to_canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_keeps_the_port_of_the_client_and_a_program_does_not() {
        let client = ["192.0.2.1:40000", "192.0.2.1:40001"].map(|one| one.parse().unwrap());
        let programs = ["172.17.0.1", "172.17.0.2"].map(|one| one.parse().unwrap());
        let source = |peer: &str| PortSource::of_peer(peer.parse().ok(), &client, &programs);
        assert_eq!(source("192.0.2.1:40001"), PortSource::Client);
        assert_eq!(source("[::ffff:192.0.2.1]:40001"), PortSource::Client);
        assert_eq!(source("172.17.0.1:40001"), PortSource::Masquerade);
        assert_eq!(source("172.17.0.1:40002"), PortSource::Program);
        assert_eq!(source("172.17.0.2:50000"), PortSource::Program);
        assert_eq!(source("192.0.2.1:50000"), PortSource::Client);
        assert_eq!(source("198.51.100.1:40000"), PortSource::Masquerade);
        assert_eq!(source("none"), PortSource::Client);
    }

    #[test]
    fn the_gateway_itself_may_be_the_address_that_clients_connect_from() {
        let gateway: IpAddr = "172.17.0.1".parse().unwrap();
        let client = SocketAddr::new(gateway, 40_000);
        let source =
            |port| PortSource::of_peer(Some(SocketAddr::new(gateway, port)), &[client], &[gateway]);
        assert_eq!(source(40_000), PortSource::Client);
        assert_eq!(source(40_001), PortSource::Program);
    }
}
