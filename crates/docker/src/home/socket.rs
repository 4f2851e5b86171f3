//! The options of both ends' sockets: a connection whose other end is gone without a word is found out.

use rustix::net::sockopt;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// After how long without a packet the other end is asked, how often, and how many times. Longer than a network under
/// full load keeps a packet, shorter than a manager takes to miss a node.
const IDLE: Duration = Duration::from_secs(4);
const EVERY: Duration = Duration::from_secs(2);
const TIMES: u32 = 4;

/// How long what was sent may stay without an answer, ms.
const UNANSWERED: u32 = 12_000;

/// Sets them.
pub(super) fn watched(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, IDLE)?;
    sockopt::set_tcp_keepintvl(stream, EVERY)?;
    sockopt::set_tcp_keepcnt(stream, TIMES)?;
    sockopt::set_tcp_user_timeout(stream, UNANSWERED)?;
    Ok(())
}
