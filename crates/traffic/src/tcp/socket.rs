//! TCP sockets with a workload's options, and the options that the kernel granted.

use super::granted_options::GrantedOptions;
use super::greeting::{FlowDirection, FlowOrigin, send_greeting};
use crate::{Error, Parameter, ParameterKind, TrialTask, parameters};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;
use tare_record::finding::{OtherCongestionControl, SmallBuffer};
use tare_record::{Finding, Parameters};

/// Time limit for making one connection, and for its greeting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Congestion control of a workload over TCP. The plan of a run fills it in, because one value applies to all networks.
pub(crate) const CONGESTION: Parameter = Parameter {
    name: "congestion",
    summary: "congestion control of both ends: cubic where every end of the run may use it, else reno, unless given; system is the host's",
    kind: ParameterKind::Name,
    default: None,
};

/// Requested options of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpOptions {
    /// Congestion control. `None`: the namespace's default.
    pub(crate) congestion: Option<String>,
    /// Size of each of the two socket buffers, bytes. `None`: the kernel tunes them by itself.
    pub(crate) buffer: Option<usize>,
    /// TCP_NODELAY.
    pub(crate) no_delay: bool,
}

impl TcpOptions {
    /// Reads the options from resolved parameters.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Self {
        Self {
            congestion: parameters::congestion(parameters).map(str::to_owned),
            buffer: parameters::optional_size(parameters, "buffer"),
            no_delay: parameters::is_on(parameters, "no_delay"),
        }
    }

    /// Returns the congestion control to set, if the kernel has it now. Setting one that is not loaded could load a
    /// module.
    pub(crate) fn loaded_congestion(&self) -> Option<&str> {
        let known =
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").ok()?;
        let is_loaded = |name: &&str| known.split_whitespace().any(|one| one == *name);
        self.congestion.as_deref().filter(is_loaded)
    }
}

impl GrantedOptions {
    /// Reads the effective options of a socket.
    pub(crate) fn read(socket: &Socket, options: &TcpOptions) -> Result<Self, Error> {
        let refused = |error| Error::io("read a socket's options", error);
        let mut granted = Self::default();
        let used = sockopt::tcp_congestion(socket).map_err(refused)?;
        if let Some(asked) = options.congestion.as_ref().filter(|asked| **asked != used) {
            let finding = Finding::OtherCongestionControl(OtherCongestionControl {
                asked: asked.clone(),
                used: used.clone(),
            });
            granted.findings.push(finding);
        }
        granted.parameters.insert("congestion".to_owned(), json!(used));
        if let Some(asked) = options.buffer {
            granted.note_buffer_size(
                "send_buffer",
                asked,
                sockopt::socket_send_buffer_size(socket),
            )?;
            granted.note_buffer_size(
                "receive_buffer",
                asked,
                sockopt::socket_recv_buffer_size(socket),
            )?;
        }
        Ok(granted)
    }

    /// Records a buffer's size as reported by the kernel, and a finding if it is smaller than requested.
    fn note_buffer_size(
        &mut self,
        name: &str,
        asked: usize,
        said: rustix::io::Result<usize>,
    ) -> Result<(), Error> {
        // The kernel doubles the size for its own overhead (socket(7)).
        let size = said.map_err(|error| Error::io("read a socket's options", error))? / 2;
        self.parameters.insert(name.to_owned(), json!(size));
        if size < asked {
            let (asked, granted) = (asked as u64, size as u64);
            self.findings.push(Finding::SmallBuffer(SmallBuffer { asked, granted }));
        }
        Ok(())
    }
}

/// Opens a socket with its options, not yet connected. Options that the kernel refuses show in [`GrantedOptions`].
fn open_socket(address: SocketAddr, options: &TcpOptions) -> Result<Socket, Error> {
    let open = || -> std::io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(options.no_delay)?;
        if let Some(size) = options.buffer {
            // Only root may exceed the general limit; other users get what the limit allows.
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
    if let Some(name) = options.loaded_congestion() {
        set_congestion(&socket, name);
    }
    Ok(socket)
}

/// Sets a socket's congestion control. The kernel refuses if the namespace does not allow it: the default stays, which
/// [`GrantedOptions`] shows as a finding.
pub(crate) fn set_congestion(socket: impl AsFd, name: &str) {
    let _ = sockopt::set_tcp_congestion(socket, name);
}

/// Returns the congestion control of new sockets in the calling thread's network namespace: that of programs which choose
/// none. Returns `None` if the kernel does not tell.
#[must_use]
pub fn default_congestion() -> Option<String> {
    let fresh = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).ok()?;
    sockopt::tcp_congestion(fresh).ok()
}

/// Opens a listener. Flows accepted from it have its options.
pub(crate) fn listen(
    address: SocketAddr,
    backlog: u32,
    options: &TcpOptions,
) -> Result<(TcpListener, GrantedOptions), Error> {
    let refused = |error| Error::io(format!("listen on {address}"), error);
    let socket = open_socket(address, options)?;
    // Flows of the previous trial may still be in TIME_WAIT on this port.
    socket.set_reuse_address(true).map_err(refused)?;
    socket.bind(&address.into()).map_err(refused)?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    let granted = GrantedOptions::read(&socket, options)?;
    Ok((socket.into(), granted))
}

/// Connects all flows of a client, round-robin over its addresses, each greeted by its server.
pub(crate) fn connect(
    task: &TrialTask,
    options: &TcpOptions,
) -> Result<(Vec<TcpStream>, GrantedOptions), Error> {
    connect_directed(task, options, FlowDirection::Up)
}

/// Connects all flows of a client, as [`connect`] does, for payload in this direction.
pub(crate) fn connect_directed(
    task: &TrialTask,
    options: &TcpOptions,
    way: FlowDirection,
) -> Result<(Vec<TcpStream>, GrantedOptions), Error> {
    let mut streams = Vec::with_capacity(task.flows as usize);
    let mut granted = GrantedOptions::default();
    for &address in task.addresses.iter().cycle().take(task.flows as usize) {
        let refused = |error| Error::io(format!("connect to {address}"), error);
        let socket = open_socket(address, options)?;
        socket.connect_timeout(&address.into(), CONNECT_TIMEOUT).map_err(refused)?;
        granted = GrantedOptions::read(&socket, options)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(CONNECT_TIMEOUT)).map_err(refused)?;
        send_greeting(&stream, task.token, FlowOrigin::from_task(task), way).map_err(refused)?;
        streams.push(stream);
    }
    Ok((streams, granted))
}

/// Shuts a connection down; that the other end has closed it before is no error.
pub(crate) fn shut_down(stream: &TcpStream, how: Shutdown) -> std::io::Result<()> {
    match stream.shutdown(how) {
        Err(error) if error.kind() == std::io::ErrorKind::NotConnected => Ok(()),
        other => other,
    }
}

/// Returns true if the other end has closed a connection over which it sends nothing.
pub(crate) fn is_shut_by_peer(stream: &TcpStream) -> std::io::Result<bool> {
    match recv(stream, &mut [0u8], RecvFlags::DONTWAIT) {
        Ok((_, bytes)) => Ok(bytes == 0),
        Err(error) => Ok(error != Errno::AGAIN && error != Errno::INTR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn granted(options: &TcpOptions) -> GrantedOptions {
        listen((Ipv4Addr::LOCALHOST, 0).into(), 1, options).unwrap().1
    }

    #[test]
    fn what_is_in_force_is_said_and_what_is_not_is_a_finding() {
        let default = granted(&TcpOptions::default());
        assert!(default.findings.is_empty());
        let used = default.parameters["congestion"].as_str().unwrap().to_owned();
        let asked = TcpOptions { congestion: Some("nosuch".to_owned()), ..TcpOptions::default() };
        let expected = Finding::OtherCongestionControl(OtherCongestionControl {
            asked: "nosuch".to_owned(),
            used,
        });
        assert_eq!(granted(&asked).findings, [expected]);
    }

    #[test]
    fn a_buffer_is_granted_as_asked_or_there_is_a_finding() {
        let small = granted(&TcpOptions { buffer: Some(64 << 10), ..TcpOptions::default() });
        for name in ["send_buffer", "receive_buffer"] {
            assert_eq!(small.parameters[name], json!(64 << 10), "{name}");
        }
        assert!(small.findings.is_empty());
    }

    #[test]
    fn nobody_there_is_said_with_the_address() {
        // A bound port that does not listen, so that no other socket listens there.
        let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        silent.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        let address = silent.local_addr().unwrap().as_socket().unwrap();
        let task = crate::TrialTask::for_test("tcp-stream", vec![address]);
        let error = connect(&task, &TcpOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot connect to {address}: ")), "{error}");
    }
}
