//! Where those wait who have not proved the token: only so many, and the one who has stood there longest makes room.
//!
//! Whoever means it is through in two round trips; whoever only holds a place loses it when others come.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many may wait.
pub(super) const MOST: usize = 64;

/// The door.
#[derive(Debug, Default)]
pub(super) struct Door(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// In the order in which they came.
    queue: VecDeque<(u64, TcpStream)>,
    next: u64,
}

impl Door {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for this connection; where all are taken, the oldest is cut off.
    pub(super) fn enter(self: &Arc<Self>, stream: &TcpStream) -> std::io::Result<Place> {
        let stream = stream.try_clone()?;
        let mut waiting = self.waiting();
        if waiting.queue.len() >= MOST
            && let Some((_, oldest)) = waiting.queue.pop_front()
        {
            // Its thread sees the end, and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.queue.push_back((number, stream));
        Ok(Place { door: Arc::clone(self), number })
    }
}

/// A place at the door, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    door: Arc<Door>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door.waiting().queue.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::tests::pair;
    use super::*;
    use std::io::{ErrorKind, Read as _};

    #[test]
    fn the_one_who_stands_there_longest_makes_room() {
        let door = Arc::new(Door::default());
        let mut all: Vec<(TcpStream, TcpStream, Place)> = (0..=MOST)
            .map(|_| {
                let (client, server) = pair();
                let place = door.enter(&server).unwrap();
                (client, server, place)
            })
            .collect();
        assert_eq!(all[0].0.read(&mut [0]).unwrap(), 0, "the first is cut off");
        for (client, ..) in &mut all[1..] {
            client.set_nonblocking(true).unwrap();
            let waits = client.read(&mut [0]).unwrap_err();
            assert_eq!(waits.kind(), ErrorKind::WouldBlock, "the others wait");
        }
        assert_eq!(door.waiting().queue.len(), MOST);
        all.clear();
        assert_eq!(door.waiting().queue.len(), 0);
    }
}
