//! TCP sockets with the options that a workload asks for, and what the kernel really granted.

use super::hello::{Way, greet};
use crate::{Error, Task, parameters};
use rustix::net::sockopt;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use tare_record::{Finding, Parameters};

/// The longest that one connection, and its greeting, may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// What is asked of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The congestion control; nothing: the namespace's default.
    pub(crate) congestion: Option<String>,
    /// Bytes of each of the two socket buffers; nothing: the kernel tunes them by itself.
    pub(crate) buffer: Option<usize>,
    /// TCP_NODELAY.
    pub(crate) no_delay: bool,
}

impl Options {
    /// The options among resolved parameters.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        Self {
            congestion: parameters::word(parameters, "congestion").map(str::to_owned),
            buffer: parameters::optional_size(parameters, "buffer"),
            no_delay: parameters::is_on(parameters, "no_delay"),
        }
    }
}

/// What was in force on a side's sockets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Granted {
    /// By the parameters' names.
    pub(crate) parameters: Parameters,
    /// Where it is not what was asked for.
    pub(crate) findings: Vec<Finding>,
}

impl Granted {
    /// Reads it off a socket.
    pub(crate) fn read(socket: &Socket, options: &Options) -> Result<Self, Error> {
        let refused = |error| Error::io("read a socket's options", error);
        let mut granted = Self::default();
        let used = sockopt::tcp_congestion(socket).map_err(refused)?;
        if let Some(asked) = options.congestion.as_ref().filter(|asked| **asked != used) {
            let finding =
                Finding::OtherCongestionControl { asked: asked.clone(), used: used.clone() };
            granted.findings.push(finding);
        }
        granted.parameters.insert("congestion".to_owned(), json!(used));
        if let Some(asked) = options.buffer {
            granted.size("send_buffer", asked, sockopt::socket_send_buffer_size(socket))?;
            granted.size("receive_buffer", asked, sockopt::socket_recv_buffer_size(socket))?;
        }
        Ok(granted)
    }

    /// Notes what a buffer's size is, as the kernel says.
    fn size(
        &mut self,
        name: &str,
        asked: usize,
        said: rustix::io::Result<usize>,
    ) -> Result<(), Error> {
        // The kernel counts its own overhead as much again (socket(7)).
        let size = said.map_err(|error| Error::io("read a socket's options", error))? / 2;
        self.parameters.insert(name.to_owned(), json!(size));
        if size < asked {
            let (asked, granted) = (asked as u64, size as u64);
            self.findings.push(Finding::SmallBuffer { asked, granted });
        }
        Ok(())
    }
}

/// A socket with its options, not yet connected. What the kernel refuses shows in [`Granted`].
fn socket(address: SocketAddr, options: &Options) -> Result<Socket, Error> {
    let open = || -> std::io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(options.no_delay)?;
        if let Some(size) = options.buffer {
            // Beyond the limit for everybody only root may go; others get what the limit allows.
            if sockopt::set_socket_recv_buffer_size_force(&socket, size).is_err() {
                socket.set_recv_buffer_size(size)?;
            }
            if sockopt::set_socket_send_buffer_size_force(&socket, size).is_err() {
                socket.set_send_buffer_size(size)?;
            }
        }
        Ok(socket)
    };
    let socket = open().map_err(|error| Error::io("open a TCP socket", error))?;
    if let Some(name) = options.congestion.as_deref().filter(|name| is_loaded(name)) {
        // Refused where the namespace does not allow it: then the default stays, which is a finding.
        let _ = sockopt::set_tcp_congestion(&socket, name);
    }
    Ok(socket)
}

/// Whether the kernel has this congestion control now. Asking a socket for another one could load a module.
fn is_loaded(name: &str) -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .is_ok_and(|known| known.split_whitespace().any(|one| one == name))
}

/// A listener. Flows accepted from it have its options.
pub(crate) fn listen(
    address: SocketAddr,
    backlog: u32,
    options: &Options,
) -> Result<(TcpListener, Granted), Error> {
    let refused = |error| Error::io(format!("listen on {address}"), error);
    let socket = socket(address, options)?;
    // Flows of the trial before may still be in TIME_WAIT on this port.
    socket.set_reuse_address(true).map_err(refused)?;
    socket.bind(&address.into()).map_err(refused)?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    let granted = Granted::read(&socket, options)?;
    Ok((socket.into(), granted))
}

/// Connects all flows of a client, over its addresses in turn, each greeted by its server.
pub(crate) fn connect(task: &Task, options: &Options) -> Result<(Vec<TcpStream>, Granted), Error> {
    connect_as(task, options, Way::Up)
}

/// The same for flows whose payload goes this way.
pub(crate) fn connect_as(
    task: &Task,
    options: &Options,
    way: Way,
) -> Result<(Vec<TcpStream>, Granted), Error> {
    let mut streams = Vec::with_capacity(task.flows as usize);
    let mut granted = Granted::default();
    for &address in task.addresses.iter().cycle().take(task.flows as usize) {
        let refused = |error| Error::io(format!("connect to {address}"), error);
        let socket = socket(address, options)?;
        socket.connect_timeout(&address.into(), CONNECT).map_err(refused)?;
        granted = Granted::read(&socket, options)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(CONNECT)).map_err(refused)?;
        greet(&stream, task.token, task.client, way).map_err(refused)?;
        streams.push(stream);
    }
    Ok((streams, granted))
}

/// Closes; that the other end has done so before is no error.
pub(crate) fn shut(stream: &TcpStream, how: Shutdown) -> std::io::Result<()> {
    match stream.shutdown(how) {
        Err(error) if error.kind() == std::io::ErrorKind::NotConnected => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn granted(options: &Options) -> Granted {
        listen((Ipv4Addr::LOCALHOST, 0).into(), 1, options).unwrap().1
    }

    #[test]
    fn what_is_in_force_is_said_and_what_is_not_is_a_finding() {
        let default = granted(&Options::default());
        assert!(default.findings.is_empty());
        let used = default.parameters["congestion"].as_str().unwrap().to_owned();
        let asked = Options { congestion: Some("nosuch".to_owned()), ..Options::default() };
        let expected = Finding::OtherCongestionControl { asked: "nosuch".to_owned(), used };
        assert_eq!(granted(&asked).findings, [expected]);
    }

    #[test]
    fn a_buffer_is_granted_as_asked_or_there_is_a_finding() {
        let small = granted(&Options { buffer: Some(64 << 10), ..Options::default() });
        for name in ["send_buffer", "receive_buffer"] {
            assert_eq!(small.parameters[name], json!(64 << 10), "{name}");
        }
        assert!(small.findings.is_empty());
    }

    #[test]
    fn nobody_there_is_said_with_the_address() {
        // A port that is taken, so that nobody else listens there, and does not listen.
        let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        silent.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        let address = silent.local_addr().unwrap().as_socket().unwrap();
        let task = crate::Task::made_up("tcp-stream", vec![address]);
        let error = connect(&task, &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("connect to {address}: ")), "{error}");
    }
}
