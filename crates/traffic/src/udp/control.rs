//! Control connection of a UDP workload: a TCP connection from each client process to each address, on the port of the
//! same number. It begins with the greeting of every flow over TCP.
//!
//! | message | from | content |
//! |---|---|---|
//! | flows | client | number of flows that the client opens |
//! | first | server | number of the first of them; the others follow |
//! | known | server | an announcement of this flow has arrived |
//! | begin | client | the trial of this number begins, in a session of several |
//! | ready | server | the trial has begun: everything that arrives from now on counts |
//! | sent | client | number of datagrams sent on this flow; no more follow |
//! | received | server | number of datagrams received, each once, and number that found the socket's buffer full |
//!
//! A message has 16 bytes: its kind and a number in four bytes each, and a number in eight bytes, the most significant
//! byte first.

use crate::tcp::PatientReader;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Message of the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UdpControlMessage {
    /// Number of flows that the client opens.
    Flows(u32),
    /// Number of the first of these flows. The others follow.
    First(u32),
    /// Number of a flow whose announcement has arrived.
    Known(u32),
    /// Number of a trial that begins.
    Begin(u32),
    /// Number of a trial whose datagrams count from now on.
    Ready(u32),
    /// Number of datagrams sent on a flow, at its end.
    Sent {
        /// Number of the flow.
        flow: u32,
        /// Number of datagrams.
        datagrams: u64,
    },
    /// Number of datagrams received, over all flows.
    Received {
        /// Datagrams received that were still queued on the path when their sender ended.
        late: u32,
        /// Datagrams received, each once.
        datagrams: u64,
    },
}

const LENGTH: usize = 16;

impl UdpControlMessage {
    fn to_bytes(self) -> [u8; LENGTH] {
        let (kind, small, large): (u32, u32, u64) = match self {
            Self::Flows(count) => (1, count, 0),
            Self::First(flow) => (2, flow, 0),
            Self::Known(flow) => (3, flow, 0),
            Self::Begin(trial) => (4, trial, 0),
            Self::Ready(trial) => (5, trial, 0),
            Self::Sent { flow, datagrams } => (6, flow, datagrams),
            Self::Received { late, datagrams } => (7, late, datagrams),
        };
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&kind.to_be_bytes());
        bytes[4..8].copy_from_slice(&small.to_be_bytes());
        bytes[8..].copy_from_slice(&large.to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let [kind, small, high, low] =
            [words[0], words[1], words[2], words[3]].map(u32::from_be_bytes);
        let large = u64::from(high) << 32 | u64::from(low);
        Some(match kind {
            1 => Self::Flows(small),
            2 => Self::First(small),
            3 => Self::Known(small),
            4 => Self::Begin(small),
            5 => Self::Ready(small),
            6 => Self::Sent { flow: small, datagrams: large },
            7 => Self::Received { late: small, datagrams: large },
            _ => return None,
        })
    }
}

/// One end of a control connection, after the greeting.
#[derive(Debug)]
pub(crate) struct UdpControlLink {
    stream: TcpStream,
    /// Bytes of a message that has not arrived completely.
    partial: [u8; LENGTH],
    filled: usize,
}

impl UdpControlLink {
    /// Wraps an established connection.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, partial: [0; LENGTH], filled: 0 })
    }

    /// Returns the TCP connection.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: UdpControlMessage) -> io::Result<()> {
        (&self.stream).write_all(&message.to_bytes())
    }

    /// Receives a message of the other end. Returns `None` if none has arrived completely within `limit`.
    pub(crate) fn receive(&mut self, limit: Duration) -> io::Result<Option<UdpControlMessage>> {
        self.stream.set_read_timeout(Some(limit))?;
        let mut reader = PatientReader::new(&self.stream, limit);
        loop {
            match reader.read(&mut self.partial[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.filled == LENGTH {
                self.filled = 0;
                return UdpControlMessage::from_bytes(&self.partial)
                    .map(Some)
                    .ok_or_else(unexpected_message);
            }
        }
    }
}

/// Returns the error for a message that is invalid or unexpected.
pub(crate) fn unexpected_message() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the peer sent an unexpected message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, TcpListener};

    const SOON: Duration = Duration::from_millis(10);
    const PATIENT: Duration = Duration::from_secs(240);

    #[test]
    fn what_comes_in_pieces_is_heard_whole() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut speaker = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut link = UdpControlLink::new(listener.accept().unwrap().0).unwrap();
        let said = UdpControlMessage::Sent { flow: 7, datagrams: u64::MAX - 1 };
        let bytes = said.to_bytes();
        speaker.write_all(&bytes[..5]).unwrap();
        assert_eq!(link.receive(SOON).unwrap(), None);
        speaker.write_all(&bytes[5..]).unwrap();
        assert_eq!(link.receive(PATIENT).unwrap(), Some(said));
        speaker.write_all(&[0; LENGTH]).unwrap();
        assert!(link.receive(PATIENT).is_err(), "nonsense");
        drop(speaker);
        assert_eq!(link.receive(PATIENT).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(bytes in prop::array::uniform16(any::<u8>()), kind in 0u8..9) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(&[0, 0, 0, kind]);
            match UdpControlMessage::from_bytes(&bytes) {
                Some(message) => prop_assert_eq!(UdpControlMessage::from_bytes(&message.to_bytes()), Some(message)),
                None => prop_assert!(!(1..=7).contains(&kind)),
            }
        }
    }
}
