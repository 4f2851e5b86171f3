//! Whether somebody listens on a port, without knocking: servers of one client at a time would take it for one.

use std::fs;
use std::net::SocketAddr;

/// The state of a TCP socket that listens (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// What a server listens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// Whether somebody in the calling thread's network namespace listens on the port of this address.
pub(crate) fn listens(at: SocketAddr, protocol: Protocol) -> bool {
    let tables = match protocol {
        Protocol::Tcp => ["tcp", "tcp6"],
        Protocol::Udp => ["udp", "udp6"],
    };
    tables.iter().any(|table| {
        // A thread's own: an agent of many containers has one in each of them.
        fs::read_to_string(format!("/proc/thread-self/net/{table}"))
            .is_ok_and(|text| shows(&text, at.port(), protocol))
    })
}

/// Whether a table of sockets, as /proc/net/tcp and its like are, has one that listens on this port.
fn shows(table: &str, port: u16, protocol: Protocol) -> bool {
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().and_then(|address| address.rsplit_once(':'));
        let is_port = local.is_some_and(|(_, hex)| u16::from_str_radix(hex, 16) == Ok(port));
        is_port && (protocol == Protocol::Udp || columns.nth(1) == Some(LISTEN))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv6Addr, TcpListener, TcpStream, UdpSocket};

    #[test]
    fn who_listens_is_seen_and_who_is_connected_is_not() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = listener.local_addr().unwrap();
        assert!(listens(at, Protocol::Tcp));
        let client = TcpStream::connect(at).unwrap();
        assert!(!listens(client.local_addr().unwrap(), Protocol::Tcp));
        let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        assert!(listens(socket.local_addr().unwrap(), Protocol::Udp));
    }

    #[test]
    fn garbage_listens_on_nothing() {
        for table in ["", "head\n", "head\n1: x\n", "head\n 0: 0:zz 0:0 0A\n"] {
            assert!(!shows(table, 80, Protocol::Tcp), "{table}");
        }
    }
}
