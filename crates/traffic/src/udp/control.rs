//! The conversation beside the datagrams: a TCP connection from each client process to each address, on the port of the
//! same number, which begins with the greeting of every flow over TCP.
//!
//! | message | from | what |
//! |---|---|---|
//! | flows | client | so many flows shall come |
//! | first | server | they are numbered from this one on |
//! | known | server | a datagram that announces this flow has come |
//! | begin | client | a trial of this number begins, in a session of several |
//! | ready | server | and everything that comes from now on counts |
//! | sent | client | so many datagrams were sent on this flow, and no more |
//! | received | server | so many of them came, each once, and so many found the socket's buffer full |
//!
//! A message is 16 bytes: which, a number of four bytes, a number of eight, the most significant byte first.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// So many flows shall come.
    Flows(u32),
    /// They are numbered from this one on.
    First(u32),
    /// A datagram that announces this flow has come.
    Known(u32),
    /// A trial of this number begins.
    Begin(u32),
    /// Everything of this trial that comes from now on counts.
    Ready(u32),
    /// All that was sent on a flow.
    Sent {
        /// Which.
        flow: u32,
        /// How many datagrams.
        datagrams: u64,
    },
    /// What came of it, over all flows.
    Received {
        /// Datagrams that found the socket's buffer full.
        dropped: u32,
        /// Datagrams, each once.
        datagrams: u64,
    },
}

const LENGTH: usize = 16;

impl Message {
    fn write(self) -> [u8; LENGTH] {
        let (kind, small, large): (u32, u32, u64) = match self {
            Self::Flows(count) => (1, count, 0),
            Self::First(flow) => (2, flow, 0),
            Self::Known(flow) => (3, flow, 0),
            Self::Begin(trial) => (4, trial, 0),
            Self::Ready(trial) => (5, trial, 0),
            Self::Sent { flow, datagrams } => (6, flow, datagrams),
            Self::Received { dropped, datagrams } => (7, dropped, datagrams),
        };
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&kind.to_be_bytes());
        bytes[4..8].copy_from_slice(&small.to_be_bytes());
        bytes[8..].copy_from_slice(&large.to_be_bytes());
        bytes
    }

    fn read(bytes: &[u8; LENGTH]) -> Option<Self> {
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
            7 => Self::Received { dropped: small, datagrams: large },
            _ => return None,
        })
    }
}

/// One end of a conversation, after the greeting.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    /// A message of which some has come.
    partial: [u8; LENGTH],
    filled: usize,
}

impl Link {
    /// The conversation over this connection.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, partial: [0; LENGTH], filled: 0 })
    }

    /// Its connection.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says something.
    pub(crate) fn tell(&self, message: Message) -> io::Result<()> {
        (&self.stream).write_all(&message.write())
    }

    /// What the other end says, waited for so long at most; nothing where it says nothing meanwhile.
    pub(crate) fn hear(&mut self, limit: Duration) -> io::Result<Option<Message>> {
        self.stream.set_read_timeout(Some(limit))?;
        loop {
            match (&self.stream).read(&mut self.partial[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.filled == LENGTH {
                self.filled = 0;
                return Message::read(&self.partial).map(Some).ok_or_else(out_of_turn);
            }
        }
    }
}

/// The error of hearing what makes no sense now.
pub(crate) fn out_of_turn() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the other end said something else than what it was asked",
    )
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
        let mut link = Link::new(listener.accept().unwrap().0).unwrap();
        let said = Message::Sent { flow: 7, datagrams: u64::MAX - 1 };
        let bytes = said.write();
        speaker.write_all(&bytes[..5]).unwrap();
        assert_eq!(link.hear(SOON).unwrap(), None);
        speaker.write_all(&bytes[5..]).unwrap();
        assert_eq!(link.hear(PATIENT).unwrap(), Some(said));
        speaker.write_all(&[0; LENGTH]).unwrap();
        assert!(link.hear(PATIENT).is_err(), "nonsense");
        drop(speaker);
        assert_eq!(link.hear(PATIENT).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(bytes in prop::array::uniform16(any::<u8>()), kind in 0u8..9) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(&[0, 0, 0, kind]);
            match Message::read(&bytes) {
                Some(message) => prop_assert_eq!(Message::read(&message.write()), Some(message)),
                None => prop_assert!(!(1..=7).contains(&kind)),
            }
        }
    }
}
