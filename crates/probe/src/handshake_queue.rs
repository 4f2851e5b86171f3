//! Bounded queue of connections that have not proved the token. When it is full, the oldest is closed.
//!
//! A real client completes the handshake in two round trips. A connection that only occupies a slot loses it when
//! others arrive.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of connections in the handshake.
pub(crate) const CAPACITY: usize = 64;

/// Queue of connections in the handshake.
#[derive(Debug, Default)]
pub(crate) struct HandshakeQueue(Mutex<QueuedConnections>);

#[derive(Debug, Default)]
struct QueuedConnections {
    /// Connections with their numbers, oldest first.
    queue: VecDeque<(u64, TcpStream)>,
    next_number: u64,
}

impl HandshakeQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection to the queue. When the queue is full, the oldest connection is shut down.
    pub(crate) fn push(self: &Arc<Self>, stream: &TcpStream) -> std::io::Result<QueueSlot> {
        let stream = stream.try_clone()?;
        let mut waiting = self.lock();
        if waiting.queue.len() >= CAPACITY
            && let Some((_, oldest)) = waiting.queue.pop_front()
        {
            // Its thread reads the end of the stream and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = waiting.next_number;
        waiting.next_number += 1;
        waiting.queue.push_back((number, stream));
        Ok(QueueSlot { queue: Arc::clone(self), number })
    }
}

/// Slot of a connection in the queue. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    queue: Arc<HandshakeQueue>,
    number: u64,
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.queue.lock().queue.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control_connection::tests::pair;
    use super::*;
    use std::io::{ErrorKind, Read as _};

    #[test]
    fn the_one_who_stands_there_longest_makes_room() {
        let door = Arc::new(HandshakeQueue::default());
        let mut all: Vec<(TcpStream, TcpStream, QueueSlot)> = (0..=CAPACITY)
            .map(|_| {
                let (client, server) = pair();
                let place = door.push(&server).unwrap();
                (client, server, place)
            })
            .collect();
        assert_eq!(all[0].0.read(&mut [0]).unwrap(), 0, "the first is cut off");
        for (client, ..) in &mut all[1..] {
            client.set_nonblocking(true).unwrap();
            let waits = client.read(&mut [0]).unwrap_err();
            assert_eq!(waits.kind(), ErrorKind::WouldBlock, "the others wait");
        }
        assert_eq!(door.lock().queue.len(), CAPACITY);
        all.clear();
        assert_eq!(door.lock().queue.len(), 0);
    }
}
