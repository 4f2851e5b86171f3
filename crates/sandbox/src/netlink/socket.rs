//! Netlink socket: it sends many requests at a time, and reads their acknowledgements.

use super::{NetlinkRequest, raw};
use netlink_packet_core::{ErrorMessage, NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_sys::SocketAddr;
use netlink_sys::protocols::NETLINK_ROUTE;
use std::io;
use std::num::NonZeroI32;
use tare_network::{Error, HopKind};

/// Largest number of requests in one system call. Their acknowledgements must fit the socket's receive buffer.
const MOST_AT_ONCE: usize = 64;

/// Size of the receive buffer, bytes. The kernel's largest answer fills 32 KiB if the reader's buffer has room for it.
const ANSWER_BYTES: usize = 64 * 1024;

/// Action in the error if an answer cannot be read.
const WHAT: &str = "read the kernel's netlink reply";

/// Network device, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceState {
    /// Index of the device in its namespace.
    pub index: u32,
    /// Name of the device.
    pub name: String,
    /// Kind of the device.
    pub kind: HopKind,
    /// Largest packet that it carries, bytes.
    pub mtu: u32,
    /// `true` if the device is up and its other end exists.
    pub running: bool,
    /// Number of packets received.
    pub received: u64,
    /// Number of packets sent.
    pub sent: u64,
}

/// Netlink socket. It belongs to the network namespace in which it was opened, for life.
pub struct NetlinkSocket {
    socket: netlink_sys::Socket,
    sequence: u32,
}

impl NetlinkSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel has no socket left.
    pub fn open() -> Result<Self, Error> {
        let open = || -> io::Result<netlink_sys::Socket> {
            let mut socket = netlink_sys::Socket::new(NETLINK_ROUTE)?;
            // Acknowledgements need not repeat the request.
            socket.set_cap_ack(true)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|error| Error::new("open a netlink socket", error))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Carries out requests in order.
    ///
    /// The kernel carries out later requests even if an earlier one failed.
    ///
    /// # Errors
    /// The purpose of the first request that the kernel refused, with its reason.
    pub fn execute(&mut self, requests: &[NetlinkRequest]) -> Result<(), Error> {
        requests.chunks(MOST_AT_ONCE).try_for_each(|some| self.execute_some(some))
    }

    fn execute_some(&mut self, requests: &[NetlinkRequest]) -> Result<(), Error> {
        let Some(first_request) = requests.first() else {
            return Ok(());
        };
        let first = self.sequence.wrapping_add(1);
        let mut bytes = Vec::new();
        for request in requests {
            let flags = NLM_F_REQUEST | NLM_F_ACK | request.flags;
            self.append(&mut bytes, request.message.clone(), flags);
        }
        self.socket
            .send(&bytes, 0)
            .map_err(|error| Error::new(first_request.what.clone(), error))?;

        let mut outcome = Ok(());
        let mut outstanding = requests.len();
        while outstanding > 0 {
            self.receive(|message| {
                let NetlinkPayload::Error(answer) = message.payload else {
                    return Ok(());
                };
                outstanding = outstanding.saturating_sub(1);
                let position = message.header.sequence_number.wrapping_sub(first) as usize;
                if let (Err(error), Some(request), Ok(())) =
                    (parse_ack(&answer), requests.get(position), &outcome)
                {
                    outcome = Err(Error::new(request.what.clone(), error));
                }
                Ok(())
            })?;
        }
        outcome
    }

    /// Returns the device of this name. Returns `None` if there is none.
    ///
    /// # Errors
    /// The kernel does not answer, or not as rtnetlink(7) says.
    pub fn device(&mut self, name: &str) -> Result<Option<DeviceState>, Error> {
        let mut link = LinkMessage::default();
        link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        match self.ask(link) {
            Ok(device) => Ok(device),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(Error::new(format!("query the device {name}"), error)),
        }
    }

    /// Requests a device, and reads the answers up to the acknowledgement.
    fn ask(&mut self, link: LinkMessage) -> io::Result<Option<DeviceState>> {
        let mut device = None;
        self.exchange(RouteNetlinkMessage::GetLink(link), 0, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                device = Some(device_state(&link));
            }
        })?;
        Ok(device)
    }

    /// Sends one message with these `NLM_F_*` flags, and reads the answers up to the acknowledgement.
    pub(super) fn acknowledged(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<()> {
        self.exchange(message, flags, |_| {})
    }

    /// Sends one message with these `NLM_F_*` flags. Passes each answer to `each`, up to the acknowledgement.
    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        let mut end = None;
        while end.is_none() {
            self.receive(|message| {
                match message.payload {
                    NetlinkPayload::InnerMessage(answer) => each(answer),
                    NetlinkPayload::Error(answer) => end = Some(parse_ack(&answer)),
                    _ => {}
                }
                Ok(())
            })
            .map_err(io::Error::other)?;
        }
        end.unwrap_or(Ok(()))
    }

    /// Sends one message with these `NLM_F_*` flags.
    pub(super) fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.append(&mut bytes, message, flags);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Appends a message to a buffer with the next sequence number, padded to the alignment of messages
    /// (`NLMSG_ALIGN`).
    fn append(&mut self, bytes: &mut Vec<u8>, message: RouteNetlinkMessage, flags: u16) {
        const ALIGNMENT: usize = 4;
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::from(message);
        message.header.flags = flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let start = bytes.len();
        bytes.resize(start + message.buffer_len().next_multiple_of(ALIGNMENT), 0);
        message.serialize(&mut bytes[start..]);
    }

    /// Sends bytes that are a message.
    pub(super) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send(bytes, 0).map(drop)
    }

    /// Receives once, and passes each message to `each`.
    pub(super) fn receive(
        &self,
        each: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        parse_messages(&self.receive_bytes()?, each)
    }

    /// Receives once.
    pub(super) fn receive_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        raw::receive(&self.socket, &mut bytes).map_err(|error| Error::new(WHAT, error))?;
        Ok(bytes)
    }
}

/// Returns the result in an acknowledgement: an error, whose number the kernel sends negated, or success.
pub(super) fn parse_ack(answer: &ErrorMessage) -> io::Result<()> {
    // A number that is not a valid error code may have no negative.
    let number = |code: NonZeroI32| io::Error::from_raw_os_error(code.get().wrapping_neg());
    answer.code.map_or(Ok(()), |code| Err(number(code)))
}

/// Passes each message in a received buffer to `each`.
pub(super) fn parse_messages(
    mut rest: &[u8],
    mut each: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> Result<(), Error>,
) -> Result<(), Error> {
    while !rest.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
            .map_err(|error| Error::new(WHAT, error))?;
        let length = (message.header.length as usize).next_multiple_of(4).min(rest.len());
        rest = &rest[length..];
        each(message)?;
    }
    Ok(())
}

pub(super) fn device_state(link: &LinkMessage) -> DeviceState {
    let mut device = DeviceState {
        index: link.header.index,
        name: String::new(),
        kind: HopKind::Device,
        mtu: 0,
        running: link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        received: 0,
        sent: 0,
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => device.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => device.mtu = *mtu,
            LinkAttribute::LinkInfo(info) => device.kind = kind(info),
            LinkAttribute::Stats64(counted) => {
                (device.received, device.sent) = (counted.rx_packets, counted.tx_packets);
            }
            _ => {}
        }
    }
    device
}

fn kind(info: &[LinkInfo]) -> HopKind {
    let kind = info.iter().find_map(|one| match one {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    });
    match kind {
        Some(InfoKind::Veth) => HopKind::Veth,
        Some(InfoKind::Bridge) => HopKind::Bridge,
        _ => HopKind::Device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::DeviceRef;

    #[test]
    fn the_loopback_device_is_described() {
        let loopback = NetlinkSocket::open().unwrap().device("lo").unwrap().unwrap();
        let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        assert_eq!((loopback.name.as_str(), loopback.mtu), ("lo", mtu.trim().parse().unwrap()));
        assert_eq!(NetlinkSocket::open().unwrap().device("nothing0").unwrap(), None);
    }

    #[test]
    fn an_acknowledgement_of_any_number_is_read() {
        let of = |code| {
            let mut answer = ErrorMessage::default();
            answer.code = NonZeroI32::new(code);
            parse_ack(&answer)
        };
        assert!(of(0).is_ok());
        assert_eq!(of(-libc::ENODEV).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(of(i32::MIN).is_err());
    }

    #[test]
    fn a_refusal_says_what_was_being_done() {
        // No machine has this many devices, and an ordinary user is refused before that.
        let device = DeviceRef { name: "nothing0", index: u32::MAX / 4 };
        let request = NetlinkRequest::bring_up("here", device);
        let error = NetlinkSocket::open().unwrap().execute(&[request]).unwrap_err();
        assert_eq!(error.what, "set here:nothing0 up");
        assert!(!error.why.is_empty());
    }
}
