//! Tunnel server, `tare internal tunnel serve`: accepts connections of tasks, keeps one of each task, and hands it to a
//! caller.
//!
//! The secret is the first line of its standard input, and the server ends when its standard input does. It reports
//! events of tasks on standard output, one line each.

use super::frame::{self, FrameKind};
use super::handshake;
use super::messages::{TaskEvent, TaskHello};
use super::sealed::{SealedReader, SealedWriter};
use super::unproven::{TimedStream, UnprovenConnections};
use super::{CALL_SOCKET, TUNNEL_PORT, keepalive};
use std::collections::HashMap;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tare_network::Error;
use tare_network::scaled_timeout;
use tare_secret::SharedSecret;

/// Timeout of the whole handshake with an unauthenticated peer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a task's next connection, which it opens right after the last one was taken.
const NEXT_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause after a connection could not be accepted: no descriptor is left, until others end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connection to a task that has proved the secret.
#[derive(Debug)]
struct TaskConnection {
    from_task: SealedReader<TcpStream>,
    to_task: SealedWriter<TcpStream>,
}

/// Connections of tasks that wait for a request.
#[derive(Default)]
struct TaskConnections {
    waiting: Mutex<WaitingConnections>,
    changed: Condvar,
    number: AtomicU64,
}

/// Connections by task. A task stays until it is gone, also while none of its connections waits.
#[derive(Default)]
struct WaitingConnections {
    by_task: HashMap<String, ConnectedTask>,
}

#[derive(Default)]
struct ConnectedTask {
    waiting: Vec<(u64, TaskConnection)>,
    /// Number of the connection that was taken last.
    last_taken: Option<u64>,
}

impl ConnectedTask {
    fn take(&mut self) -> Option<TaskConnection> {
        let (number, connection) = self.waiting.pop()?;
        self.last_taken = self.last_taken.max(Some(number));
        Some(connection)
    }
}

impl TaskConnections {
    fn lock(&self) -> MutexGuard<'_, WaitingConnections> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection. Returns its number, and whether the task was unknown before.
    fn put(&self, task: &str, connection: TaskConnection) -> (u64, bool) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.lock();
        let new = !waiting.by_task.contains_key(task);
        waiting.by_task.entry(task.to_owned()).or_default().waiting.push((number, connection));
        self.changed.notify_all();
        (number, new)
    }

    /// Takes a connection to a task, and waits for one if necessary. Returns `None` if none comes in time.
    fn take(&self, task: &str) -> Option<TaskConnection> {
        let is_none = |all: &mut WaitingConnections| {
            all.by_task.get(task).is_none_or(|task| task.waiting.is_empty())
        };
        let (mut waiting, _) = self
            .changed
            .wait_timeout_while(self.lock(), NEXT_CONNECTION_TIMEOUT, is_none)
            .unwrap_or_else(PoisonError::into_inner);
        waiting.by_task.get_mut(task)?.take()
    }

    /// Removes a connection that has broken. Returns whether the task is gone: the connection was still waiting, no
    /// other of the task waits, and none that is newer was taken. After a task has connected again, the end of its old
    /// connection is noticed late.
    fn forget(&self, task: &str, number: u64) -> bool {
        let mut all = self.lock();
        let Some(connected) = all.by_task.get_mut(task) else { return false };
        let before = connected.waiting.len();
        connected.waiting.retain(|(one, _)| *one != number);
        let removed = connected.waiting.len() < before;
        let is_last = connected.waiting.is_empty() && connected.last_taken < Some(number);
        let gone = removed && is_last;
        if gone {
            all.by_task.remove(task);
        }
        gone
    }
}

/// Serves until standard input ends.
pub(super) fn serve_tunnel() -> Result<(), Error> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Error::new("read the run's secret", error))?;
    let secret = handshake::parse_secret(&line)
        .ok_or_else(|| Error::new("read the run's secret", "no line was received"))?;
    let pool = Arc::new(TaskConnections::default());
    let tasks = TcpListener::bind((Ipv4Addr::UNSPECIFIED, TUNNEL_PORT))
        .map_err(|error| Error::new(format!("listen on port {TUNNEL_PORT}"), error))?;
    let calls = SocketAddr::from_abstract_name(CALL_SOCKET)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|error| Error::new("listen for calls of `tare internal tunnel call`", error))?;
    report_event(&TaskEvent::Open)
        .map_err(|error| Error::new("report that the tunnel server listens", error))?;
    let shared = Arc::clone(&pool);
    thread::spawn(move || accept_tasks(&tasks, &secret, &shared));
    thread::spawn(move || {
        for call in calls.incoming().flatten() {
            let pool = Arc::clone(&pool);
            // The caller sees that the connection broke.
            thread::spawn(move || forward_call(call, &pool));
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// Accepts connections, each on a thread of its own while it proves the secret and waits for a request.
fn accept_tasks(listener: &TcpListener, secret: &SharedSecret, pool: &Arc<TaskConnections>) {
    let unproven = Arc::new(UnprovenConnections::default());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let (pool, secret, unproven) = (Arc::clone(pool), secret.clone(), Arc::clone(&unproven));
        // A peer that fails does not concern the run.
        thread::spawn(move || accept_task(stream, &secret, &pool, &unproven));
    }
}

/// Reports an event to the run, on one line.
fn report_event(told: &TaskEvent) -> io::Result<()> {
    let line = serde_json::to_string(told)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Accepts a task, and watches its connection until it is taken or breaks.
fn accept_task(
    stream: TcpStream,
    secret: &SharedSecret,
    pool: &TaskConnections,
    unproven: &Arc<UnprovenConnections>,
) -> io::Result<()> {
    keepalive::enable_keepalive(&stream)?;
    let place = unproven.push(&stream)?;
    let time = scaled_timeout(HANDSHAKE_TIMEOUT);
    let keys = handshake::prove_as_server(&mut TimedStream::new(&stream, time), secret)?;
    drop(place);
    let mut from_task = SealedReader::new(stream.try_clone()?, keys.peer);
    let hello: TaskHello = serde_json::from_slice(&from_task.expect(FrameKind::Hello)?)?;
    stream.set_read_timeout(None)?;
    let to_task = SealedWriter::new(stream.try_clone()?, keys.own);
    let (number, new) = pool.put(&hello.task, TaskConnection { from_task, to_task });
    let task = hello.task.clone();
    if new {
        report_event(&TaskEvent::Came(Box::new(hello)))?;
    }
    // A task sends nothing before it has a request. Readable data is either the end of the stream, or belongs to the
    // caller that took the connection.
    let why = match stream.peek(&mut [0]) {
        Ok(0) => "the task closed the connection".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    if pool.forget(&task, number) {
        report_event(&TaskEvent::Gone { task, why })?;
    }
    Ok(())
}

/// Connects a caller with the task that it names, and passes frames in both directions.
fn forward_call(mut call: UnixStream, pool: &TaskConnections) -> io::Result<()> {
    let name = frame::expect_frame(&mut call, FrameKind::Hello)?;
    let name = String::from_utf8_lossy(&name);
    let Some(task) = pool.take(&name) else {
        let why = format!("tare: the task {name} is not connected\n");
        frame::write_frame(&mut call, FrameKind::ErrorOutput, why.as_bytes())?;
        return frame::write_frame(&mut call, FrameKind::Exit, &1_i32.to_be_bytes());
    };
    let TaskConnection { mut from_task, mut to_task } = task;
    let connection = to_task.inner().try_clone()?;
    let mut from_call = call.try_clone()?;
    thread::spawn(move || {
        while let Ok(Some((kind, bytes))) = frame::read_frame(&mut from_call) {
            if to_task.write(kind, &bytes).is_err() {
                break;
            }
        }
        // The other direction stays open: a program may write after its input has ended.
        let _ = to_task.inner().shutdown(Shutdown::Write);
    });
    while let Ok(Some((kind, bytes))) = from_task.read() {
        if frame::write_frame(&mut call, kind, &bytes).is_err() {
            break;
        }
    }
    let _ = call.shutdown(Shutdown::Both);
    let _ = connection.shutdown(Shutdown::Both);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> TaskConnection {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let key = SharedSecret::new(b"k").unwrap();
        TaskConnection {
            from_task: SealedReader::new(stream.try_clone().unwrap(), key.clone()),
            to_task: SealedWriter::new(stream, key),
        }
    }

    #[test]
    fn a_task_is_gone_with_its_last_connection() {
        let pool = TaskConnections::default();
        let (old, new) = (pool.put("a", connection()), pool.put("a", connection()));
        assert_eq!((old.1, new.1), (true, false));
        assert!(!pool.forget("a", old.0), "a newer connection waits");
        assert!(pool.forget("a", new.0), "no connection waits");
        assert!(!pool.forget("a", new.0), "it was forgotten before");
        assert!(pool.put("a", connection()).1, "the task has come again");
    }

    #[test]
    fn a_task_is_not_gone_with_a_connection_older_than_one_in_use() {
        let pool = TaskConnections::default();
        let (old, _) = pool.put("a", connection());
        pool.put("a", connection());
        assert!(pool.take("a").is_some());
        assert!(!pool.forget("a", old), "a newer connection is in use");
        let (next, new) = pool.put("a", connection());
        assert!(!new && pool.forget("a", next));
    }
}
