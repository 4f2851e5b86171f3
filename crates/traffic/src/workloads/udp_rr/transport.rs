//! One end of a UDP flow: a connected socket, so that the kernel accepts datagrams of the peer only, and the TCP
//! connection that announced it.

use super::handshake_datagram::RrHandshake;
use crate::workloads::rr::{MessageTransport, ReceiveProgress};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// One end of a UDP flow.
#[derive(Debug)]
pub(super) struct UdpTransport {
    socket: UdpSocket,
    control: TcpStream,
    hello: RrHandshake,
    head: [u8; 8],
}

impl UdpTransport {
    pub(super) fn new(socket: UdpSocket, control: TcpStream, hello: RrHandshake) -> Self {
        Self { socket, control, hello, head: [0; 8] }
    }
}

/// Returns true for an error by which the network, or a filter, refuses a datagram now: it counts as lost, as it would
/// if it were lost farther on.
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

impl MessageTransport for UdpTransport {
    /// Minimum time that TCP in Linux waits before it retransmits (tcp(7), TCP_RTO_MIN).
    const LOST_AFTER: Option<u64> = Some(200_000_000);

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<bool> {
        match send(&self.socket, message, SendFlags::NOSIGNAL) {
            Ok(_) => Ok(true),
            Err(error) if is_lost(error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8], size: usize) -> io::Result<ReceiveProgress> {
        let bytes = match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, bytes)) => bytes,
            Err(error) if is_lost(error) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => return Err(error.into()),
        };
        if bytes != size || self.hello.matches(&buffer[..bytes]) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let fits = self.head.len().min(bytes);
        self.head[..fits].copy_from_slice(&buffer[..fits]);
        Ok(ReceiveProgress::Whole)
    }

    fn head(&self) -> [u8; 8] {
        self.head
    }

    fn close_sending(&mut self) -> io::Result<()> {
        crate::tcp::shut_down(&self.control, Shutdown::Both)
    }

    fn is_closed_by_peer(&self) -> io::Result<bool> {
        match recv(&self.control, &mut [0u8], RecvFlags::DONTWAIT) {
            Ok((_, bytes)) => Ok(bytes == 0),
            Err(error) => Ok(error != Errno::AGAIN && error != Errno::INTR),
        }
    }
}
