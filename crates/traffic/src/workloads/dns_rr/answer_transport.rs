//! Server's end: tare's own resolver, a socket that answers the clients that have connected to it over TCP, and nobody
//! else. A query with a forged source cannot make it send to others.

use super::message::{LONGEST_MESSAGE, build_answer, desires_recursion};
use super::query_transport::FIRST_ATTEMPTS;
use crate::workloads::rr::{DATAGRAM_LOST_AFTER, MessageTransport, ReceiveProgress, is_lost};
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Clients of a server: the connections that announced their flows.
#[derive(Debug)]
pub(super) struct AnnouncedClients {
    controls: Vec<TcpStream>,
    addresses: BTreeSet<IpAddr>,
}

impl AnnouncedClients {
    /// Lists the clients of these connections.
    pub(super) fn new(controls: Vec<TcpStream>) -> io::Result<Self> {
        let addresses = controls.iter().map(|one| Ok(one.peer_addr()?.ip()));
        let addresses = addresses.collect::<io::Result<_>>()?;
        Ok(Self { controls, addresses })
    }

    /// Returns true if all clients have closed their flows.
    fn have_closed(&self) -> io::Result<bool> {
        for control in &self.controls {
            if !crate::tcp::is_shut_by_peer(control)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Socket of tare's own resolver.
#[derive(Debug)]
pub(super) struct AnswerTransport {
    socket: Arc<UdpSocket>,
    clients: Arc<AnnouncedClients>,
    /// Number of first lookups that are still answered: as many as honest clients make. They have no budget, as those of
    /// a trial have.
    first_lookups: u64,
    query: [u8; LONGEST_MESSAGE],
    /// Answer to the last query, and its destination.
    answer: Vec<u8>,
    destination: SocketAddr,
}

impl AnswerTransport {
    /// Creates the end of a socket that is bound.
    pub(super) fn new(socket: Arc<UdpSocket>, clients: Arc<AnnouncedClients>) -> Self {
        Self {
            socket,
            first_lookups: clients.controls.len() as u64 * u64::from(FIRST_ATTEMPTS),
            clients,
            query: [0; LONGEST_MESSAGE],
            answer: Vec::new(),
            destination: (Ipv4Addr::UNSPECIFIED, 0).into(),
        }
    }
}

impl MessageTransport for AnswerTransport {
    const LOST_AFTER: Option<u64> = DATAGRAM_LOST_AFTER;

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn payload_size(&self, _message: usize) -> usize {
        self.answer.len()
    }

    fn send_some(&mut self, _message: &[u8]) -> io::Result<bool> {
        match sendto(&self.socket, &self.answer, SendFlags::NOSIGNAL, &self.destination) {
            Ok(_) => Ok(true),
            Err(error) if is_lost(error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn receive_some(&mut self, _: &mut [u8], _: usize) -> io::Result<ReceiveProgress> {
        let (length, _, source) = recvfrom(&self.socket, &mut self.query, RecvFlags::empty())?;
        // A socket that receives no more has no source.
        let source = source.and_then(|source| SocketAddr::try_from(source).ok());
        let source = source.ok_or(io::ErrorKind::WouldBlock)?;
        let is_known = self.clients.addresses.contains(&source.ip());
        let answer = build_answer(&self.query[..length]).filter(|_| is_known);
        self.answer = answer.ok_or(io::ErrorKind::WouldBlock)?;
        self.destination = source;
        if desires_recursion(&self.query) {
            return Ok(ReceiveProgress::Whole);
        }
        // A client's first lookup is before its trial.
        if let Some(left) = self.first_lookups.checked_sub(1) {
            self.first_lookups = left;
            self.send_some(&[])?;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn head(&self) -> [u8; 8] {
        let mut head = [0; 8];
        head[..2].copy_from_slice(&self.query[..2]);
        head
    }

    fn close_sending(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_closed_by_peer(&self) -> io::Result<bool> {
        self.clients.have_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::dns_rr::message::{
        RecordType, ResolverAnswer, build_query, set_recursion,
    };
    use std::net::TcpListener;

    #[test]
    fn only_announced_clients_are_answered() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let control = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let clients = AnnouncedClients::new(vec![listener.accept().unwrap().0]).unwrap();
        let socket = Arc::new(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
        let port = socket.local_addr().unwrap().port();
        let mut server = AnswerTransport::new(socket, Arc::new(clients));
        let query = build_query(&"a.test".parse().unwrap(), RecordType::A);
        let ask = |from: [u8; 4]| {
            let client = UdpSocket::bind((Ipv4Addr::from(from), 0)).unwrap();
            client.send_to(&query, (Ipv4Addr::from(from), port)).unwrap();
            client
        };
        let stranger = ask([127, 0, 0, 2]);
        let refused = server.receive_some(&mut [], 2).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(stranger);
        let known = ask([127, 0, 0, 1]);
        assert_eq!(server.receive_some(&mut [], 2).unwrap(), ReceiveProgress::Whole);
        assert!(server.send_some(&[]).unwrap());
        let mut answer = [0; LONGEST_MESSAGE];
        let length = known.recv(&mut answer).unwrap();
        assert!(ResolverAnswer::read(&answer[..length]).is_some());
        // First lookups are answered, and not without an end.
        let mut first = query.clone();
        set_recursion(&mut first, false);
        for _ in 0..=FIRST_ATTEMPTS {
            known.send_to(&first, (Ipv4Addr::LOCALHOST, port)).unwrap();
            let pending = server.receive_some(&mut [], 2).unwrap_err();
            assert_eq!(pending.kind(), io::ErrorKind::WouldBlock);
        }
        known.set_nonblocking(true).unwrap();
        let answers = std::iter::from_fn(|| known.recv(&mut answer).ok()).count();
        assert_eq!(answers, FIRST_ATTEMPTS as usize);
        assert!(!server.is_closed_by_peer().unwrap());
        drop(control);
        tare_dev::eventually("the end of the connection arrives", || {
            server.is_closed_by_peer().unwrap()
        });
    }
}
