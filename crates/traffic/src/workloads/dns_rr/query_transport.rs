//! Client's end: a lookup from a port of its own, as every program's lookup is, so that each is a new flow for the
//! firewall's connection tracking and address translation.

use super::message::{LONGEST_MESSAGE, ResolverAnswer, ResponseCode, set_recursion};
use crate::Error;
use crate::udp::open_for_peer;
use crate::wait_mode::WaitMode;
use crate::workloads::rr::{DATAGRAM_LOST_AFTER, MessageTransport, ReceiveProgress, is_lost};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, connect, connect_unspec, recv, send};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// Number of attempts at the first lookup: a client whose server waits for others is answered later.
pub(super) const FIRST_ATTEMPTS: u32 = 10;

/// Time for which the first lookup waits for its answer, and pause before the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Client's end of a flow of lookups.
#[derive(Debug)]
pub(super) struct QueryTransport {
    socket: UdpSocket,
    resolver: SocketAddr,
    /// Connection by which tare's own resolver knows the client. `None` for an existing one.
    control: Option<TcpStream>,
    /// Query, whose first two bytes are those of the lookup.
    query: Vec<u8>,
    answer: [u8; LONGEST_MESSAGE],
    head: [u8; 8],
}

impl QueryTransport {
    /// Opens a socket for lookups by this query.
    pub(super) fn open(
        resolver: SocketAddr,
        control: Option<TcpStream>,
        query: Vec<u8>,
    ) -> Result<Self, Error> {
        let socket =
            open_for_peer(resolver).map_err(|error| Error::io("open a UDP socket", error))?;
        Ok(Self { socket, resolver, control, query, answer: [0; LONGEST_MESSAGE], head: [0; 8] })
    }

    /// Makes a first lookup, so that a resolver that does not answer, or does not know the name, is an error before the
    /// trial and no loss in it. Tare's own resolver tells it from the trial's lookups by recursion, which is not desired.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        set_recursion(&mut self.query, self.control.is_none());
        let checked = self.await_first_answer();
        set_recursion(&mut self.query, true);
        checked
    }

    /// Makes lookups until one is answered.
    fn await_first_answer(&mut self) -> Result<(), Error> {
        let resolver = self.resolver;
        let failed = |error| Error::io(format!("ask the resolver {resolver}"), error);
        self.socket.set_read_timeout(Some(RETRY_INTERVAL)).map_err(failed)?;
        let mut answered = None;
        for attempt in 0..FIRST_ATTEMPTS {
            if attempt > 0 {
                // An error comes at once where nothing listens, and must not make the retries a load.
                thread::sleep(RETRY_INTERVAL);
            }
            self.query[..2].copy_from_slice(&[0; 2]);
            self.send_query().map_err(|error| failed(error.into()))?;
            match self.receive_answer() {
                Ok(ResponseCode::NO_ERROR) => {
                    return self.socket.set_read_timeout(None).map_err(failed);
                }
                Ok(code) => answered = Some(code),
                Err(error) if is_in_vain(&error) => {}
                Err(error) => return Err(failed(error)),
            }
            if answered.is_some_and(|code| code != ResponseCode::SERVER_FAILURE) {
                break;
            }
        }
        let why = match answered {
            Some(code) => format!("answers {code}: name one that it knows, with --query-name"),
            None => {
                "did not answer within 5 s: allow UDP to it, or name another --resolver".to_owned()
            }
        };
        Err(Error::Job(format!("the resolver {resolver} {why}")))
    }

    /// Sends the query from a new port.
    fn send_query(&self) -> Result<(), Errno> {
        self.renew_port()?;
        send(&self.socket, &self.query, SendFlags::NOSIGNAL).map(drop)
    }

    /// Prepares the socket for a way of waiting. An answer must have arrived through it.
    pub(super) fn prepare(&self, wait: WaitMode) -> Result<(), Error> {
        wait.prepare_socket(&self.socket, &self.socket)
    }

    /// Gives the socket a new port: a socket whose port the kernel chose loses it with its peer, and has another one
    /// with the next peer (udp(7), `__udp_disconnect`).
    fn renew_port(&self) -> Result<(), Errno> {
        connect_unspec(&self.socket)?;
        connect(&self.socket, &self.resolver)
    }

    /// Receives an answer.
    fn receive_answer(&mut self) -> io::Result<ResponseCode> {
        let (length, _) = match recv(&self.socket, &mut self.answer, RecvFlags::empty()) {
            Ok(received) => received,
            Err(error) if is_lost(error) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => return Err(error.into()),
        };
        let Some(answer) = ResolverAnswer::read(&self.answer[..length]) else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        self.head[..2].copy_from_slice(&answer.id);
        Ok(answer.code)
    }
}

/// Returns true for an error by which nothing has arrived yet.
fn is_in_vain(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl MessageTransport for QueryTransport {
    const LOST_AFTER: Option<u64> = DATAGRAM_LOST_AFTER;

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn payload_size(&self, _message: usize) -> usize {
        self.query.len()
    }

    fn send_some(&mut self, message: &[u8]) -> io::Result<bool> {
        self.query[..2].copy_from_slice(&message[..2]);
        match self.send_query() {
            Ok(()) => Ok(true),
            Err(error) if is_lost(error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn receive_some(&mut self, _: &mut [u8], _: usize) -> io::Result<ReceiveProgress> {
        match self.receive_answer()? {
            ResponseCode::NO_ERROR => Ok(ReceiveProgress::Whole),
            // A lookup that failed counts as lost.
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn head(&self) -> [u8; 8] {
        self.head
    }

    fn close_sending(&mut self) -> io::Result<()> {
        self.control.as_ref().map_or(Ok(()), |one| crate::tcp::shut_down(one, Shutdown::Both))
    }

    fn is_closed_by_peer(&self) -> io::Result<bool> {
        self.control.as_ref().map_or(Ok(false), crate::tcp::is_shut_by_peer)
    }
}
