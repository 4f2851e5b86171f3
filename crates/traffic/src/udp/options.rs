//! Options of UDP workloads, and UDP sockets with the values that the kernel granted.

use super::header;
use crate::placement::TrafficRole;
use crate::tcp::GrantedOptions;
use crate::wait_mode::WaitMode;
use crate::{Error, OfferedLoad, Parameter, ParameterKind, parameters};
use rustix::net::sockopt;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use tare_record::finding::SmallBuffer;
use tare_record::{Finding, Parameters};

/// Payload bytes of a datagram. With its headers the default fits into 1280 bytes, which every network that carries
/// IPv6 carries whole (RFC 8200, section 5): no tunnel on the path fragments it, which would be measured instead.
pub(crate) const SIZE: Parameter = Parameter {
    name: "size",
    summary: "payload bytes of a datagram, its header of 24 included; 1232 fit into every IPv6 network's MTU",
    // Maximum payload of a UDP datagram over IPv4.
    kind: ParameterKind::Bytes { least: header::LENGTH as u64, most: 65_507 },
    default: Some("1232"),
};

/// Switch for segmentation offload of UDP: many datagrams per message.
pub(crate) const GSO: Parameter = Parameter {
    name: "gso",
    summary: "send and receive many datagrams as one message (UDP_SEGMENT, UDP_GRO)",
    kind: ParameterKind::Switch,
    default: Some("false"),
};

/// Choice of what happens to received payload.
pub(crate) const RECEIVE: Parameter = Parameter {
    name: "receive",
    summary: "handling of received payload: copied out of the kernel, or dropped there except for the header",
    kind: ParameterKind::Choice(&["copy", "drop"]),
    default: Some("copy"),
};

/// Size of the socket buffers, bytes.
pub(crate) const BUFFER: Parameter = Parameter {
    name: "buffer",
    summary: "bytes of the sending and of the receiving socket's buffer",
    kind: ParameterKind::Bytes { least: 4096, most: 1 << 30 },
    default: Some("8M"),
};

/// Choice of how the receiver waits for datagrams.
pub(crate) const WAIT: Parameter = Parameter {
    name: "wait",
    summary: "how the receiver waits for datagrams",
    kind: ParameterKind::Choice(&["block", "spin"]),
    default: Some("block"),
};

/// Grouping of datagrams in the calls that send and receive them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramGrouping {
    /// One datagram per message.
    Single,
    /// Many datagrams per message (UDP_SEGMENT, UDP_GRO).
    Grouped,
}

/// Part of a datagram that the receiver copies out of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadCopy {
    /// Copy of the whole datagram.
    Whole,
    /// Copy of the header only.
    Header,
}

/// Source of the arrival time of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalClock {
    /// Timestamp by the kernel, as it took the datagram from the device.
    Kernel,
    /// Clock read by the receiver, once for all datagrams of one call.
    Receiver,
}

/// Options with which datagrams are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Payload bytes of a datagram.
    pub(crate) size: usize,
    /// Size of each socket's buffer, bytes.
    pub(crate) buffer: usize,
    /// Grouping of datagrams.
    pub(crate) grouping: DatagramGrouping,
    /// Part of a datagram that the receiver copies.
    pub(crate) copy: PayloadCopy,
    /// Way in which the receiver waits.
    pub(crate) wait: WaitMode,
    /// Source of arrival times.
    pub(crate) arrival_clock: ArrivalClock,
    /// Silence after the sender's end after which the missing datagrams count as lost.
    pub(crate) settle: Duration,
}

impl Options {
    /// Default time to wait for the last datagrams.
    const SETTLE_TIME: Duration = Duration::from_millis(250);

    /// Highest rate at which the kernel stamps every datagram, datagrams per second. At higher rates that would slow
    /// the receiver down.
    const MAX_STAMPED_RATE: f64 = 200_000.0;

    /// Reads the options from resolved parameters.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let size = parameters::size(parameters, SIZE.name)?;
        let word = |name| parameters::word(parameters, name);
        let grouped = parameters::is_on(parameters, GSO.name);
        let slow = parameters::load(parameters, "rate").is_some_and(|load: OfferedLoad| {
            load.packets_per_second(size) <= Self::MAX_STAMPED_RATE
        });
        Ok(Self {
            size,
            buffer: parameters::size(parameters, BUFFER.name)?,
            grouping: if grouped { DatagramGrouping::Grouped } else { DatagramGrouping::Single },
            copy: if word(RECEIVE.name) == Some("drop") {
                PayloadCopy::Header
            } else {
                PayloadCopy::Whole
            },
            wait: WaitMode::from_parameters(parameters),
            arrival_clock: if slow && !grouped {
                ArrivalClock::Kernel
            } else {
                ArrivalClock::Receiver
            },
            settle: Self::SETTLE_TIME,
        })
    }
}

/// Opens a UDP socket with buffers of this size, not bound yet.
fn open_socket(address: SocketAddr, buffer: usize) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // Only root may exceed the system's limit. Other users get what it allows.
    if sockopt::set_socket_recv_buffer_size_force(&socket, buffer).is_err() {
        socket.set_recv_buffer_size(buffer)?;
    }
    if sockopt::set_socket_send_buffer_size_force(&socket, buffer).is_err() {
        socket.set_send_buffer_size(buffer)?;
    }
    Ok(socket)
}

/// Opens a client's socket of one flow to this address.
pub(crate) fn open_client_socket(
    address: SocketAddr,
    options: &Options,
) -> Result<UdpSocket, Error> {
    let refused = |error| Error::io(format!("open a UDP socket to {address}"), error);
    let socket = open_socket(address, options.buffer).map_err(refused)?;
    socket.connect(&address.into()).map_err(refused)?;
    if options.grouping == DatagramGrouping::Grouped {
        crate::sys::set_gso_size(socket.as_fd(), options.size).map_err(|error| {
            Error::io("enable segmentation offload (UDP_SEGMENT) for --gso", error)
        })?;
    }
    Ok(socket.into())
}

/// Opens a server's socket for announcements, from any address.
pub(crate) fn open_announcement_socket(address: SocketAddr) -> Result<UdpSocket, Error> {
    const ANNOUNCEMENTS: usize = 1 << 20;
    let bind = || -> io::Result<UdpSocket> {
        let socket = open_socket(address, ANNOUNCEMENTS)?;
        // Each flow gets its own socket on the same port.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    bind().map_err(|error| Error::io(format!("listen on {address} (UDP)"), error))
}

/// Opens a server's socket of one flow from `peer` to `own`. The kernel delivers nothing else to it.
pub(crate) fn open_flow_socket(
    own: SocketAddr,
    peer: SocketAddr,
    options: &Options,
) -> Result<UdpSocket, Error> {
    let bind = || -> io::Result<UdpSocket> {
        let socket = open_socket(own, options.buffer)?;
        socket.set_reuse_address(true)?;
        socket.bind(&own.into())?;
        socket.connect(&peer.into())?;
        if options.grouping == DatagramGrouping::Grouped {
            crate::sys::enable_gro(socket.as_fd())?;
        }
        if options.arrival_clock == ArrivalClock::Kernel {
            crate::sys::enable_arrival_timestamps(socket.as_fd())?;
        }
        Ok(socket.into())
    };
    bind().map_err(|error| Error::io(format!("open a UDP socket from {peer} to {own}"), error))
}

/// Returns the values that the kernel granted to the sockets of one side, read from one of them.
pub(crate) fn granted_to_socket(
    socket: &UdpSocket,
    options: &Options,
    role: TrafficRole,
) -> Result<GrantedOptions, Error> {
    let (name, size) = match role {
        TrafficRole::Client => ("send_buffer", sockopt::socket_send_buffer_size(socket)),
        TrafficRole::Server => ("receive_buffer", sockopt::socket_recv_buffer_size(socket)),
    };
    let size = size.map_err(|error| Error::io("read a socket's options", error))?;
    // The kernel doubles the value, for its own overhead (socket(7)).
    let (asked, size) = (options.buffer as u64, size as u64 / 2);
    let mut granted = GrantedOptions::default();
    granted.parameters.insert(name.to_owned(), json!(size));
    if size < asked {
        granted.findings.push(Finding::SmallBuffer(SmallBuffer { asked, granted: size }));
    }
    if role == TrafficRole::Server {
        let stamps =
            if options.arrival_clock == ArrivalClock::Kernel { "kernel" } else { "receiver" };
        granted.parameters.insert("arrivals_stamped_by".to_owned(), json!(stamps));
    }
    Ok(granted)
}

#[cfg(test)]
impl Options {
    /// Returns options for tests: small datagrams, one per message, and receivers that block.
    pub(crate) const fn made_up() -> Self {
        Self {
            size: 100,
            buffer: 1 << 16,
            grouping: DatagramGrouping::Single,
            copy: PayloadCopy::Whole,
            wait: WaitMode::Block,
            arrival_clock: ArrivalClock::Receiver,
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
        let ear = open_announcement_socket((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let own = ear.local_addr().unwrap();
        let (one, two) = (
            open_client_socket(own, &options).unwrap(),
            open_client_socket(own, &options).unwrap(),
        );
        let flow = open_flow_socket(own, one.local_addr().unwrap(), &options).unwrap();
        one.send(b"one").unwrap();
        two.send(b"two").unwrap();
        let mut bytes = [0; 3];
        assert_eq!((flow.recv(&mut bytes).unwrap(), &bytes), (3, b"one"));
        assert_eq!((ear.recv(&mut bytes).unwrap(), &bytes), (3, b"two"));
        let granted = granted_to_socket(&flow, &options, TrafficRole::Server).unwrap();
        assert_eq!(granted.parameters["receive_buffer"], json!(1 << 16));
        assert!(granted.findings.is_empty());
    }
}
