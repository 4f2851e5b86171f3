//! Tunnel server, `tare home serve`: accepts connections of tasks, keeps one of each task, and hands it to a caller.
//!
//! The secret is the first line of its standard input, and the server ends when its standard input does. It reports
//! events of tasks on standard output, one line each.

use super::frame::{self, FrameKind};
use super::handshake::{self, RunSecret};
use super::messages::{TaskEvent, TaskHello};
use super::{CALL_SOCKET, TUNNEL_PORT, keepalive};
use crate::timeout::scaled_timeout;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tare_network::Error;

/// Timeout of the handshake with an unauthenticated peer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a task's next connection, which it opens right after the last one was taken.
const NEXT_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of tasks that wait for a request.
#[derive(Default)]
struct TaskConnections {
    waiting: Mutex<WaitingConnections>,
    changed: Condvar,
    number: AtomicU64,
}

#[derive(Default)]
struct WaitingConnections {
    by_task: HashMap<String, Vec<(u64, TcpStream)>>,
    known: BTreeSet<String>,
}

impl TaskConnections {
    fn lock(&self) -> MutexGuard<'_, WaitingConnections> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection. Returns its number, and whether the task was unknown before.
    fn put(&self, task: &str, stream: TcpStream) -> (u64, bool) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.lock();
        waiting.by_task.entry(task.to_owned()).or_default().push((number, stream));
        let new = waiting.known.insert(task.to_owned());
        self.changed.notify_all();
        (number, new)
    }

    /// Takes a connection to a task, and waits for one if necessary. Returns `None` if none comes in time.
    fn take(&self, task: &str) -> Option<TcpStream> {
        let is_none =
            |waiting: &mut WaitingConnections| waiting.by_task.get(task).is_none_or(Vec::is_empty);
        let (mut waiting, _) = self
            .changed
            .wait_timeout_while(self.lock(), NEXT_CONNECTION_TIMEOUT, is_none)
            .unwrap_or_else(PoisonError::into_inner);
        waiting.by_task.get_mut(task)?.pop().map(|(_, stream)| stream)
    }

    /// Removes a connection that has broken. Returns whether it was still waiting.
    fn forget(&self, task: &str, number: u64) -> bool {
        let mut waiting = self.lock();
        let Some(streams) = waiting.by_task.get_mut(task) else { return false };
        let before = streams.len();
        streams.retain(|(one, _)| *one != number);
        let forgotten = streams.len() < before;
        if forgotten {
            waiting.known.remove(task);
        }
        forgotten
    }
}

/// Serves until standard input ends.
pub(super) fn serve_tunnel() -> Result<(), Error> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Error::new("read the run's secret", error))?;
    let secret = RunSecret::from_text(&line)
        .ok_or_else(|| Error::new("read the run's secret", "no line was received"))?;
    let pool = Arc::new(TaskConnections::default());
    let tasks = TcpListener::bind((Ipv4Addr::UNSPECIFIED, TUNNEL_PORT))
        .map_err(|error| Error::new(format!("listen on port {TUNNEL_PORT}"), error))?;
    let calls = SocketAddr::from_abstract_name(CALL_SOCKET)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|error| Error::new("listen for calls of `tare home call`", error))?;
    report_event(&TaskEvent::Open)
        .map_err(|error| Error::new("report that the tunnel server listens", error))?;
    let shared = Arc::clone(&pool);
    thread::spawn(move || {
        for stream in tasks.incoming().flatten() {
            let (pool, secret) = (Arc::clone(&shared), secret.clone());
            // A peer that fails does not concern the run.
            thread::spawn(move || accept_task(stream, &secret, &pool));
        }
    });
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

/// Reports an event to the run, on one line.
fn report_event(told: &TaskEvent) -> io::Result<()> {
    let line = serde_json::to_string(told)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Accepts a task, and watches its connection until it is taken or breaks.
fn accept_task(
    mut stream: TcpStream,
    secret: &RunSecret,
    pool: &TaskConnections,
) -> io::Result<()> {
    keepalive::enable_keepalive(&stream)?;
    stream.set_read_timeout(Some(scaled_timeout(HANDSHAKE_TIMEOUT)))?;
    handshake::prove_as_server(&mut stream, secret)?;
    let hello: TaskHello =
        serde_json::from_slice(&frame::expect_frame(&mut stream, FrameKind::Hello)?)?;
    stream.set_read_timeout(None)?;
    let (number, new) = pool.put(&hello.task, stream.try_clone()?);
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

/// Connects a caller with the task that it names, and copies data in both directions.
fn forward_call(mut call: UnixStream, pool: &TaskConnections) -> io::Result<()> {
    let name = frame::expect_frame(&mut call, FrameKind::Hello)?;
    let name = String::from_utf8_lossy(&name);
    let Some(task) = pool.take(&name) else {
        let why = format!("tare: the task {name} is not connected\n");
        frame::write_frame(&mut call, FrameKind::ErrorOutput, why.as_bytes())?;
        return frame::write_frame(&mut call, FrameKind::Exit, &1_i32.to_be_bytes());
    };
    let (mut from_call, mut to_task) = (call.try_clone()?, task.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_call, &mut to_task);
        // The other direction stays open: a program may write after its input has ended.
        let _ = to_task.shutdown(Shutdown::Write);
    });
    let mut from_task = task;
    let _ = io::copy(&mut from_task, &mut call);
    let _ = call.shutdown(Shutdown::Both);
    let _ = from_task.shutdown(Shutdown::Both);
    Ok(())
}
