//! Proof that a packet passes, before anything is measured.
//!
//! While a listener stands in the server's namespace, a TCP connection is made to the address that the client will dial.
//! The socket is opened by a thread that enters the namespace and ends. That the listener has a connection shows that it
//! came all the way: a proxy takes one before it has reached anybody. Then it is reset, so that neither end keeps it.

use crate::namespace::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use std::io::ErrorKind::TimedOut;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tare_network::Error;

/// Longer than the first retransmission of a connection request, which takes a second (RFC 6298, 2.1).
const PATIENCE: Duration = Duration::from_secs(3);

/// One try. The kernel puts the local route of an IPv6 address into its table later, from a work queue; a connection
/// request sent before that leaves by the device and is lost, and so are its retransmissions.
const TRY: Duration = Duration::from_millis(250);

/// Connects from a namespace (from tare's own where there is none) to an address by which this listener is reached.
pub(crate) fn connect(
    client: Option<&Namespace>,
    address: SocketAddr,
    listener: &TcpListener,
) -> Result<(), Error> {
    let name = client.map_or("this machine", Namespace::name);
    let what = || format!("reach {address} from {name}");
    let dial = || {
        client.map_or(Ok(()), Namespace::enter)?;
        let deadline = Instant::now() + PATIENCE;
        let stream = loop {
            match TcpStream::connect_timeout(&address, TRY) {
                Ok(stream) => break stream,
                Err(error) if error.kind() == TimedOut && Instant::now() < deadline => {}
                Err(error) => return Err(Error::new(what(), error)),
            }
        };
        set_socket_linger(&stream, Some(Duration::ZERO))
            .map_err(|errno| Error::new(what(), errno))?;
        Ok(stream)
    };
    let stream = std::thread::scope(|scope| scope.spawn(dial).join())
        .unwrap_or_else(|_| Err(Error::new("reach a server", "the thread panicked")))?;
    if !is_dialled(listener) {
        return Err(Error::new(what(), "whoever took the connection did not pass it on"));
    }
    drop(stream);
    Ok(())
}

/// Whether somebody has connected, or does in a moment. Of several that connect at the same time each counts once.
fn is_dialled(listener: &TcpListener) -> bool {
    let until = Instant::now() + PATIENCE;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let Ok(left) = Timespec::try_from(left) else { return false };
        let mut watched = [PollFd::new(listener, PollFlags::IN)];
        // An interrupted wait only means another look.
        if poll(&mut watched, Some(&left)).is_ok_and(|dialled| dialled > 0)
            && listener.accept().is_ok()
        {
            return true;
        }
    }
    false
}
