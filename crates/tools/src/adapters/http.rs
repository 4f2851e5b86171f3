//! Small HTTP server for load generators: every request is answered with the same document.
//!
//! The server speaks HTTP/1.1 (RFC 9112) as far as load generators use it: requests without a body, one after another
//! or pipelined, on persistent connections. Each connection has a thread, because there are only as many connections as
//! flows.

use crate::request::listen_address;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tare_record::Nanos;
use tare_traffic::parameters::size;
use tare_traffic::placement::{SideCores, TrafficRole, pin_thread};
use tare_traffic::thread_cpu_usage;
use tare_traffic::{Error, Parameter, ParameterKind, Server, SideReport, TrialTask};

/// Maximum length of a request's head, bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// End of a request's head.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Size of the document.
pub(crate) const SIZE: Parameter = Parameter {
    name: "response",
    summary: "bytes of the requested document",
    kind: ParameterKind::Bytes { least: 0, most: 16 << 20 },
    default: Some("1024"),
};

/// Starts the server of a task that has the parameter [`SIZE`].
///
/// # Errors
/// When the server cannot listen.
pub(crate) fn serve(task: &TrialTask) -> Result<Box<dyn Server>, Error> {
    Ok(Box::new(HttpServer::start(task, size(&task.parameters, SIZE.name)?)?))
}

/// Running HTTP server. Dropping it ends the server.
struct HttpServer {
    end: Arc<OwnedFd>,
    state: Arc<HttpServerState>,
    acceptor: Option<JoinHandle<()>>,
    cores: SideCores,
}

/// State that all threads of the server share.
struct HttpServerState {
    response: Vec<u8>,
    cores: SideCores,
    /// CPU time of the threads of ended connections, ns.
    cpu: AtomicU64,
    connections: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
    max_connections: usize,
}

impl HttpServer {
    /// Serves documents of `size` bytes on the address of a task, on at most twice as many connections as it has
    /// flows, plus 16.
    ///
    /// # Errors
    /// When the server cannot listen.
    fn start(task: &TrialTask, size: usize) -> Result<Self, Error> {
        let at = listen_address(task)?;
        let refused = |error: io::Error| Error::io(format!("listen on {at}"), error);
        let listener = TcpListener::bind(at).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| refused(errno.into()))?;
        let (end, cores) = (Arc::new(end), SideCores::for_role(&task.cpus, TrafficRole::Server));
        let house = Arc::new(HttpServerState {
            response: build_response(size),
            cores: cores.clone(),
            cpu: AtomicU64::new(0),
            connections: Mutex::default(),
            max_connections: (task.flows as usize).saturating_mul(2).saturating_add(16),
        });
        let (door, rooms) = (Arc::clone(&end), Arc::clone(&house));
        let porter = thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || accept_connections(&listener, &door, &rooms))
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { end, state: house, acceptor: Some(porter), cores })
    }

    /// Closes all connections and waits for their threads.
    fn close(&mut self) {
        // This adds 1 to a counter that is 0: it cannot overflow.
        let _ = rustix::io::write(&self.end, &1u64.to_ne_bytes());
        if let Some(porter) = self.acceptor.take() {
            let _ = porter.join();
        }
        let connections = std::mem::take(&mut *self.state.lock_connections());
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

impl Server for HttpServer {
    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        self.close();
        let mut report = SideReport {
            cpu: Nanos(self.state.cpu.load(Ordering::Relaxed)),
            ..SideReport::default()
        };
        report
            .parameters
            .insert(TrafficRole::Server.cores_parameter().to_owned(), self.cores.list().into());
        Ok(report)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.close();
    }
}

impl HttpServerState {
    fn lock_connections(&self) -> std::sync::MutexGuard<'_, Vec<(TcpStream, JoinHandle<()>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts connections until the end is signalled.
fn accept_connections(listener: &TcpListener, end: &OwnedFd, house: &Arc<HttpServerState>) {
    loop {
        let mut either = [PollFd::new(listener, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut either, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) if !either[1].revents().is_empty() => return,
            Ok(_) => {}
        }
        if let Ok((stream, _)) = listener.accept() {
            spawn_connection(stream, house);
        }
    }
}

/// Starts the thread of a connection. Drops the connection if there are too many.
fn spawn_connection(stream: TcpStream, house: &Arc<HttpServerState>) {
    let mut all = house.lock_connections();
    all.retain(|(_, thread)| !thread.is_finished());
    let prepared = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
    let (Ok(own), Ok(())) = (stream.try_clone(), prepared) else { return };
    if all.len() >= house.max_connections {
        return;
    }
    let (rooms, number) = (Arc::clone(house), all.len());
    let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
        if let Some(core) = rooms.cores.nth(number) {
            // If pinning is refused, the thread runs where it is: the record has the requested cores.
            let _ = pin_thread(core);
        }
        // The client may end its connection in any way.
        let _ = serve_connection(&own, &rooms.response);
        // The list of connections holds the stream too.
        let _ = own.shutdown(Shutdown::Both);
        let taken = thread_cpu_usage();
        rooms.cpu.fetch_add(taken.user.0 + taken.system.0, Ordering::Relaxed);
    });
    if let Ok(thread) = thread {
        all.push((stream, thread));
    }
}

/// Answers requests until the client closes, or a request's head is too long.
fn serve_connection(mut stream: &TcpStream, answer: &[u8]) -> io::Result<()> {
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
        let (requests, used) = count_requests(&buffer[..held]);
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

/// Returns the number of complete heads and their total length, bytes.
fn count_requests(bytes: &[u8]) -> (usize, usize) {
    let (mut found, mut used) = (0, 0);
    while let Some(at) = bytes[used..].windows(HEAD_END.len()).position(|window| window == HEAD_END)
    {
        found += 1;
        used += at + HEAD_END.len();
    }
    (found, used)
}

/// Builds the response, which is the same for all requests.
fn build_response(size: usize) -> Vec<u8> {
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
    use crate::test_data::task_of;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, SocketAddr};

    fn start(size: usize) -> (HttpServer, SocketAddr) {
        // Another process may take a free port before the server binds it: then another port is tried.
        tare_dev::eventually("a port is free", || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            let at = listener.and_then(|one| one.local_addr()).unwrap();
            let task = task_of("wrk", vec![at]);
            HttpServer::start(&task, size).map(|server| (server, at))
        })
    }

    /// Returns the CPU time of all threads of this process so far.
    fn process_cpu() -> Nanos {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    #[test]
    fn requests_are_answered_one_by_one_and_together() {
        let before = process_cpu();
        let (server, at) = start(5);
        let mut client = TcpStream::connect(at).unwrap();
        let whole = build_response(5);
        let mut told = vec![0; whole.len()];
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        client.read_exact(&mut told).unwrap();
        assert_eq!(told, whole);
        assert!(told.ends_with(b"\r\n\r\nxxxxx"));
        client.write_all(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET").unwrap();
        let mut both = vec![0; 2 * whole.len()];
        client.read_exact(&mut both).unwrap();
        assert_eq!(both, [whole.clone(), whole].concat());
        // The server ends while a client is connected.
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
            let (found, used) = count_requests(&bytes);
            prop_assert!(used <= bytes.len());
            prop_assert_eq!(count_requests(&bytes[used..]), (0, 0));
            prop_assert_eq!(count_requests(&bytes[..used]).0, found);
        }
    }
}
