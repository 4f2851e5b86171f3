//! What passes a node's devices while two containers talk: whether it is encrypted, or can be read by whoever stands
//! between the nodes.

use super::seen::Wire;
use rustix::net::{AddressFamily, RecvFlags, SocketType, eth, recv, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// The numbers of protocols in an IP header (RFC 791, RFC 4303, RFC 768).
const ESP: u8 = 50;
const UDP: u8 = 17;

/// VXLAN's port as Docker Swarm has it.
const VXLAN: u16 = 4789;

/// A packet is not longer than this, bytes: offload joins many to one.
const LONGEST: usize = 1 << 17;

/// Counts packets from now on, until the thread is gone; what was counted so far is told by `count`.
pub(super) struct Tap {
    socket: std::os::fd::OwnedFd,
    /// The addresses of both containers as they stand in a header that nobody encrypted, in either direction.
    markers: [Vec<u8>; 2],
}

impl Tap {
    /// A tap on all devices of this network namespace, for what two containers say to each other.
    pub(super) fn between(one: IpAddr, other: IpAddr) -> io::Result<Self> {
        let protocol = rustix::net::Protocol::from_raw(eth::ALL.as_raw());
        let socket = socket(AddressFamily::PACKET, SocketType::DGRAM, Some(protocol))?;
        let marker = |from, to| [octets(from), octets(to)].concat();
        Ok(Self { socket, markers: [marker(one, other), marker(other, one)] })
    }

    /// Waits for a packet, and counts it.
    pub(super) fn count(&self, wire: &mut Wire, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(LONGEST, 0);
        let (length, _) = recv(self.socket.as_fd(), buffer.as_mut_slice(), RecvFlags::empty())?;
        let packet = &buffer[..length.min(LONGEST)];
        match kind(packet) {
            Some(Kind::Esp) => wire.esp += 1,
            Some(Kind::Vxlan) => {
                wire.vxlan += 1;
                let is_there = |marker: &Vec<u8>| {
                    packet.windows(marker.len()).any(|window| window == marker.as_slice())
                };
                wire.readable += u64::from(self.markers.iter().any(is_there));
            }
            None => {}
        }
        Ok(())
    }
}

/// What a packet is on the underlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Esp,
    Vxlan,
}

/// Reads the header of an IPv4 or IPv6 packet; extension headers are none of Docker's.
fn kind(packet: &[u8]) -> Option<Kind> {
    let first = packet.first()?;
    let (protocol, header) = match first >> 4 {
        4 => (*packet.get(9)?, usize::from(first & 0xf) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    match protocol {
        ESP => Some(Kind::Esp),
        UDP => {
            let port = packet.get(header + 2..header + 4)?;
            (u16::from_be_bytes([port[0], port[1]]) == VXLAN).then_some(Kind::Vxlan)
        }
        _ => None,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ipv4(protocol: u8, port: u16) -> Vec<u8> {
        let mut packet =
            vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        packet.extend([0, 0]);
        packet.extend(port.to_be_bytes());
        packet
    }

    #[test]
    fn packets_are_told_by_their_headers() {
        assert_eq!(kind(&ipv4(50, 0)), Some(Kind::Esp));
        assert_eq!(kind(&ipv4(17, 4789)), Some(Kind::Vxlan));
        assert_eq!(kind(&ipv4(17, 53)), None);
        assert_eq!(kind(&ipv4(6, 4789)), None);
        let mut ipv6 = vec![0x60, 0, 0, 0, 0, 0, 17];
        ipv6.resize(42, 0);
        ipv6.extend(4789_u16.to_be_bytes());
        assert_eq!(kind(&ipv6), Some(Kind::Vxlan));
    }

    proptest! {
        #[test]
        fn no_packet_breaks_the_reader(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = kind(&packet);
        }
    }
}
