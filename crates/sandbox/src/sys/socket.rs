//! Sockets of other processes: their buffers, their drops and their network namespaces.

use super::foreign_descriptor::{copy_descriptor, network_namespace};
use super::packet::last_error;
use rustix::io;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::Pid;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// `SO_MEMINFO` of asm-generic/socket.h (Linux 4.12), and its numbers (linux/sock_diag.h, `SK_MEMINFO_…`).
const SO_MEMINFO: libc::c_int = 55;
const RECEIVE_BUFFER: usize = 1;
const DROPS: usize = 8;
const COUNT: usize = 9;

/// `SO_NETNS_COOKIE` of asm-generic/socket.h (Linux 5.14).
const SO_NETNS_COOKIE: libc::c_int = 71;

/// `SIOCGSKNS` of linux/sockios.h: the network namespace of a socket.
const SIOCGSKNS: libc::c_ulong = 0x894c;

/// Socket of another process, of which this process holds a copy of the descriptor.
pub struct ForeignSocket(OwnedFd);

/// Memory of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMemory {
    /// Size of the receive buffer as the kernel counts it, bytes.
    pub receive_buffer: u32,
    /// Packets that were dropped because the buffer was full, or for another reason of the socket's.
    pub drops: u32,
}

impl ForeignSocket {
    /// Copies a descriptor of a process (pidfd_getfd(2)).
    ///
    /// # Errors
    /// EPERM without the right to trace the process; ESRCH or EBADF if process or descriptor are gone; ENOSYS before
    /// Linux 5.6.
    pub fn open(process: Pid, descriptor: RawFd) -> io::Result<Self> {
        copy_descriptor(process, descriptor).map(Self)
    }

    /// Returns the address family and the type of the socket.
    ///
    /// # Errors
    /// ENOTSOCK if the descriptor is no socket.
    pub fn kind(&self) -> io::Result<(AddressFamily, SocketType)> {
        Ok((sockopt::socket_domain(&self.0)?, sockopt::socket_type(&self.0)?))
    }

    /// Returns the socket's own address, in words: `10.20.0.2:8285`. Returns `None` for a socket of another family than
    /// IPv4 and IPv6.
    pub fn internet_address(&self) -> Option<String> {
        let address = rustix::net::getsockname(&self.0).ok()?;
        std::net::SocketAddr::try_from(address).ok().map(|address| address.to_string())
    }

    /// Returns `true` if the socket listens for connections.
    pub fn accepts_connections(&self) -> bool {
        sockopt::socket_acceptconn(&self.0).unwrap_or(false)
    }

    /// Returns the index of the device to which a packet socket is bound; 0 for all devices.
    pub fn packet_device(&self) -> Option<u32> {
        // SAFETY: `sockaddr_ll` is plain data, for which all zeroes are a valid value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        let mut length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the descriptor is open as long as `self` lives; the kernel writes at most `length` bytes, for which
        // there is room, and keeps no reference.
        let done = unsafe {
            libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut length)
        };
        (done == 0 && i32::from(address.sll_family) == libc::AF_PACKET)
            .then(|| address.sll_ifindex.cast_unsigned())
    }

    /// Returns the memory of the socket.
    ///
    /// # Errors
    /// ENOPROTOOPT before Linux 4.12.
    pub fn memory(&self) -> io::Result<SocketMemory> {
        let mut numbers = [0u32; COUNT];
        let mut length = mem::size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: the descriptor is open as long as `self` lives; the kernel writes at most `length` bytes, for which
        // there is room, and keeps no reference.
        let done = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                numbers.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if done != 0 {
            return Err(last_error());
        }
        Ok(SocketMemory { receive_buffer: numbers[RECEIVE_BUFFER], drops: numbers[DROPS] })
    }

    /// Returns the inode number of the socket's network namespace.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN in that namespace.
    pub fn namespace(&self) -> io::Result<u64> {
        network_namespace(&self.0, SIOCGSKNS)
    }
}

/// Returns the cookie of this thread's network namespace, a number that no other namespace has had.
///
/// # Errors
/// ENOPROTOOPT before Linux 5.14.
pub fn network_namespace_cookie() -> io::Result<u64> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut cookie = 0u64;
    let mut length = mem::size_of_val(&cookie) as libc::socklen_t;
    // SAFETY: the descriptor is open during the call; the kernel writes at most `length` bytes, for which there is room,
    // and keeps no reference.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(cookie) } else { Err(last_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::unix::fs::MetadataExt;
    use tare_dev::eventually;

    /// Returns this process's socket as another process would see it.
    fn seen(socket: &impl AsRawFd) -> ForeignSocket {
        let this = rustix::process::getpid();
        ForeignSocket::open(this, socket.as_raw_fd()).unwrap()
    }

    #[test]
    fn a_full_socket_tells_its_size_and_its_drops() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        sockopt::set_socket_recv_buffer_size(&receiver, 4096).unwrap();
        let to = receiver.local_addr().unwrap();
        let seen = seen(&receiver);
        let before = seen.memory().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        const SENT: u32 = 100;
        for _ in 0..SENT {
            assert_eq!(sender.send_to(&[0; 1000], to).unwrap(), 1000);
        }
        // Packets over loopback may arrive later than they were sent.
        receiver.set_nonblocking(true).unwrap();
        let mut received = 0;
        eventually("each datagram has arrived or was dropped", || {
            while receiver.recv(&mut [0; 1000]).is_ok() {
                received += 1;
            }
            received + seen.memory().unwrap().drops == SENT
        });
        let memory = seen.memory().unwrap();
        assert_eq!(before.drops, 0);
        assert!(memory.drops > 0, "{memory:?}");
        let granted = sockopt::socket_recv_buffer_size(&receiver).unwrap();
        assert_eq!(memory.receive_buffer as usize, granted);
        assert_eq!(seen.kind().unwrap(), (AddressFamily::INET, SocketType::DGRAM));
        assert_eq!(seen.internet_address(), Some(to.to_string()));
        assert_eq!(seen.packet_device(), None);
    }

    #[test]
    fn a_descriptor_that_is_no_socket_has_no_kind() {
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert_eq!(seen(&file).kind(), Err(io::Errno::NOTSOCK));
    }

    /// Only an administrator of the namespace may ask for it.
    #[test]
    fn a_socket_is_in_the_namespace_of_its_maker() {
        let own = std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(
            seen(&socket).namespace().is_ok_and(|inode| inode == own)
                || !rustix::process::geteuid().is_root()
        );
    }
}
