//! Sockets of a process that drop packets when their buffer is full: those of UDP, and packet sockets.
//!
//! A packet socket has no counter in its namespace, and none of the kernel's drop reasons: the kernel drops a copy. So
//! the sockets themselves are asked, by copies of their descriptors. That loads no module, as sock_diag(7) might.

use crate::sys::socket::{ForeignSocket, SocketMemory};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::Pid;
use std::fs;
use std::os::fd::RawFd;

/// Own end of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEnd {
    /// UDP socket, by its address: `10.20.0.2:8285`.
    Udp(String),
    /// Packet socket, by the index of its device; 0 for all devices.
    Packet(u32),
}

/// Socket of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSocket {
    /// Inode number of the socket: processes that share a socket have the same.
    pub inode: u64,
    /// Inode number of the socket's network namespace.
    pub namespace: u64,
    /// Own end of the socket.
    pub end: SocketEnd,
    /// Memory of the socket.
    pub memory: SocketMemory,
}

/// Returns the sockets of a process that drop packets. Those that cannot be read are left out, and all of them if this
/// process may not trace that one.
#[must_use]
pub fn process_sockets(pid: Pid) -> Vec<ProcessSocket> {
    let entries = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let sockets = entries.into_iter().flatten().flatten().filter_map(|entry| {
        let inode = socket_inode(fs::read_link(entry.path()).ok()?.to_str()?)?;
        read_socket(pid, entry.file_name().to_str()?.parse().ok()?, inode)
    });
    sockets.collect()
}

/// Returns the inode number of the socket to which a link in `/proc/PID/fd` leads.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn read_socket(pid: Pid, descriptor: RawFd, inode: u64) -> Option<ProcessSocket> {
    let socket = ForeignSocket::open(pid, descriptor).ok()?;
    let end = match socket.kind().ok()? {
        (AddressFamily::INET | AddressFamily::INET6, SocketType::DGRAM) => {
            SocketEnd::Udp(socket.internet_address()?)
        }
        (AddressFamily::PACKET, _) => SocketEnd::Packet(socket.packet_device()?),
        _ => return None,
    };
    let (namespace, memory) = (socket.namespace().ok()?, socket.memory().ok()?);
    Some(ProcessSocket { inode, namespace, end, memory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use proptest::prelude::*;
    use std::net::UdpSocket;

    #[test]
    fn sockets_are_found_with_their_ends() {
        let own = || {
            if !rustix::process::geteuid().is_root() {
                return;
            }
            sys::unshare_network().unwrap();
            let udp = UdpSocket::bind("[::1]:0");
            assert!(udp.is_err(), "the loopback device is down");
            let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
            let packets = sys::packet::open("lo").unwrap();
            let all = process_sockets(rustix::process::getpid());
            let has = |end: &SocketEnd| all.iter().any(|socket| socket.end == *end);
            assert!(has(&SocketEnd::Udp(udp.local_addr().unwrap().to_string())), "{all:?}");
            assert!(has(&SocketEnd::Packet(1)), "{all:?}");
            drop(packets);
        };
        std::thread::spawn(own).join().unwrap();
    }

    proptest! {
        #[test]
        fn no_link_breaks_the_reader(link in "(socket:|\\[|[0-9]{1,30}|\\]|.){0,6}") {
            let _ = socket_inode(&link);
        }

        #[test]
        fn a_link_of_a_socket_has_its_inode(inode: u64) {
            prop_assert_eq!(socket_inode(&format!("socket:[{inode}]")), Some(inode));
        }
    }
}
