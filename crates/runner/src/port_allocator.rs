//! Fresh ports for every block.
//!
//! Most networks serve in namespaces where every port is free. `native` serves in the caller's own namespace, where
//! other programs listen too. So each port is tried in that namespace first. The ports lie below the range from which
//! the kernel takes ports for clients.

use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};

/// Range of server ports. The kernel's own range begins at 32768 (net.ipv4.ip_local_port_range).
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// Allocator of ports. It repeats a port only after all others were used.
#[derive(Debug)]
pub(crate) struct PortAllocator {
    next: u16,
}

impl PortAllocator {
    /// Creates an allocator. Its first port follows from the process id, so that two runs at once seldom collide.
    pub(crate) fn new() -> Self {
        let size = u32::from(RANGE.end - RANGE.start);
        let offset = std::process::id().wrapping_mul(97) % size;
        Self { next: RANGE.start + u16::try_from(offset).unwrap_or_default() }
    }

    /// Takes the next `count` ports that are free in the caller's namespace; fewer if there are no more.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u16> {
        (0..RANGE.len()).map(|_| self.advance()).filter(|&port| is_free(port)).take(count).collect()
    }

    fn advance(&mut self) -> u16 {
        let port = self.next;
        self.next = if port + 1 < RANGE.end { port + 1 } else { RANGE.start };
        port
    }
}

/// Returns whether a port is free over TCP and UDP, in both address families.
fn is_free(port: u16) -> bool {
    let unused = |error: std::io::Error| error.kind() != std::io::ErrorKind::AddrInUse;
    let (four, six) = ((Ipv4Addr::UNSPECIFIED, port), (Ipv6Addr::UNSPECIFIED, port));
    TcpListener::bind(four).is_ok()
        && UdpSocket::bind(four).is_ok()
        && TcpListener::bind(six).map_or_else(unused, |_| true)
        && UdpSocket::bind(six).map_or_else(unused, |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_fresh_and_taken_ones_are_left_out() {
        let listener = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
        let datagrams = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).ok();
        // Held by this test, whatever else runs on this machine: ports held by others are skipped.
        let tcp = RANGE.rev().find_map(listener).unwrap();
        let udp =
            RANGE.rev().find_map(|port| listener(port).and_then(|_| datagrams(port))).unwrap();
        let taken = [tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port()];
        let mut ports = PortAllocator { next: taken[0].min(taken[1]) };
        let (first, second) = (ports.take(3), ports.take(3));
        assert_eq!((first.len(), second.len()), (3, 3));
        for port in first.iter().chain(&second) {
            assert!(RANGE.contains(port) && !taken.contains(port), "{port} of {taken:?}");
        }
        assert!(first.iter().all(|port| !second.contains(port)));
    }

    #[test]
    fn the_port_after_the_last_is_the_first() {
        let mut ports = PortAllocator { next: RANGE.end - 2 };
        let handed_out = [(); 3].map(|()| ports.advance());
        assert_eq!(handed_out, [RANGE.end - 2, RANGE.end - 1, RANGE.start]);
    }
}
