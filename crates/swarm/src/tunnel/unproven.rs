//! Connections to the tunnel server that have not proved the secret: a bounded number, each with one deadline.
//!
//! Anything on the overlay network can connect. When there are too many the oldest is closed: a task proves itself
//! within two round trips, and tries again where that failed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most connections that have not proved the secret.
const CAPACITY: usize = 64;

/// Connections that have not proved the secret, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnprovenConnections(Mutex<UnprovenQueue>);

#[derive(Debug, Default)]
struct UnprovenQueue {
    queue: VecDeque<(u64, TcpStream)>,
    next_number: u64,
}

/// Place of a connection among those that have not proved the secret. Dropping it frees the place.
#[derive(Debug)]
pub(super) struct UnprovenPlace {
    connections: Arc<UnprovenConnections>,
    number: u64,
}

impl UnprovenConnections {
    fn lock(&self) -> MutexGuard<'_, UnprovenQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. If there are too many, the oldest is shut down.
    pub(super) fn push(self: &Arc<Self>, stream: &TcpStream) -> io::Result<UnprovenPlace> {
        let stream = stream.try_clone()?;
        let mut all = self.lock();
        if all.queue.len() >= CAPACITY
            && let Some((_, oldest)) = all.queue.pop_front()
        {
            // Its thread reads the end of the stream and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = all.next_number;
        all.next_number += 1;
        all.queue.push_back((number, stream));
        Ok(UnprovenPlace { connections: Arc::clone(self), number })
    }
}

impl Drop for UnprovenPlace {
    fn drop(&mut self) {
        self.connections.lock().queue.retain(|(number, _)| *number != self.number);
    }
}

/// Connection whose reads end at one deadline, however little each of them brings.
#[derive(Debug)]
pub(super) struct TimedStream<'s> {
    stream: &'s TcpStream,
    until: Instant,
}

impl<'s> TimedStream<'s> {
    /// Creates a stream whose reads all end after this time.
    pub(super) fn new(stream: &'s TcpStream, time: Duration) -> Self {
        Self { stream, until: Instant::now() + time }
    }
}

impl Read for TimedStream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(bytes)
    }
}

impl Write for TimedStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn the_oldest_connection_makes_room() {
        let connections = Arc::new(UnprovenConnections::default());
        let held: Vec<(TcpStream, TcpStream, UnprovenPlace)> = (0..=CAPACITY)
            .map(|_| {
                let (client, server) = pair();
                let place = connections.push(&server).unwrap();
                (client, server, place)
            })
            .collect();
        assert_eq!((&held[0].0).read(&mut [0]).unwrap(), 0, "the oldest is closed");
        assert_eq!(connections.lock().queue.len(), CAPACITY);
        drop(held);
        assert_eq!(connections.lock().queue.len(), 0);
    }

    #[test]
    fn bytes_do_not_prolong_the_time() {
        let (mut client, server) = pair();
        client.write_all(b"ab").unwrap();
        let mut timed = TimedStream::new(&server, Duration::from_secs(240));
        assert_eq!(timed.read(&mut [0]).unwrap(), 1);
        timed.until = Instant::now();
        assert_eq!(timed.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
