//! Control connection: JSON lines over TCP, each with a maximum length and a deadline, whatever the other end does.

use crate::line_limit::LineLimit;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Period at which a waiting call checks its limit.
const TICK: Duration = Duration::from_millis(50);

/// Size of one read, bytes.
const READ_SIZE: usize = 16 << 10;

/// Reason for which no message was read or written.
#[derive(Debug)]
pub(crate) enum ControlError {
    /// The other end has closed the connection, or the connection was lost.
    Closed,
    /// The deadline passed.
    TimedOut,
    /// The caller asked to stop.
    Stopped,
    /// The line is longer than this, bytes.
    TooLong(usize),
    /// The line has more JSON values than this.
    TooManyValues(usize),
    /// The line is not a valid message.
    Malformed(String),
    /// The message does not come at its turn. This one would.
    OutOfTurn(&'static str),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the connection"),
            Self::TimedOut => f.write_str("the peer was too slow to send or take a message"),
            Self::Stopped => f.write_str("interrupted"),
            Self::TooLong(most) => write!(f, "the line is longer than {most} bytes"),
            Self::TooManyValues(most) => write!(f, "the line has more than {most} values"),
            Self::Malformed(why) => write!(f, "the line is not a valid message: {why}"),
            Self::OutOfTurn(expected) => {
                write!(f, "message out of turn: expected `{expected}`")
            }
        }
    }
}

/// Limit of a call that waits: a deadline, or a request to stop.
#[derive(Clone, Copy)]
pub(crate) struct WaitLimit<'a> {
    until: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> WaitLimit<'a> {
    /// Creates a limit that ends after `time`, or when `stop` returns true.
    pub(crate) fn new(time: Duration, stop: &'a dyn Fn() -> bool) -> Self {
        Self { until: Instant::now() + time, stop }
    }

    /// Returns the timeout of the next call that waits. Fails if the deadline has passed or the caller asked to stop.
    pub(crate) fn next_wait(&self) -> Result<Duration, ControlError> {
        if (self.stop)() {
            return Err(ControlError::Stopped);
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ControlError::TimedOut) } else { Ok(left.min(TICK)) }
    }
}

/// One end of a control connection. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct ControlConnection {
    stream: TcpStream,
    /// Bytes received and not parsed yet: never more than the longest line and one read.
    buffer: Vec<u8>,
}

impl ControlConnection {
    /// Wraps an established connection.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Returns the TCP connection.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads one message within these limits of its line.
    pub(crate) fn read<T: DeserializeOwned>(
        &mut self,
        most: impl Into<LineLimit>,
        limit: &WaitLimit<'_>,
    ) -> Result<T, ControlError> {
        let most = most.into();
        let mut searched = 0;
        loop {
            let new = &self.buffer[searched..];
            if let Some(at) = new.iter().position(|&byte| byte == b'\n') {
                return self.take_message(searched + at, most);
            }
            searched = self.buffer.len();
            if searched > most.bytes {
                return Err(ControlError::TooLong(most.bytes));
            }
            self.fill_buffer(limit)?;
        }
    }

    /// Removes the line that ends at `end` from the buffer and parses it.
    fn take_message<T: DeserializeOwned>(
        &mut self,
        end: usize,
        most: LineLimit,
    ) -> Result<T, ControlError> {
        if end > most.bytes {
            return Err(ControlError::TooLong(most.bytes));
        }
        if most.has_too_many_values(&self.buffer[..end]) {
            return Err(ControlError::TooManyValues(most.values));
        }
        let message = serde_json::from_slice(&self.buffer[..end])
            .map_err(|error| ControlError::Malformed(error.to_string()));
        self.buffer.drain(..=end);
        // The memory of a long report is not kept for the next short line.
        self.buffer.shrink_to(READ_SIZE);
        message
    }

    /// Waits for more bytes and appends them to the buffer.
    fn fill_buffer(&mut self, limit: &WaitLimit<'_>) -> Result<(), ControlError> {
        let mut chunk = [0; READ_SIZE];
        loop {
            let tick = limit.next_wait()?;
            self.stream.set_read_timeout(Some(tick)).map_err(|_| ControlError::Closed)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(bytes) => {
                    self.buffer.extend_from_slice(&chunk[..bytes]);
                    return Ok(());
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => return Err(ControlError::Closed),
            }
        }
    }

    /// Writes one message.
    pub(crate) fn write(
        &mut self,
        message: &impl Serialize,
        limit: &WaitLimit<'_>,
    ) -> Result<(), ControlError> {
        let mut line = serde_json::to_vec(message)
            .map_err(|error| ControlError::Malformed(error.to_string()))?;
        line.push(b'\n');
        let mut left = line.as_slice();
        while !left.is_empty() {
            let tick = limit.next_wait()?;
            self.stream.set_write_timeout(Some(tick)).map_err(|_| ControlError::Closed)?;
            match self.stream.write(left) {
                Ok(bytes) => left = &left[bytes..],
                Err(error) if is_transient(&error) => {}
                Err(_) => return Err(ControlError::Closed),
            }
        }
        Ok(())
    }

    /// Returns whether the other end has sent something, or has closed, while no call was reading.
    pub(crate) fn has_input(&self) -> bool {
        let look = || {
            self.stream.set_nonblocking(true)?;
            let seen = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            seen
        };
        !self.buffer.is_empty() || !matches!(look(), Err(error) if is_transient(&error))
    }

    /// Closes the connection. Discards what the other end still sends for a moment, so that it receives the last answer
    /// and no reset (RFC 9293, 3.10.4: closing with unread data resets).
    pub(crate) fn close(mut self, limit: &WaitLimit<'_>) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.buffer = Vec::new();
        let mut bytes = 0;
        while bytes < READ_SIZE && self.fill_buffer(limit).is_ok() {
            bytes += self.buffer.len();
            self.buffer.clear();
        }
    }
}

/// Returns whether the next call may succeed: the timeout of a tick passed, or a signal interrupted the call.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use tare_dev::eventually;

    pub(crate) const NEVER: &dyn Fn() -> bool = &|| false;

    /// Returns both ends of a connection.
    pub(crate) fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Returns a limit for a message that cannot come.
    fn brief() -> WaitLimit<'static> {
        WaitLimit::new(Duration::from_millis(5), NEVER)
    }

    /// Returns a limit for a message that comes.
    fn patient() -> WaitLimit<'static> {
        WaitLimit::new(Duration::from_secs(240), NEVER)
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let (mut client, server) = pair();
        let mut wire = ControlConnection::new(server).unwrap();
        for byte in b"[1,\r 2]" {
            client.write_all(&[*byte]).unwrap();
            // Every byte is read alone: the line is not complete yet.
            eventually("the byte is read", || {
                let before = wire.buffer.len();
                assert!(matches!(
                    wire.read::<Vec<u32>>(100, &brief()),
                    Err(ControlError::TimedOut)
                ));
                wire.buffer.len() > before
            });
        }
        client.write_all(b"\n\"x\"\n7").unwrap();
        drop(client);
        assert_eq!(wire.read::<Vec<u32>>(100, &patient()).unwrap(), [1, 2]);
        assert_eq!(wire.read::<String>(100, &patient()).unwrap(), "x");
        assert!(
            matches!(wire.read::<u32>(100, &patient()), Err(ControlError::Closed)),
            "a torn line"
        );
    }

    #[test]
    fn who_says_nothing_or_too_little_is_late() {
        let (mut client, server) = pair();
        let mut wire = ControlConnection::new(server).unwrap();
        assert!(matches!(wire.read::<u32>(100, &brief()), Err(ControlError::TimedOut)));
        client.write_all(b"12").unwrap();
        assert!(matches!(wire.read::<u32>(100, &brief()), Err(ControlError::TimedOut)));
        assert!(matches!(
            wire.read::<u32>(100, &WaitLimit { stop: &|| true, ..patient() }),
            Err(ControlError::Stopped)
        ));
        client.write_all(b"3\n").unwrap();
        assert_eq!(wire.read::<u32>(100, &patient()).unwrap(), 123, "nothing was lost meanwhile");
    }

    #[test]
    fn an_endless_line_is_refused_before_it_takes_memory() {
        let (mut client, server) = pair();
        let mut wire = ControlConnection::new(server).unwrap();
        let writer = thread::spawn(move || while client.write_all(&[b'x'; 1 << 16]).is_ok() {});
        assert!(matches!(wire.read::<String>(1000, &patient()), Err(ControlError::TooLong(1000))));
        assert!(wire.buffer.len() <= 1000 + READ_SIZE);
        drop(wire);
        writer.join().unwrap();
    }

    #[test]
    fn who_does_not_read_is_late() {
        let (client, server) = pair();
        let mut wire = ControlConnection::new(server).unwrap();
        let much = "x".repeat(64 << 20);
        assert!(matches!(wire.write(&much, &brief()), Err(ControlError::TimedOut)));
        drop(client);
        assert!(matches!(wire.write(&much, &patient()), Err(ControlError::Closed)));
    }

    #[test]
    fn a_word_out_of_turn_and_an_end_are_noticed() {
        let (mut client, server) = pair();
        let wire = ControlConnection::new(server).unwrap();
        assert!(!wire.has_input());
        client.write_all(b"x").unwrap();
        eventually("the word is noticed", || wire.has_input());
        let (client, server) = pair();
        let wire = ControlConnection::new(server).unwrap();
        drop(client);
        eventually("the end is noticed", || wire.has_input());
    }
}
