//! Messages and attributes of netlink, for requests and answers that the route library does not know.

use netlink_sys::Socket;
use std::io;

/// Messages of netlink itself: an error, and the end of a list.
pub(crate) const ERROR: u16 = 2;
pub(crate) const DONE: u16 = 3;
/// Size of `struct nlattr`, bytes.
pub(crate) const ATTRIBUTE: usize = 4;
/// Size of `struct nlmsghdr`, bytes.
const HEADER: usize = 16;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_ALL: u16 = 0x301;

/// Returns the request for a list, with the body of its message.
pub(crate) fn dump_request(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER + body.len()) as u32;
    let (sequence, port) = (1u32, 0u32);
    [
        &length.to_ne_bytes()[..],
        &kind.to_ne_bytes(),
        &REQUEST_ALL.to_ne_bytes(),
        &sequence.to_ne_bytes(),
        &port.to_ne_bytes(),
        body,
    ]
    .concat()
}

/// Receives once into a buffer, in place of what it held. A signal does not end the wait: what is left of a list would
/// be taken for the next one.
pub(crate) fn receive(socket: &Socket, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    loop {
        match socket.recv(buffer, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

/// Iterates over the messages in a buffer. Yields the kind of each and the bytes after its header.
pub(crate) fn messages(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?);
        let body = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Iterates over the attributes in a buffer. Yields the kind of each, without its flags, and its value.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(ATTRIBUTE..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & KIND, value))
    })
}
