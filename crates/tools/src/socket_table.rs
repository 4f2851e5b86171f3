//! Check for a listening socket in the kernel's socket tables. It opens no connection, because a server of one client
//! at a time would take it for its client.

use std::fs;
use std::net::SocketAddr;

/// State of a listening TCP socket (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// Transport protocol on which a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportProtocol {
    Tcp,
    Udp,
}

/// Returns whether a socket in the calling thread's network namespace listens on the port of this address.
pub(crate) fn is_listening(at: SocketAddr, protocol: TransportProtocol) -> bool {
    let tables = match protocol {
        TransportProtocol::Tcp => ["tcp", "tcp6"],
        TransportProtocol::Udp => ["udp", "udp6"],
    };
    tables.iter().any(|table| {
        // The table is the thread's own: an agent of many containers has one thread in each of them.
        fs::read_to_string(format!("/proc/thread-self/net/{table}"))
            .is_ok_and(|text| has_listener(&text, at.port(), protocol))
    })
}

/// Returns whether a socket table (/proc/net/tcp and the like) has a socket that listens on this port.
fn has_listener(table: &str, port: u16, protocol: TransportProtocol) -> bool {
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().and_then(|address| address.rsplit_once(':'));
        let is_port = local.is_some_and(|(_, hex)| u16::from_str_radix(hex, 16) == Ok(port));
        is_port && (protocol == TransportProtocol::Udp || columns.nth(1) == Some(LISTEN))
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
        assert!(is_listening(at, TransportProtocol::Tcp));
        let client = TcpStream::connect(at).unwrap();
        assert!(!is_listening(client.local_addr().unwrap(), TransportProtocol::Tcp));
        let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        assert!(is_listening(socket.local_addr().unwrap(), TransportProtocol::Udp));
    }

    #[test]
    fn garbage_listens_on_nothing() {
        for table in ["", "head\n", "head\n1: x\n", "head\n 0: 0:zz 0:0 0A\n"] {
            assert!(!has_listener(table, 80, TransportProtocol::Tcp), "{table}");
        }
    }
}
