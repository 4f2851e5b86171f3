//! Proof that a packet passes, before anything is measured.
//!
//! While a listener stands in the server's namespace, a TCP connection is made to the address that the client will dial.
//! The socket is opened by a thread that enters the namespace and ends. That the listener has a connection shows that it
//! came all the way: a proxy takes one before it has reached anybody. Then it is reset, so that neither end keeps it.

use crate::namespace::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use std::io::ErrorKind::TimedOut;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tare_network::Error;

/// Longer than the first retransmission of a connection request, which takes a second (RFC 6298, 2.1). The rest is room, not a
/// figure of anybody's: where many devices come up at once the kernel tells of them in batches, and a port of a bridge
/// forwards when the bridge has been told (net/core/link_watch.c).
const PATIENCE: Duration = Duration::from_secs(12);

/// One try. The kernel puts the local route of an IPv6 address into its table later, from a work queue; a connection
/// request sent before that leaves by the device and is lost, and so are its retransmissions.
const TRY: Duration = Duration::from_millis(250);

/// Connects from a namespace (from tare's own where there is none) to an address by which this listener is reached.
pub(crate) fn connect(
    client: Option<&Namespace>,
    address: SocketAddr,
    listener: &TcpListener,
) -> Result<(), Error> {
    let stream = dial(client, address)?;
    reset(&stream)?;
    accepted(listener).map(drop).ok_or_else(|| not_passed_on(client, address))
}

/// Carries some bytes over one connection, and returns when they have come.
pub(crate) fn carry(
    client: Option<&Namespace>,
    address: SocketAddr,
    listener: &TcpListener,
    bytes: &[u8],
) -> Result<(), Error> {
    let mut stream = dial(client, address)?;
    let what = || format!("carry {} bytes to {address}", bytes.len());
    let error = |error: std::io::Error| Error::new(what(), error);
    stream.write_all(bytes).map_err(error)?;
    let mut server = accepted(listener).ok_or_else(|| not_passed_on(client, address))?;
    server.set_read_timeout(Some(PATIENCE)).map_err(error)?;
    let mut came = vec![0; bytes.len()];
    server.read_exact(&mut came).map_err(error)?;
    reset(&stream)?;
    if came == bytes { Ok(()) } else { Err(Error::new(what(), "other bytes came")) }
}

fn not_passed_on(client: Option<&Namespace>, address: SocketAddr) -> Error {
    Error::new(what(client, address), "whoever took the connection did not pass it on")
}

fn what(client: Option<&Namespace>, address: SocketAddr) -> String {
    let name = client.map_or("this machine", Namespace::name);
    format!("reach {address} from {name}")
}

/// Dials from within the client's namespace; the connection stays there.
fn dial(client: Option<&Namespace>, address: SocketAddr) -> Result<TcpStream, Error> {
    let dial = || {
        client.map_or(Ok(()), Namespace::enter)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match TcpStream::connect_timeout(&address, TRY) {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == TimedOut && Instant::now() < deadline => {}
                Err(error) => return Err(Error::new(what(client, address), error)),
            }
        }
    };
    std::thread::scope(|scope| scope.spawn(dial).join())
        .unwrap_or_else(|_| Err(Error::new("reach a server", "the thread panicked")))
}

/// The connection of somebody who has connected, or does in a moment. Of several that connect at the same time each
/// counts once.
fn accepted(listener: &TcpListener) -> Option<TcpStream> {
    let until = Instant::now() + PATIENCE;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let left = Timespec::try_from(left).ok()?;
        let mut watched = [PollFd::new(listener, PollFlags::IN)];
        // An interrupted wait only means another look.
        if poll(&mut watched, Some(&left)).is_ok_and(|dialled| dialled > 0)
            && let Ok((stream, _)) = listener.accept()
        {
            return Some(stream);
        }
    }
    None
}

/// So that neither end keeps it.
fn reset(stream: &TcpStream) -> Result<(), Error> {
    set_socket_linger(stream, Some(Duration::ZERO))
        .map_err(|errno| Error::new("reset a connection", errno))
}
