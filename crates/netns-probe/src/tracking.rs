//! Connection tracking of this network namespace.

use std::fs;
use std::io;
use std::net::TcpStream;

/// Connections that the kernel tracks in this namespace, one in a line.
const TABLE: &str = "/proc/net/nf_conntrack";

/// Number of these connections.
const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// Returns true if this namespace tracks the connection. A kernel without the table (`CONFIG_NF_CONNTRACK_PROCFS`) tells only
/// whether it tracks any. A table that may not be read has no entry.
pub(crate) fn is_tracked(stream: &TcpStream) -> bool {
    let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    match fs::read_to_string(TABLE) {
        Ok(table) => is_in_table(&table, own.port(), peer.port()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let count = fs::read_to_string(COUNT).unwrap_or_default();
            count.trim().parse::<u64>().is_ok_and(|count| count > 0)
        }
        Err(_) => false,
    }
}

/// Returns true if the table has a TCP connection between these ports, in either direction.
fn is_in_table(table: &str, one: u16, other: u16) -> bool {
    let ports = [(one, other), (other, one)].map(|(from, to)| format!(" sport={from} dport={to} "));
    table
        .lines()
        .filter(|line| line.split_whitespace().any(|word| word == "tcp"))
        .any(|line| ports.iter().any(|pair| line.contains(pair)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_found_by_its_ports() {
        let table = "ipv4     2 tcp      6 431999 ESTABLISHED src=172.18.0.3 dst=172.18.0.2 sport=40001 dport=5201 \
                     src=172.18.0.2 dst=172.18.0.3 sport=5201 dport=40001 [ASSURED] mark=0 zone=0 use=2\n\
                     ipv4     2 udp      17 29 src=172.18.0.3 dst=172.18.0.2 sport=40002 dport=5201 [UNREPLIED] \
                     src=172.18.0.2 dst=172.18.0.3 sport=5201 dport=40002 mark=0 zone=0 use=2\n";
        assert!(is_in_table(table, 40_001, 5201));
        assert!(is_in_table(table, 5201, 40_001));
        assert!(!is_in_table(table, 40_002, 5201), "a datagram");
        assert!(!is_in_table(table, 4000, 5201));
    }
}
