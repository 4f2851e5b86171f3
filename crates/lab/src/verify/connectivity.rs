//! Proof that a packet passes, before anything is measured.
//!
//! While a listener is open in the server's namespace, a TCP connection is made to the address that the client will
//! dial. A thread that enters the namespace opens the socket and ends. A connection at the listener proves that the
//! packets came all the way: a proxy accepts a connection before it has reached a server. Then the connection is reset,
//! so that neither end keeps it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use std::io::ErrorKind::TimedOut;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tare_network::Error;
use tare_sandbox::Namespace;

/// Time limit of a connection. It is longer than the first retransmission of a connection request, which takes a second
/// (RFC 6298, 2.1). The rest is a margin without a source: if many devices come up at once, the kernel reports them in
/// batches, and a port of a bridge forwards only after the bridge has been notified (net/core/link_watch.c).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(12);

/// Time limit of one attempt. The kernel adds the local route of an IPv6 address later, from a work queue. A connection
/// request sent before that leaves by the device and is lost, and so are its retransmissions.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(250);

/// Time after which a connection that has not arrived is replaced by another. If a thousand clients connect at once, the
/// last packet of a handshake may be lost: the client is connected then, and the server knows nothing of it.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(3);

/// Connects from a namespace (from that of tare itself if none is given) to an address that leads to this listener.
pub(crate) fn connect(
    client: Option<&Namespace>,
    address: SocketAddr,
    listener: &TcpListener,
) -> Result<(), Error> {
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    while Instant::now() < deadline {
        let mut stream = dial(client, address)?;
        reset(&stream)?;
        // A forwarder may complete the handshake with the server only when it has data for it: pasta of 9 March 2023
        // does.
        let _ = stream.write_all(b"?");
        if accept_one(listener, ACCEPT_TIMEOUT).is_some() {
            return Ok(());
        }
    }
    Err(not_forwarded(client, address))
}

/// Sends bytes over one connection, and returns when they have arrived.
pub(crate) fn carry(
    client: Option<&Namespace>,
    address: SocketAddr,
    listener: &TcpListener,
    bytes: &[u8],
) -> Result<(), Error> {
    let mut stream = dial(client, address)?;
    let what = || format!("transfer {} bytes to {address}", bytes.len());
    let error = |error: std::io::Error| Error::new(what(), error);
    stream.write_all(bytes).map_err(error)?;
    let mut server =
        accept_one(listener, CONNECT_TIMEOUT).ok_or_else(|| not_forwarded(client, address))?;
    server.set_read_timeout(Some(CONNECT_TIMEOUT)).map_err(error)?;
    let mut came = vec![0; bytes.len()];
    server.read_exact(&mut came).map_err(error)?;
    reset(&stream)?;
    if came == bytes {
        Ok(())
    } else {
        Err(Error::new(what(), "the server received different bytes"))
    }
}

fn not_forwarded(client: Option<&Namespace>, address: SocketAddr) -> Error {
    Error::new(
        what(client, address),
        "the forwarder accepted the connection but did not forward it",
    )
}

fn what(client: Option<&Namespace>, address: SocketAddr) -> String {
    let name = client.map_or("this machine", Namespace::name);
    format!("reach {address} from {name}")
}

/// Connects from inside the client's namespace. The connection stays there.
fn dial(client: Option<&Namespace>, address: SocketAddr) -> Result<TcpStream, Error> {
    let dial = || {
        client.map_or(Ok(()), Namespace::enter)?;
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            match TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT) {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == TimedOut && Instant::now() < deadline => {}
                Err(error) => return Err(Error::new(what(client, address), error)),
            }
        }
    };
    std::thread::scope(|scope| scope.spawn(dial).join())
        .unwrap_or_else(|_| Err(Error::new("connect to a server", "the thread panicked")))
}

/// Accepts the connection of a client that has connected, or does so soon. If several connect at the same time, each
/// call accepts one.
fn accept_one(listener: &TcpListener, limit: Duration) -> Option<TcpStream> {
    let until = Instant::now() + limit;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let left = Timespec::try_from(left).ok()?;
        let mut watched = [PollFd::new(listener, PollFlags::IN)];
        // An interrupted wait only causes another check.
        if poll(&mut watched, Some(&left)).is_ok_and(|dialled| dialled > 0)
            && let Ok((stream, _)) = listener.accept()
        {
            return Some(stream);
        }
    }
    None
}

/// Resets the connection, so that neither end keeps it.
fn reset(stream: &TcpStream) -> Result<(), Error> {
    set_socket_linger(stream, Some(Duration::ZERO))
        .map_err(|errno| Error::new("reset a connection", errno))
}
