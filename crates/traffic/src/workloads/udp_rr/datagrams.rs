//! One end of a UDP flow: a connected socket, so that the kernel takes nothing from anybody else, and the TCP
//! connection that announced it.

use super::introduce::Hello;
use crate::workloads::rr::{Taken, Wire};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// One end of a UDP flow.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: UdpSocket,
    control: TcpStream,
    hello: Hello,
    head: [u8; 8],
}

impl Datagrams {
    pub(super) fn new(socket: UdpSocket, control: TcpStream, hello: Hello) -> Self {
        Self { socket, control, hello, head: [0; 8] }
    }
}

/// Whether the network, or a filter, would not have a datagram now: then it is lost, as it would be farther on.
fn is_lost(error: Errno) -> bool {
    matches!(
        error,
        Errno::NETUNREACH
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NOBUFS
            | Errno::PERM
            | Errno::CONNREFUSED
    )
}

impl Wire for Datagrams {
    /// As long as TCP in Linux waits at least before it sends again (tcp(7), TCP_RTO_MIN).
    const LOST_AFTER: Option<u64> = Some(200_000_000);

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[inline]
    fn give(&mut self, message: &[u8]) -> io::Result<bool> {
        match send(&self.socket, message, SendFlags::NOSIGNAL) {
            Ok(_) => Ok(true),
            Err(error) if is_lost(error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn take(&mut self, buffer: &mut [u8], size: usize) -> io::Result<Taken> {
        let bytes = match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, bytes)) => bytes,
            Err(error) if is_lost(error) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => return Err(error.into()),
        };
        if bytes != size || self.hello.is_in(&buffer[..bytes]) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let fits = self.head.len().min(bytes);
        self.head[..fits].copy_from_slice(&buffer[..fits]);
        Ok(Taken::Whole)
    }

    fn head(&self) -> [u8; 8] {
        self.head
    }

    fn hang_up(&mut self) -> io::Result<()> {
        crate::tcp::shut(&self.control, Shutdown::Both)
    }

    fn is_left(&self) -> io::Result<bool> {
        match recv(&self.control, &mut [0u8], RecvFlags::DONTWAIT) {
            Ok((_, bytes)) => Ok(bytes == 0),
            Err(error) => Ok(error != Errno::AGAIN && error != Errno::INTR),
        }
    }
}
