//! Capture of the packets on a node's devices while two containers communicate: it shows whether they are encrypted, or
//! can be read between the nodes.

use super::snapshot::UnderlayCounts;
use rustix::net::{AddressFamily, RecvFlags, SocketType, eth, recv, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// Numbers of protocols in an IP header (RFC 791, RFC 4303, RFC 768).
const ESP: u8 = 50;
const UDP: u8 = 17;

/// Port of VXLAN in a Docker Swarm.
const VXLAN_PORT: u16 = 4789;

/// Maximum length of a packet, bytes; offloads join many packets to one.
const MAX_PACKET: usize = 1 << 17;

/// Packet socket that counts packets between two containers, on all devices of a network namespace.
pub(super) struct UnderlayCapture {
    socket: std::os::fd::OwnedFd,
    /// Addresses of both containers as an unencrypted header holds them, in either direction.
    markers: [Vec<u8>; 2],
}

impl UnderlayCapture {
    /// Opens a packet socket on all devices of this network namespace, for the traffic between two containers.
    pub(super) fn open(one: IpAddr, other: IpAddr) -> io::Result<Self> {
        let protocol = rustix::net::Protocol::from_raw(eth::ALL.as_raw());
        let socket = socket(AddressFamily::PACKET, SocketType::DGRAM, Some(protocol))?;
        let marker = |from, to| [octets(from), octets(to)].concat();
        Ok(Self { socket, markers: [marker(one, other), marker(other, one)] })
    }

    /// Waits for a packet, and counts it.
    pub(super) fn count_packet(
        &self,
        wire: &mut UnderlayCounts,
        buffer: &mut Vec<u8>,
    ) -> io::Result<()> {
        buffer.resize(MAX_PACKET, 0);
        let (length, _) = recv(self.socket.as_fd(), buffer.as_mut_slice(), RecvFlags::empty())?;
        let packet = &buffer[..length.min(MAX_PACKET)];
        match packet_kind(packet) {
            Some(UnderlayPacket::Esp) => wire.esp += 1,
            Some(UnderlayPacket::Vxlan) => {
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

/// Kind of a packet on the underlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderlayPacket {
    Esp,
    Vxlan,
}

/// Reads the header of an IPv4 or IPv6 packet. Extension headers are not read, because Docker sends none. Returns
/// `None` for other packets.
fn packet_kind(packet: &[u8]) -> Option<UnderlayPacket> {
    let first = packet.first()?;
    let (protocol, header) = match first >> 4 {
        4 => (*packet.get(9)?, usize::from(first & 0xf) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    match protocol {
        ESP => Some(UnderlayPacket::Esp),
        UDP => {
            let port = packet.get(header + 2..header + 4)?;
            (u16::from_be_bytes([port[0], port[1]]) == VXLAN_PORT).then_some(UnderlayPacket::Vxlan)
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
        assert_eq!(packet_kind(&ipv4(50, 0)), Some(UnderlayPacket::Esp));
        assert_eq!(packet_kind(&ipv4(17, 4789)), Some(UnderlayPacket::Vxlan));
        assert_eq!(packet_kind(&ipv4(17, 53)), None);
        assert_eq!(packet_kind(&ipv4(6, 4789)), None);
        let mut ipv6 = vec![0x60, 0, 0, 0, 0, 0, 17];
        ipv6.resize(42, 0);
        ipv6.extend(4789_u16.to_be_bytes());
        assert_eq!(packet_kind(&ipv6), Some(UnderlayPacket::Vxlan));
    }

    proptest! {
        #[test]
        fn no_packet_breaks_the_reader(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = packet_kind(&packet);
        }
    }
}
