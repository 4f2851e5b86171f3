//! Lines over a TCP connection, each with a longest length and a deadline, whatever the other end does.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How often one who waits looks whether to go on.
const TICK: Duration = Duration::from_millis(50);

/// What is read in one call, bytes.
const READ: usize = 16 << 10;

/// Why there is no line.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The other end has closed, or was lost.
    Ended,
    /// The deadline came first.
    Late,
    /// Somebody asked to stop.
    Stopped,
    /// It is longer than this, bytes.
    TooLong(usize),
    /// It is not what may stand here.
    Nonsense(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the connection ended"),
            Self::Late => f.write_str("too slow"),
            Self::Stopped => f.write_str("interrupted"),
            Self::TooLong(most) => write!(f, "a line of more than {most} bytes"),
            Self::Nonsense(why) => write!(f, "not a message: {why}"),
        }
    }
}

/// How long one may wait: until an instant, or until somebody asks to stop.
#[derive(Clone, Copy)]
pub(super) struct Limit<'a> {
    until: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Limit<'a> {
    /// So long from now.
    pub(super) fn of(time: Duration, stop: &'a dyn Fn() -> bool) -> Self {
        Self { until: Instant::now() + time, stop }
    }

    /// How long the next call may take.
    fn tick(&self) -> Result<Duration, Trouble> {
        if (self.stop)() {
            return Err(Trouble::Stopped);
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Trouble::Late) } else { Ok(left.min(TICK)) }
    }
}

/// One end of a control connection. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    /// What has come and was not read yet: never more than the longest line and one read.
    buffer: Vec<u8>,
}

impl Wire {
    /// The end of a connection that is there.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// The connection.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads one message of at most so many bytes.
    pub(super) fn read<T: DeserializeOwned>(
        &mut self,
        most: usize,
        limit: &Limit<'_>,
    ) -> Result<T, Trouble> {
        let mut searched = 0;
        loop {
            let new = &self.buffer[searched..];
            if let Some(at) = new.iter().position(|&byte| byte == b'\n') {
                return self.take(searched + at, most);
            }
            searched = self.buffer.len();
            if searched > most {
                return Err(Trouble::TooLong(most));
            }
            self.receive(limit)?;
        }
    }

    /// The message that ends here, taken off the buffer.
    fn take<T: DeserializeOwned>(&mut self, end: usize, most: usize) -> Result<T, Trouble> {
        if end > most {
            return Err(Trouble::TooLong(most));
        }
        let message = serde_json::from_slice(&self.buffer[..end])
            .map_err(|error| Trouble::Nonsense(error.to_string()));
        self.buffer.drain(..=end);
        // What a long report took is not kept for the next short line.
        self.buffer.shrink_to(READ);
        message
    }

    /// Waits for more.
    fn receive(&mut self, limit: &Limit<'_>) -> Result<(), Trouble> {
        let mut chunk = [0; READ];
        loop {
            let tick = limit.tick()?;
            self.stream.set_read_timeout(Some(tick)).map_err(|_| Trouble::Ended)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Trouble::Ended),
                Ok(bytes) => {
                    self.buffer.extend_from_slice(&chunk[..bytes]);
                    return Ok(());
                }
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Trouble::Ended),
            }
        }
    }

    /// Writes one message.
    pub(super) fn write(
        &mut self,
        message: &impl Serialize,
        limit: &Limit<'_>,
    ) -> Result<(), Trouble> {
        let mut line =
            serde_json::to_vec(message).map_err(|error| Trouble::Nonsense(error.to_string()))?;
        line.push(b'\n');
        let mut left = line.as_slice();
        while !left.is_empty() {
            let tick = limit.tick()?;
            self.stream.set_write_timeout(Some(tick)).map_err(|_| Trouble::Ended)?;
            match self.stream.write(left) {
                Ok(bytes) => left = &left[bytes..],
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Trouble::Ended),
            }
        }
        Ok(())
    }

    /// Whether the other end has said something, or has gone, while nobody was waiting for it.
    pub(super) fn is_stirring(&self) -> bool {
        let look = || {
            self.stream.set_nonblocking(true)?;
            let seen = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            seen
        };
        !self.buffer.is_empty() || !matches!(look(), Err(error) if is_passing(&error))
    }

    /// Closes for good; what the other end still says is thrown away for a moment, so that it gets the last answer
    /// and no reset (RFC 9293, 3.10.4: closing with unread data resets).
    pub(super) fn part(mut self, limit: &Limit<'_>) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.buffer = Vec::new();
        let mut bytes = 0;
        while bytes < READ && self.receive(limit).is_ok() {
            bytes += self.buffer.len();
            self.buffer.clear();
        }
    }
}

/// Whether the next call may well succeed: time for a look around, or a signal.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use tare_dev::eventually;

    pub(in crate::probe) const NEVER: &dyn Fn() -> bool = &|| false;

    /// Both ends of a connection.
    pub(in crate::probe) fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Limit of what cannot come.
    fn brief() -> Limit<'static> {
        Limit::of(Duration::from_millis(5), NEVER)
    }

    /// Limit of what comes.
    fn patient() -> Limit<'static> {
        Limit::of(Duration::from_secs(240), NEVER)
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let (mut client, server) = pair();
        let mut wire = Wire::new(server).unwrap();
        for byte in b"[1,\r 2]" {
            client.write_all(&[*byte]).unwrap();
            // Every byte is read alone: the line is not whole yet.
            eventually("the byte is read", || {
                let before = wire.buffer.len();
                assert!(matches!(wire.read::<Vec<u32>>(100, &brief()), Err(Trouble::Late)));
                wire.buffer.len() > before
            });
        }
        client.write_all(b"\n\"x\"\n7").unwrap();
        drop(client);
        assert_eq!(wire.read::<Vec<u32>>(100, &patient()).unwrap(), [1, 2]);
        assert_eq!(wire.read::<String>(100, &patient()).unwrap(), "x");
        assert!(matches!(wire.read::<u32>(100, &patient()), Err(Trouble::Ended)), "a torn line");
    }

    #[test]
    fn who_says_nothing_or_too_little_is_late() {
        let (mut client, server) = pair();
        let mut wire = Wire::new(server).unwrap();
        assert!(matches!(wire.read::<u32>(100, &brief()), Err(Trouble::Late)));
        client.write_all(b"12").unwrap();
        assert!(matches!(wire.read::<u32>(100, &brief()), Err(Trouble::Late)));
        assert!(matches!(
            wire.read::<u32>(100, &Limit { stop: &|| true, ..patient() }),
            Err(Trouble::Stopped)
        ));
        client.write_all(b"3\n").unwrap();
        assert_eq!(wire.read::<u32>(100, &patient()).unwrap(), 123, "nothing was lost meanwhile");
    }

    #[test]
    fn an_endless_line_is_refused_before_it_takes_memory() {
        let (mut client, server) = pair();
        let mut wire = Wire::new(server).unwrap();
        let writer = thread::spawn(move || while client.write_all(&[b'x'; 1 << 16]).is_ok() {});
        assert!(matches!(wire.read::<String>(1000, &patient()), Err(Trouble::TooLong(1000))));
        assert!(wire.buffer.len() <= 1000 + READ);
        drop(wire);
        writer.join().unwrap();
    }

    #[test]
    fn who_does_not_read_is_late() {
        let (client, server) = pair();
        let mut wire = Wire::new(server).unwrap();
        let much = "x".repeat(64 << 20);
        assert!(matches!(wire.write(&much, &brief()), Err(Trouble::Late)));
        drop(client);
        assert!(matches!(wire.write(&much, &patient()), Err(Trouble::Ended)));
    }

    #[test]
    fn a_word_out_of_turn_and_an_end_are_noticed() {
        let (mut client, server) = pair();
        let wire = Wire::new(server).unwrap();
        assert!(!wire.is_stirring());
        client.write_all(b"x").unwrap();
        eventually("the word is noticed", || wire.is_stirring());
        let (client, server) = pair();
        let wire = Wire::new(server).unwrap();
        drop(client);
        eventually("the end is noticed", || wire.is_stirring());
    }
}
