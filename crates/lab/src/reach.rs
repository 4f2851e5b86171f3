//! Proof that a packet passes, before anything is measured.
//!
//! For every client a listener is opened in its server's namespace and a TCP connection is made to the address that
//! the client will dial. Each socket is opened by a thread that enters the namespace and ends. That the listener has a
//! connection shows that it came all the way: a proxy takes one before it has reached anybody. Then it is reset, so that
//! neither end keeps it.

use crate::namespace::{Namespace, listen_in};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use std::io::ErrorKind::TimedOut;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tare_network::Error;

/// Longer than the first retransmission of a connection request, which takes a second (RFC 6298, 2.1).
const PATIENCE: Duration = Duration::from_secs(3);

/// One try. The kernel puts the local route of an IPv6 address into its table later, from a work queue; a connection
/// request sent before that leaves by the device and is lost, and so are its retransmissions.
const TRY: Duration = Duration::from_millis(250);

/// A connection to try.
pub(crate) struct Attempt<'a> {
    /// Who dials; nothing for tare's own namespace.
    pub(crate) client: Option<&'a Namespace>,
    /// Who answers.
    pub(crate) server: Option<&'a Namespace>,
    /// Where the server listens.
    pub(crate) listen: SocketAddr,
    /// What the client dials.
    pub(crate) dial: SocketAddr,
}

/// Tries one connection.
pub(crate) fn connect(attempt: &Attempt<'_>) -> Result<(), Error> {
    let listener = listen_in(attempt.server, attempt.listen)?;
    let client = dial(attempt)?;
    reset(&client)?;
    if is_dialled(&listener) { Ok(()) } else { Err(not_passed_on(attempt)) }
}

/// Carries some bytes over one connection, and returns when they have come.
pub(crate) fn carry(attempt: &Attempt<'_>, bytes: &[u8]) -> Result<(), Error> {
    let listener = listen_in(attempt.server, attempt.listen)?;
    let mut client = dial(attempt)?;
    let what = || format!("carry {} bytes to {}", bytes.len(), attempt.dial);
    let error = |error: std::io::Error| Error::new(what(), error);
    client.write_all(bytes).map_err(error)?;
    if !is_dialled(&listener) {
        return Err(not_passed_on(attempt));
    }
    let (mut server, _) = listener.accept().map_err(error)?;
    server.set_read_timeout(Some(PATIENCE)).map_err(error)?;
    let mut came = vec![0; bytes.len()];
    server.read_exact(&mut came).map_err(error)?;
    reset(&client)?;
    if came == bytes { Ok(()) } else { Err(Error::new(what(), "other bytes came")) }
}

fn not_passed_on(attempt: &Attempt<'_>) -> Error {
    Error::new(what(attempt), "whoever took the connection did not pass it on")
}

fn what(attempt: &Attempt<'_>) -> String {
    let name = attempt.client.map_or("this machine", Namespace::name);
    format!("reach {} from {name}", attempt.dial)
}

/// Dials from within the client's namespace; the connection stays there.
fn dial(attempt: &Attempt<'_>) -> Result<TcpStream, Error> {
    let dial = || {
        attempt.client.map_or(Ok(()), Namespace::enter)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match TcpStream::connect_timeout(&attempt.dial, TRY) {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == TimedOut && Instant::now() < deadline => {}
                Err(error) => return Err(Error::new(what(attempt), error)),
            }
        }
    };
    std::thread::scope(|scope| scope.spawn(dial).join())
        .unwrap_or_else(|_| Err(Error::new("reach a server", "the thread panicked")))
}

/// Whether somebody has connected, or does in a moment.
fn is_dialled(listener: &TcpListener) -> bool {
    let until = Instant::now() + PATIENCE;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let Ok(left) = Timespec::try_from(left) else { return false };
        let mut watched = [PollFd::new(listener, PollFlags::IN)];
        // An interrupted wait only means another look.
        if poll(&mut watched, Some(&left)).is_ok_and(|dialled| dialled > 0) {
            return true;
        }
    }
    false
}

/// So that neither end keeps it.
fn reset(stream: &TcpStream) -> Result<(), Error> {
    set_socket_linger(stream, Some(Duration::ZERO))
        .map_err(|errno| Error::new("reset a connection", errno))
}
