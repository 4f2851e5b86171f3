//! Connections to a trial's server that have not greeted yet.
//!
//! Anyone can connect to the port of a trial. All connections are read together, each within a time of its own, so that
//! strangers who say nothing, or one byte at a time, delay no client.

use super::greeting::{AcceptedFlow, GREETING_LENGTH, GREETING_TIMEOUT, Greeting};
use crate::TrialTask;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Instant;

/// Most connections that have not greeted. For another one the oldest is closed.
const CAPACITY: usize = 1024;

/// Connections that have not greeted yet, oldest first.
#[derive(Debug)]
pub(crate) struct GreetingQueue<'t> {
    task: &'t TrialTask,
    waiting: VecDeque<UngreetedConnection>,
}

#[derive(Debug)]
struct UngreetedConnection {
    stream: TcpStream,
    bytes: [u8; GREETING_LENGTH],
    filled: usize,
    until: Instant,
}

/// Progress of a connection.
enum GreetingProgress {
    /// The greeting is not complete.
    Waiting(UngreetedConnection),
    Greeted(AcceptedFlow),
    /// The connection does not belong to the trial, or is lost.
    Refused,
}

impl<'t> GreetingQueue<'t> {
    /// Creates a queue for the flows of a server's task.
    pub(crate) fn new(task: &'t TrialTask) -> Self {
        Self { task, waiting: VecDeque::new() }
    }

    /// Returns the sockets of all connections.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().map(|one| one.stream.as_fd())
    }

    /// Accepts all pending connections of a listener.
    pub(crate) fn accept_pending(&mut self, listener: &TcpListener) -> io::Result<()> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => self.push(stream, Instant::now() + GREETING_TIMEOUT)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_transient(&error) => {}
                // A stranger's connection makes room for others.
                Err(error) if is_exhausted(&error) && !self.waiting.is_empty() => {
                    self.waiting.pop_front();
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn push(&mut self, stream: TcpStream, until: Instant) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        if self.waiting.len() >= CAPACITY {
            self.waiting.pop_front();
        }
        let bytes = [0; GREETING_LENGTH];
        self.waiting.push_back(UngreetedConnection { stream, bytes, filled: 0, until });
        Ok(())
    }

    /// Reads from all connections. Returns those that have greeted as flows of the trial, and closes those that have
    /// not in time, or that greet as something else.
    pub(crate) fn take_greeted(&mut self) -> Vec<AcceptedFlow> {
        let (task, now) = (self.task, Instant::now());
        let mut greeted = Vec::new();
        for one in std::mem::take(&mut self.waiting) {
            match one.advance(task) {
                GreetingProgress::Waiting(one) if one.until > now => self.waiting.push_back(one),
                GreetingProgress::Waiting(_) | GreetingProgress::Refused => {}
                GreetingProgress::Greeted(flow) => greeted.push(flow),
            }
        }
        greeted
    }
}

impl UngreetedConnection {
    /// Reads as much of the greeting as has arrived. Answers it once it is complete.
    fn advance(mut self, task: &TrialTask) -> GreetingProgress {
        while self.filled < GREETING_LENGTH {
            match (&self.stream).read(&mut self.bytes[self.filled..]) {
                Ok(bytes @ 1..) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return GreetingProgress::Waiting(self);
                }
                Ok(_) | Err(_) => return GreetingProgress::Refused,
            }
        }
        let greeting = Greeting::parse(&self.bytes).filter(|greeting| greeting.is_of_trial(task));
        let flow = greeting.and_then(|greeting| greeting.acknowledge(self.stream).ok());
        flow.map_or(GreetingProgress::Refused, GreetingProgress::Greeted)
    }
}

/// Returns true for an error after which the next call may succeed: a signal, or a connection aborted by its client
/// (accept(2)).
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted};
    matches!(error.kind(), Interrupted | ConnectionAborted)
}

/// Returns true if the process or the machine has no descriptor or no memory left for a connection.
fn is_exhausted(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::super::greeting::FlowDirection;
    use super::super::greeting::send_greeting;
    use super::*;
    use crate::tcp::FlowOrigin;
    use std::io::Write as _;
    use std::net::Ipv4Addr;
    use std::thread;
    use tare_dev::eventually;

    fn task() -> TrialTask {
        TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()])
    }

    fn listener() -> TcpListener {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    }

    fn connect(listener: &TcpListener) -> TcpStream {
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    /// Accepts and reads until a flow has greeted.
    fn greeted(queue: &mut GreetingQueue<'_>, listener: &TcpListener) -> AcceptedFlow {
        let mut flow = None;
        eventually("a flow greets", || {
            queue.accept_pending(listener).unwrap();
            flow = flow.take().or(queue.take_greeted().pop());
            flow.is_some()
        });
        flow.unwrap()
    }

    #[test]
    fn dripping_strangers_delay_no_client() {
        let (task, listener) = (task(), listener());
        let mut queue = GreetingQueue::new(&task);
        let strangers: Vec<TcpStream> = (0..3).map(|_| connect(&listener)).collect();
        strangers.iter().for_each(|mut stranger| stranger.write_all(b"t").unwrap());
        eventually("the strangers are accepted", || {
            queue.accept_pending(&listener).unwrap();
            queue.waiting.len() == 3
        });
        let client = connect(&listener);
        let token = task.token;
        let origin = FlowOrigin::from_task(&task);
        let greeter =
            thread::spawn(move || send_greeting(&client, token, origin, FlowDirection::Up));
        assert_eq!(greeted(&mut queue, &listener).origin, origin);
        greeter.join().unwrap().unwrap();
        // Bytes that still come do not prolong a stranger's time.
        strangers.iter().for_each(|mut stranger| stranger.write_all(b"a").unwrap());
        queue.waiting.iter_mut().for_each(|one| one.until = Instant::now());
        assert!(queue.take_greeted().is_empty() && queue.waiting.is_empty());
    }

    #[test]
    fn the_number_of_connections_is_bounded() {
        let (task, listener) = (task(), listener());
        let mut queue = GreetingQueue::new(&task);
        let first = connect(&listener);
        eventually("the first is accepted", || {
            queue.accept_pending(&listener).unwrap();
            queue.waiting.len() == 1
        });
        let other = connect(&listener);
        let mut server = None;
        eventually("the other arrives", || {
            server = server.take().or_else(|| listener.accept().ok());
            server.is_some()
        });
        let server = server.unwrap().0;
        let until = Instant::now() + GREETING_TIMEOUT;
        for _ in 0..CAPACITY {
            queue.push(server.try_clone().unwrap(), until).unwrap();
        }
        assert_eq!(queue.waiting.len(), CAPACITY);
        assert_eq!((&first).read(&mut [0]).unwrap(), 0, "the oldest is closed");
        drop(other);
    }
}
