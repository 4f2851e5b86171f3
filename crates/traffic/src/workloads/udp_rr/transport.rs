//! One end of a UDP flow: a connected socket, so that the kernel accepts datagrams of the peer only, and the TCP
//! connection that announced it.

use super::handshake_datagram::RrHandshake;
use crate::workloads::rr::{DATAGRAM_LOST_AFTER, MessageTransport, ReceiveProgress, is_lost};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// One end of a UDP flow.
#[derive(Debug)]
pub(super) struct UdpTransport {
    socket: Arc<UdpSocket>,
    control: TcpStream,
    hello: RrHandshake,
    head: [u8; 8],
}

impl UdpTransport {
    pub(super) fn new(socket: UdpSocket, control: TcpStream, hello: RrHandshake) -> Self {
        Self { socket: Arc::new(socket), control, hello, head: [0; 8] }
    }

    /// Returns the flow's socket, for what wakes its thread.
    pub(super) fn shared_socket(&self) -> Arc<UdpSocket> {
        Arc::clone(&self.socket)
    }
}

impl MessageTransport for UdpTransport {
    const LOST_AFTER: Option<u64> = DATAGRAM_LOST_AFTER;

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
        // With its whole length, so that the beginning of a longer one, such as a late handshake, is no message.
        let bytes = match recv(&self.socket, &mut *buffer, RecvFlags::TRUNC) {
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
        crate::tcp::is_shut_by_peer(&self.control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::rr::message_buffer;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_datagram_that_is_longer_than_a_message_is_none() {
        const SIZE: usize = 8;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let control = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let [socket, peer] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        socket.connect(peer.local_addr().unwrap()).unwrap();
        peer.connect(socket.local_addr().unwrap()).unwrap();
        let hello = RrHandshake::new(1, 2);
        // The handshake is sent again while its answer is on its way.
        for datagram in [&hello.0[..], &[0; SIZE + 1], &[7; SIZE]] {
            peer.send(datagram).unwrap();
        }
        let mut transport = UdpTransport::new(socket, control, hello);
        let mut buffer = message_buffer(SIZE);
        for _ in 0..2 {
            let skipped = transport.receive_some(&mut buffer, SIZE).unwrap_err();
            assert_eq!(skipped.kind(), io::ErrorKind::WouldBlock);
        }
        assert_eq!(transport.receive_some(&mut buffer, SIZE).unwrap(), ReceiveProgress::Whole);
        assert_eq!(transport.head(), [7; SIZE]);
    }
}
