//! The socket: requests out, many at a time, acknowledgements in.

use super::Request;
use netlink_packet_core::{ErrorMessage, NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_sys::{SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::num::NonZeroI32;
use tare_network::{Error, HopKind};

/// The most requests in one system call: their acknowledgements must fit the socket's receive buffer.
const MOST_AT_ONCE: usize = 64;

/// The largest answer the kernel gives in one piece: it fills 32 KiB when the reader's buffer takes it.
const ANSWER_BYTES: usize = 64 * 1024;

/// What is done where answers are read, for the one who reads that it failed.
const WHAT: &str = "read the kernel's answer on netlink";

/// A network device, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Its name.
    pub(crate) name: String,
    /// What kind of device it is.
    pub(crate) kind: HopKind,
    /// The largest packet it carries, bytes.
    pub(crate) mtu: u32,
    /// Whether it is up and its other end is there.
    pub(crate) running: bool,
    /// How many packets have come in by it.
    pub(crate) received: u64,
    /// How many packets have gone out by it.
    pub(crate) sent: u64,
}

/// A netlink socket; it belongs to the network namespace in which it was opened, for life.
pub(crate) struct Socket {
    socket: netlink_sys::Socket,
    sequence: u32,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace.
    pub(crate) fn open() -> Result<Self, Error> {
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
    /// The kernel carries out the later ones even where an earlier one failed; the error is that of the first.
    pub(crate) fn execute(&mut self, requests: &[Request]) -> Result<(), Error> {
        requests.chunks(MOST_AT_ONCE).try_for_each(|some| self.execute_some(some))
    }

    fn execute_some(&mut self, requests: &[Request]) -> Result<(), Error> {
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
                    (acknowledged(&answer), requests.get(position), &outcome)
                {
                    outcome = Err(Error::new(request.what.clone(), error));
                }
                Ok(())
            })?;
        }
        outcome
    }

    /// The device of this name; nothing where there is none.
    pub(crate) fn device(&mut self, name: &str) -> Result<Option<Device>, Error> {
        let mut link = LinkMessage::default();
        link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        match self.ask(link) {
            Ok(device) => Ok(device),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(Error::new(format!("look for the device {name}"), error)),
        }
    }

    /// Asks for a device, and reads what comes up to the acknowledgement.
    fn ask(&mut self, link: LinkMessage) -> io::Result<Option<Device>> {
        self.send(RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST | NLM_F_ACK)?;

        let mut device = None;
        let mut end = None;
        while end.is_none() {
            self.receive(|message| {
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                        device = Some(describe(&link));
                    }
                    NetlinkPayload::Error(answer) => end = Some(acknowledged(&answer)),
                    _ => {}
                }
                Ok(())
            })
            .map_err(io::Error::other)?;
        }
        end.unwrap_or(Ok(())).map(|()| device)
    }

    /// Sends one message.
    pub(super) fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.append(&mut bytes, message, flags);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Adds a message to a buffer under the next sequence number, padded as the next one needs it (`NLMSG_ALIGN`).
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

    /// Receives once, and hands over each message of what came.
    pub(super) fn receive(
        &self,
        each: impl FnMut(NetlinkMessage<RouteNetlinkMessage>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        loop {
            match self.socket.recv(&mut bytes, 0) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::new(WHAT, error)),
            }
        }
        read(&bytes, each)
    }
}

/// What an acknowledgement says: the negative of an error's number, or that all went well.
pub(super) fn acknowledged(answer: &ErrorMessage) -> io::Result<()> {
    // A number that is nobody's has no negative, either.
    let number = |code: NonZeroI32| io::Error::from_raw_os_error(code.get().wrapping_neg());
    answer.code.map_or(Ok(()), |code| Err(number(code)))
}

/// Hands over each message in what came at once.
pub(super) fn read(
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

pub(super) fn describe(link: &LinkMessage) -> Device {
    let mut device = Device {
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

    #[test]
    fn the_loopback_device_is_described() {
        let loopback = Socket::open().unwrap().device("lo").unwrap().unwrap();
        let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        assert_eq!((loopback.name.as_str(), loopback.mtu), ("lo", mtu.trim().parse().unwrap()));
        assert_eq!(Socket::open().unwrap().device("nothing0").unwrap(), None);
    }

    #[test]
    fn an_acknowledgement_of_any_number_is_read() {
        let of = |code| {
            let mut answer = ErrorMessage::default();
            answer.code = NonZeroI32::new(code);
            acknowledged(&answer)
        };
        assert!(of(0).is_ok());
        assert_eq!(of(-libc::ENODEV).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(of(i32::MIN).is_err());
    }

    #[test]
    fn a_refusal_says_what_was_being_done() {
        // No machine has so many devices; and an ordinary user is refused before that.
        let request = Request::up("here", "nothing0", u32::MAX / 4);
        let error = Socket::open().unwrap().execute(&[request]).unwrap_err();
        assert_eq!(error.what, "set here:nothing0 up");
        assert!(!error.why.is_empty());
    }
}
