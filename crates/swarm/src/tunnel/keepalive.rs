//! Socket options of both ends, which detect that the other end has disappeared without closing the connection.

use rustix::net::sockopt;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// Keepalive: idle time before the first probe, interval between probes, and number of probes. The total is longer than
/// a network under full load delays a packet, and shorter than a manager takes to notice that a node is gone.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(4);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_PROBES: u32 = 4;

/// Maximum time that sent data may stay unacknowledged (TCP_USER_TIMEOUT), ms.
const USER_TIMEOUT_MS: u32 = 12_000;

/// Sets the options on a connection.
pub(super) fn enable_keepalive(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
    sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT_MS)?;
    Ok(())
}
