//! Queue of ready sockets (epoll(7)), which every loop over several sockets waits for.

use crate::sys::enable_epoll_busy_poll;
use crate::wait_mode::timespec;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Epoll instance. Each socket in it has a key that the caller chose.
#[derive(Debug)]
pub(crate) struct ReadyQueue(OwnedFd);

/// Ready sockets of one wait. They stay with the thread that waits.
pub(crate) struct ReadySockets(Vec<Event>);

impl ReadySockets {
    /// Returns room for at most `batch` ready sockets.
    pub(crate) fn with_room_for(batch: usize) -> Self {
        Self(Vec::with_capacity(batch.max(1)))
    }

    /// Returns the number of ready sockets.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the keys of the ready sockets.
    pub(crate) fn keys(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|event| event.data.u64() as usize)
    }
}

impl ReadyQueue {
    /// Creates a queue without sockets.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Makes waits poll the devices' queues of the sockets (Linux 6.9).
    pub(crate) fn enable_busy_poll(&self) -> io::Result<()> {
        enable_epoll_busy_poll(&self.0)
    }

    /// Adds a socket, and the events that it waits for.
    pub(crate) fn add(&self, socket: impl AsFd, key: usize, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.0, socket, EventData::new_u64(key as u64), flags)?)
    }

    /// Changes the events that a socket of the queue waits for.
    pub(crate) fn modify(
        &self,
        socket: impl AsFd,
        key: usize,
        flags: EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::modify(&self.0, socket, EventData::new_u64(key as u64), flags)?)
    }

    /// Removes a socket.
    pub(crate) fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.0, socket)?)
    }

    /// Makes a socket wait for `flags`, and for nothing else. `watched` holds the events that it has waited for so far;
    /// it is empty for a socket that is not in the queue yet.
    pub(crate) fn watch(
        &self,
        socket: impl AsFd,
        key: usize,
        watched: &mut EventFlags,
        flags: EventFlags,
    ) -> io::Result<()> {
        if watched.is_empty() {
            self.add(socket, key, flags)?;
        } else if *watched != flags {
            self.modify(socket, key, flags)?;
        }
        *watched = flags;
        Ok(())
    }

    /// Waits at most this long, ns; a signal ends the wait early. Afterwards `ready` holds the sockets whose event has
    /// occurred, as many as there is room for.
    pub(crate) fn wait(&self, nanos: u64, ready: &mut ReadySockets) -> io::Result<()> {
        let ReadySockets(events) = ready;
        events.clear();
        match epoll::wait(&self.0, spare_capacity(events), Some(&timespec(nanos))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_is_ready_for_what_it_waits_for() {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let queue = ReadyQueue::new().unwrap();
        let (mut watched, mut ready) = (EventFlags::empty(), ReadySockets::with_room_for(4));
        queue.watch(&one, 7, &mut watched, EventFlags::IN).unwrap();
        queue.wait(0, &mut ready).unwrap();
        assert_eq!(ready.len(), 0, "nothing has arrived");
        other.write_all(b"x").unwrap();
        queue.wait(u64::MAX >> 8, &mut ready).unwrap();
        assert!(ready.keys().eq([7]));
        one.read_exact(&mut [0]).unwrap();
        queue.watch(&one, 7, &mut watched, EventFlags::OUT).unwrap();
        queue.wait(u64::MAX >> 8, &mut ready).unwrap();
        assert!(ready.keys().eq([7]) && watched == EventFlags::OUT);
        queue.remove(&one).unwrap();
        queue.wait(0, &mut ready).unwrap();
        assert_eq!(ready.len(), 0, "it is in the queue no longer");
    }

    #[test]
    fn one_wait_returns_no_more_than_a_batch() {
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let (queue, mut ready) = (ReadyQueue::new().unwrap(), ReadySockets::with_room_for(2));
        for (key, (one, _)) in pairs.iter().enumerate() {
            queue.add(one, key, EventFlags::OUT).unwrap();
        }
        queue.wait(0, &mut ready).unwrap();
        assert_eq!(ready.len(), 2);
    }
}
