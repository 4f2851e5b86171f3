//! UDP sockets of servers and clients.

use crate::Error;
use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Opens a socket on each of these addresses, once for those that clients share.
pub(crate) fn bind_each(
    addresses: &[SocketAddr],
    bind: impl Fn(SocketAddr) -> io::Result<UdpSocket>,
) -> Result<Vec<UdpSocket>, Error> {
    let distinct: BTreeSet<SocketAddr> = addresses.iter().copied().collect();
    distinct
        .into_iter()
        .map(|address| {
            bind(address).map_err(|error| Error::io(format!("listen on {address} (UDP)"), error))
        })
        .collect()
}

/// Opens a socket that can send to this peer, on a port that the kernel chooses.
pub(crate) fn open_for_peer(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    UdpSocket::bind(any)
}
