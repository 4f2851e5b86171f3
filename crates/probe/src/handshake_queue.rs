//! Bounded queue of connections that have not proved the token. When it is full, a new connection takes the slot of
//! another one of the address range that holds the most.
//!
//! A real client completes the handshake in two round trips. A flood comes from few address ranges, and so takes slots
//! from itself. Within the range, the slot is taken from a connection that has said nothing yet, else from one chosen
//! at random: a flood can then delay a client of its own range, but not foresee when to come to lock it out.

use crate::address_range::{machine_range, site_range};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of connections in the handshake.
pub(crate) const CAPACITY: usize = 64;

/// Queue of connections in the handshake.
#[derive(Debug, Default)]
pub(crate) struct HandshakeQueue(Mutex<QueuedConnections>);

#[derive(Debug, Default)]
struct QueuedConnections {
    /// Connections, oldest first.
    queue: VecDeque<QueuedConnection>,
    next_number: u64,
}

#[derive(Debug)]
struct QueuedConnection {
    number: u64,
    peer: IpAddr,
    stream: TcpStream,
    /// True once the client has introduced itself.
    has_greeted: bool,
}

impl HandshakeQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection of this client to the queue. When the queue is full, another connection is shut down.
    pub(crate) fn push(
        self: &Arc<Self>,
        stream: &TcpStream,
        peer: IpAddr,
    ) -> std::io::Result<QueueSlot> {
        let stream = stream.try_clone()?;
        let mut waiting = self.lock();
        if waiting.queue.len() >= CAPACITY {
            let evicted = waiting.evictable().and_then(|index| waiting.queue.remove(index));
            if let Some(evicted) = evicted {
                // Its thread reads the end of the stream and ends.
                let _ = evicted.stream.shutdown(Shutdown::Both);
            }
        }
        let number = waiting.next_number;
        waiting.next_number += 1;
        waiting.queue.push_back(QueuedConnection { number, peer, stream, has_greeted: false });
        Ok(QueueSlot { queue: Arc::clone(self), number })
    }
}

impl QueuedConnections {
    /// Returns the index of the connection whose slot the next one takes. Returns `None` if the queue is empty.
    fn evictable(&self) -> Option<usize> {
        let all = (0..self.queue.len()).collect();
        let of_site = self.largest_group(all, |one| site_range(one.peer));
        let of_machine = self.largest_group(of_site, |one| machine_range(one.peer));
        let silent: Vec<usize> =
            of_machine.iter().copied().filter(|&index| !self.queue[index].has_greeted).collect();
        choose_at_random(if silent.is_empty() { &of_machine } else { &silent })
    }

    /// Returns those of the connections that form the largest group by a key.
    fn largest_group<K: Ord>(
        &self,
        indices: Vec<usize>,
        key: impl Fn(&QueuedConnection) -> K,
    ) -> Vec<usize> {
        let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for index in indices {
            groups.entry(key(&self.queue[index])).or_default().push(index);
        }
        groups.into_values().max_by_key(Vec::len).unwrap_or_default()
    }
}

/// Returns one of the numbers, chosen by the kernel's random bits; the first one where there are none.
fn choose_at_random(numbers: &[usize]) -> Option<usize> {
    let random = tare_secret::random_bytes().map_or(0, u64::from_ne_bytes);
    let index = random.checked_rem(numbers.len() as u64)?;
    numbers.get(index as usize).copied()
}

/// Slot of a connection in the queue. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    queue: Arc<HandshakeQueue>,
    number: u64,
}

impl QueueSlot {
    /// Notes that the client has introduced itself.
    pub(crate) fn note_greeting(&self) {
        let mut waiting = self.queue.lock();
        if let Some(own) = waiting.queue.iter_mut().find(|one| one.number == self.number) {
            own.has_greeted = true;
        }
    }

    /// Returns true once another connection has taken the slot.
    pub(crate) fn is_evicted(&self) -> bool {
        self.queue.lock().queue.iter().all(|one| one.number != self.number)
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.queue.lock().queue.retain(|one| one.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control_connection::tests::pair;
    use super::*;
    use std::io::{ErrorKind, Read as _};

    /// Connection in the queue, as the test holds it.
    struct Guest {
        client: TcpStream,
        _server: TcpStream,
        slot: QueueSlot,
    }

    impl Guest {
        fn arrive(queue: &Arc<HandshakeQueue>, peer: [u8; 4]) -> Self {
            let (client, server) = pair();
            let slot = queue.push(&server, peer.into()).unwrap();
            Self { client, _server: server, slot }
        }

        fn is_evicted(&self) -> bool {
            self.client.set_nonblocking(true).unwrap();
            match (&self.client).read(&mut [0]) {
                Ok(0) => true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => false,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_flood_takes_slots_from_its_own_range() {
        let queue = Arc::new(HandshakeQueue::default());
        let client = Guest::arrive(&queue, [192, 0, 2, 1]);
        let neighbour = Guest::arrive(&queue, [198, 51, 100, 7]);
        let flood: Vec<Guest> = (0..5 * CAPACITY)
            .map(|index| Guest::arrive(&queue, [198, 51, 100, 100 + (index % 2) as u8]))
            .collect();
        assert!(!client.is_evicted(), "a client of another range keeps its slot");
        assert!(!neighbour.is_evicted(), "another machine of the range keeps its slot");
        let left = flood.iter().filter(|guest| !guest.is_evicted()).count();
        assert_eq!((left, queue.lock().queue.len()), (CAPACITY - 2, CAPACITY));
        drop((client, neighbour, flood));
        assert_eq!(queue.lock().queue.len(), 0);
    }

    #[test]
    fn of_one_machine_the_silent_connections_make_room() {
        let queue = Arc::new(HandshakeQueue::default());
        let peer = [192, 0, 2, 1];
        let greeted: Vec<Guest> = (0..CAPACITY / 2)
            .map(|_| {
                let guest = Guest::arrive(&queue, peer);
                guest.slot.note_greeting();
                guest
            })
            .collect();
        let flood: Vec<Guest> = (0..2 * CAPACITY).map(|_| Guest::arrive(&queue, peer)).collect();
        assert!(!greeted.iter().any(Guest::is_evicted));
        drop(flood);
    }

    #[test]
    fn a_new_connection_always_has_a_slot() {
        let queue = Arc::new(HandshakeQueue::default());
        let mut before: Vec<Guest> = Vec::new();
        for _ in 0..3 * CAPACITY {
            let guest = Guest::arrive(&queue, [192, 0, 2, 1]);
            assert!(!guest.is_evicted());
            guest.slot.note_greeting();
            before.push(guest);
        }
    }
}
