//! A small HTTP server for tools that ask one: every request is answered with the same document.
//!
//! HTTP/1.1 (RFC 9112) as far as load generators speak it: requests without a body, one after another or pipelined on
//! connections that stay. A thread for each connection, for there are as many as flows.

use crate::parameters::size;
use crate::placement::{Cores, Role, pin};
use crate::sys::thread_usage;
use crate::{Error, Kind, Parameter, Report, Server, Task};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tare_record::Nanos;

/// The longest head of a request, bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// What ends a request's head.
const END: &[u8] = b"\r\n\r\n";

/// How large the document is that is asked for.
pub(crate) const SIZE: Parameter = Parameter {
    name: "response",
    summary: "bytes of the document that is asked for",
    kind: Kind::Bytes { least: 0, most: 16 << 20 },
    default: Some("1024"),
};

/// The server of a task of which [`SIZE`] is a parameter.
///
/// # Errors
/// When it cannot listen.
pub(crate) fn serve(task: &Task) -> Result<Box<dyn Server>, Error> {
    Ok(Box::new(Http::start(task, size(&task.parameters, SIZE.name)?)?))
}

/// The server. Dropping it ends it.
struct Http {
    end: Arc<OwnedFd>,
    house: Arc<House>,
    porter: Option<JoinHandle<()>>,
    cores: Cores,
}

/// What all its threads share.
struct House {
    answer: Vec<u8>,
    cores: Cores,
    /// CPU time of connections that have ended, ns.
    cpu: AtomicU64,
    connections: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
    most: usize,
}

impl Http {
    /// Serves documents of this size on the first address of a task, on no more connections than it has flows and a few.
    ///
    /// # Errors
    /// When it cannot listen.
    fn start(task: &Task, size: usize) -> Result<Self, Error> {
        let at = super::dials(task)?;
        let refused = |error: io::Error| Error::io(format!("listen on {at}"), error);
        let listener = TcpListener::bind(at).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| refused(errno.into()))?;
        let (end, cores) = (Arc::new(end), Cores::of(&task.cpus, Role::Server));
        let house = Arc::new(House {
            answer: answer(size),
            cores: cores.clone(),
            cpu: AtomicU64::new(0),
            connections: Mutex::default(),
            most: (task.flows as usize).saturating_mul(2).saturating_add(16),
        });
        let (door, rooms) = (Arc::clone(&end), Arc::clone(&house));
        let porter = thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || welcome(&listener, &door, &rooms))
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { end, house, porter: Some(porter), cores })
    }

    /// Ends all connections and waits for their threads.
    fn close(&mut self) {
        // It is an addition to a number that nobody has added to: it cannot be full.
        let _ = rustix::io::write(&self.end, &1u64.to_ne_bytes());
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
        let connections = std::mem::take(&mut *self.house.all());
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

impl Server for Http {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        self.close();
        let mut report =
            Report { cpu: Nanos(self.house.cpu.load(Ordering::Relaxed)), ..Report::default() };
        report.parameters.insert(Role::Server.cores().to_owned(), self.cores.list().into());
        Ok(report)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.close();
    }
}

impl House {
    fn all(&self) -> std::sync::MutexGuard<'_, Vec<(TcpStream, JoinHandle<()>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts connections until the end comes.
fn welcome(listener: &TcpListener, end: &OwnedFd, house: &Arc<House>) {
    loop {
        let mut either = [PollFd::new(listener, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut either, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) if !either[1].revents().is_empty() => return,
            Ok(_) => {}
        }
        if let Ok((stream, _)) = listener.accept() {
            take(stream, house);
        }
    }
}

/// Gives a connection its thread.
fn take(stream: TcpStream, house: &Arc<House>) {
    let mut all = house.all();
    all.retain(|(_, thread)| !thread.is_finished());
    let prepared = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
    let (Ok(own), Ok(())) = (stream.try_clone(), prepared) else { return };
    if all.len() >= house.most {
        return;
    }
    let (rooms, number) = (Arc::clone(house), all.len());
    let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
        if let Some(core) = rooms.cores.nth(number) {
            // Where it may not, it runs where it is: the record has the cores asked for.
            let _ = pin(core);
        }
        // How a client ends its connection is the client's affair.
        let _ = converse(&own, &rooms.answer);
        // The porter holds it, too.
        let _ = own.shutdown(Shutdown::Both);
        let taken = thread_usage();
        rooms.cpu.fetch_add(taken.user.0 + taken.system.0, Ordering::Relaxed);
    });
    if let Ok(thread) = thread {
        all.push((stream, thread));
    }
}

/// Answers requests until the client leaves, or says what is no request.
fn converse(mut stream: &TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST_HEAD];
    let mut held = 0;
    let mut answers = Vec::new();
    loop {
        let read = match stream.read(&mut buffer[held..]) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        held += read;
        let (requests, used) = requests(&buffer[..held]);
        buffer.copy_within(used..held, 0);
        held -= used;
        if held == buffer.len() {
            return stream.write_all(
                b"HTTP/1.1 431 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            );
        }
        answers.clear();
        (0..requests).for_each(|_| answers.extend_from_slice(answer));
        stream.write_all(&answers)?;
    }
}

/// How many whole heads there are, and how many bytes they take.
fn requests(bytes: &[u8]) -> (usize, usize) {
    let (mut found, mut used) = (0, 0);
    while let Some(at) = bytes[used..].windows(END.len()).position(|window| window == END) {
        found += 1;
        used += at + END.len();
    }
    (found, used)
}

/// The one answer.
fn answer(size: usize) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"
    );
    let mut answer = head.into_bytes();
    answer.resize(answer.len() + size, b'x');
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, SocketAddr};

    fn start(size: usize) -> (Http, SocketAddr) {
        // A port that was free may be taken before the server has it: then another one is tried.
        tare_dev::eventually("a port is free", || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            let at = listener.and_then(|one| one.local_addr()).unwrap();
            let task = crate::Task::made_up("tcp-rr", vec![at]);
            Http::start(&task, size).map(|server| (server, at))
        })
    }

    /// CPU time of all threads of this process so far.
    fn process_cpu() -> Nanos {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    #[test]
    fn requests_are_answered_one_by_one_and_together() {
        let before = process_cpu();
        let (server, at) = start(5);
        let mut client = TcpStream::connect(at).unwrap();
        let whole = answer(5);
        let mut told = vec![0; whole.len()];
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        client.read_exact(&mut told).unwrap();
        assert_eq!(told, whole);
        assert!(told.ends_with(b"\r\n\r\nxxxxx"));
        client.write_all(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET").unwrap();
        let mut both = vec![0; 2 * whole.len()];
        client.read_exact(&mut both).unwrap();
        assert_eq!(both, [whole.clone(), whole].concat());
        // It ends with a client that is still there.
        let report = Box::new(server).finish().unwrap();
        let all = process_cpu() - before;
        assert!(report.cpu > Nanos(0) && report.cpu < all, "{} of {all}", report.cpu);
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let (_server, at) = start(1);
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(&vec![b'a'; LONGEST_HEAD]).unwrap();
        let mut told = String::new();
        client.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("HTTP/1.1 431"), "{told}");
    }

    proptest! {
        #[test]
        fn heads_are_counted_and_nothing_is_lost(bytes in prop::collection::vec(prop::sample::select(b"a\r\n".to_vec()), 0..40)) {
            let (found, used) = requests(&bytes);
            prop_assert!(used <= bytes.len());
            prop_assert_eq!(requests(&bytes[used..]), (0, 0));
            prop_assert_eq!(requests(&bytes[..used]).0, found);
        }
    }
}
