//! How datagrams are carried, as values; and UDP sockets with what the kernel really granted them.

use super::header;
use crate::placement::Role;
use crate::tcp::Granted;
use crate::{Error, Kind, Load, Parameter, parameters};
use rustix::net::sockopt;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use tare_record::{Finding, Parameters};

/// Payload bytes of a datagram. The default and its headers fit into 1280 bytes, which every network that carries IPv6
/// carries whole (RFC 8200, section 5): no tunnel on the way fragments it, which would be measured instead.
pub(crate) const SIZE: Parameter = Parameter {
    name: "size",
    summary: "payload bytes of a datagram, its header of 24 included; 1232 fit into every IPv6 network's MTU",
    // The most that an IPv4 datagram carries.
    kind: Kind::Bytes { least: header::LENGTH as u64, most: 65_507 },
    default: Some("1232"),
};

/// Whether the kernel is handed many datagrams as one.
pub(crate) const GSO: Parameter = Parameter {
    name: "gso",
    summary: "hand the kernel many datagrams as one, and take them so (UDP_SEGMENT, UDP_GRO)",
    kind: Kind::Switch,
    default: Some("false"),
};

/// What becomes of received payload.
pub(crate) const RECEIVE: Parameter = Parameter {
    name: "receive",
    summary: "what becomes of received payload: copied out of the kernel, or dropped there but for the header",
    kind: Kind::Choice(&["copy", "drop"]),
    default: Some("copy"),
};

/// Bytes of the buffers.
pub(crate) const BUFFER: Parameter = Parameter {
    name: "buffer",
    summary: "bytes of the sending and of the receiving socket's buffer",
    kind: Kind::Bytes { least: 4096, most: 1 << 30 },
    default: Some("8M"),
};

/// How the receiver waits.
pub(crate) const WAIT: Parameter = Parameter {
    name: "wait",
    summary: "how the receiver waits for datagrams",
    kind: Kind::Choice(&["block", "spin"]),
    default: Some("block"),
};

/// How the receiver waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// In the kernel, until something comes.
    Block,
    /// By asking again and again.
    Spin,
}

/// How a datagram is given to the kernel, and taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// Each for itself.
    Single,
    /// Many as one.
    Grouped,
}

/// How much of a datagram is copied out of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it.
    Whole,
    /// Its header.
    Header,
}

/// By which clock it is told when a datagram came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// The kernel's, as it took it from the device.
    Kernel,
    /// The receiver's, once for all that one call has handed over.
    Receiver,
}

/// How datagrams are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Payload bytes of a datagram.
    pub(crate) size: usize,
    /// Bytes of each socket's buffer.
    pub(crate) buffer: usize,
    /// Alone or in groups.
    pub(crate) handing: Handing,
    /// How much the receiver copies.
    pub(crate) keep: Keep,
    /// How the receiver waits.
    pub(crate) wait: Wait,
    /// Who says when a datagram came.
    pub(crate) stamp: Stamp,
    /// After the sender's last word, silence of this length means that the rest is lost.
    pub(crate) settle: Duration,
}

impl Options {
    /// How long to wait for the last datagrams unless there is a reason to be quicker.
    const SETTLE: Duration = Duration::from_millis(250);

    /// Up to so many datagrams per second the kernel stamps each of them. Beyond, that would slow the receiver down.
    const STAMPED: f64 = 200_000.0;

    /// The options among resolved parameters.
    pub(crate) fn of(parameters: &Parameters) -> Result<Self, Error> {
        let size = parameters::size(parameters, SIZE.name)?;
        let word = |name| parameters::word(parameters, name);
        let grouped = parameters::is_on(parameters, GSO.name);
        let slow = parameters::load(parameters, "rate")
            .is_some_and(|load: Load| load.packets_per_second(size) <= Self::STAMPED);
        Ok(Self {
            size,
            buffer: parameters::size(parameters, BUFFER.name)?,
            handing: if grouped { Handing::Grouped } else { Handing::Single },
            keep: if word(RECEIVE.name) == Some("drop") { Keep::Header } else { Keep::Whole },
            wait: if word(WAIT.name) == Some("spin") { Wait::Spin } else { Wait::Block },
            stamp: if slow && !grouped { Stamp::Kernel } else { Stamp::Receiver },
            settle: Self::SETTLE,
        })
    }
}

/// A UDP socket with its buffers, not yet bound.
fn open(address: SocketAddr, buffer: usize) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // Beyond the limit for everybody only root may go; others get what the limit allows.
    if sockopt::set_socket_recv_buffer_size_force(&socket, buffer).is_err() {
        socket.set_recv_buffer_size(buffer)?;
    }
    if sockopt::set_socket_send_buffer_size_force(&socket, buffer).is_err() {
        socket.set_send_buffer_size(buffer)?;
    }
    Ok(socket)
}

/// A client's socket of one flow to this address.
pub(crate) fn outgoing(address: SocketAddr, options: &Options) -> Result<UdpSocket, Error> {
    let refused = |error| Error::io(format!("open a UDP socket to {address}"), error);
    let socket = open(address, options.buffer).map_err(refused)?;
    socket.connect(&address.into()).map_err(refused)?;
    if options.handing == Handing::Grouped {
        crate::sys::split_into_segments(socket.as_fd(), options.size)
            .map_err(|error| Error::io("send many datagrams as one (UDP_SEGMENT)", error))?;
    }
    Ok(socket.into())
}

/// A server's socket that hears whoever has something to say to this address.
pub(crate) fn hearing(address: SocketAddr) -> Result<UdpSocket, Error> {
    const ANNOUNCEMENTS: usize = 1 << 20;
    let bind = || -> io::Result<UdpSocket> {
        let socket = open(address, ANNOUNCEMENTS)?;
        // Each flow gets a socket of its own on the same port.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    bind().map_err(|error| Error::io(format!("listen on {address} (UDP)"), error))
}

/// A server's socket of one flow, which comes from `peer` to `own`: the kernel hands it nothing else.
pub(crate) fn incoming(
    own: SocketAddr,
    peer: SocketAddr,
    options: &Options,
) -> Result<UdpSocket, Error> {
    let bind = || -> io::Result<UdpSocket> {
        let socket = open(own, options.buffer)?;
        socket.set_reuse_address(true)?;
        socket.bind(&own.into())?;
        socket.connect(&peer.into())?;
        if options.handing == Handing::Grouped {
            crate::sys::gather_segments(socket.as_fd())?;
        }
        if options.stamp == Stamp::Kernel {
            crate::sys::stamp_arrivals(socket.as_fd())?;
        }
        Ok(socket.into())
    };
    bind().map_err(|error| Error::io(format!("open a UDP socket from {peer} to {own}"), error))
}

/// What was granted to a side's sockets, of which this is one.
pub(crate) fn granted(socket: &UdpSocket, options: &Options, role: Role) -> Result<Granted, Error> {
    let (name, size) = match role {
        Role::Client => ("send_buffer", sockopt::socket_send_buffer_size(socket)),
        Role::Server => ("receive_buffer", sockopt::socket_recv_buffer_size(socket)),
    };
    let size = size.map_err(|error| Error::io("read a socket's options", error))?;
    // The kernel counts its own overhead as much again (socket(7)).
    let (asked, size) = (options.buffer as u64, size as u64 / 2);
    let mut granted = Granted::default();
    granted.parameters.insert(name.to_owned(), json!(size));
    if size < asked {
        granted.findings.push(Finding::SmallBuffer { asked, granted: size });
    }
    if role == Role::Server {
        let stamps = if options.stamp == Stamp::Kernel { "kernel" } else { "receiver" };
        granted.parameters.insert("arrivals_stamped_by".to_owned(), json!(stamps));
    }
    Ok(granted)
}

#[cfg(test)]
impl Options {
    /// Small datagrams, each handed over alone, to receivers that block.
    pub(crate) const fn made_up() -> Self {
        Self {
            size: 100,
            buffer: 1 << 16,
            handing: Handing::Single,
            keep: Keep::Whole,
            wait: Wait::Block,
            stamp: Stamp::Receiver,
            settle: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_flow_of_its_own_takes_what_its_peer_sends_and_nothing_else() {
        let options = Options::made_up();
        let ear = hearing((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let own = ear.local_addr().unwrap();
        let (one, two) = (outgoing(own, &options).unwrap(), outgoing(own, &options).unwrap());
        let flow = incoming(own, one.local_addr().unwrap(), &options).unwrap();
        one.send(b"one").unwrap();
        two.send(b"two").unwrap();
        let mut bytes = [0; 3];
        assert_eq!((flow.recv(&mut bytes).unwrap(), &bytes), (3, b"one"));
        assert_eq!((ear.recv(&mut bytes).unwrap(), &bytes), (3, b"two"));
        let granted = granted(&flow, &options, Role::Server).unwrap();
        assert_eq!(granted.parameters["receive_buffer"], json!(1 << 16));
        assert!(granted.findings.is_empty());
    }
}
