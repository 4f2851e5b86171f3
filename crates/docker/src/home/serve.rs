//! `tare home serve`: lets tasks in, keeps one connection of each, and hands it to whoever calls.
//!
//! The secret is the first line of its standard input, and it ends with that. Of what happens to tasks it tells one line
//! each on standard output.

use super::frame::{self, Kind};
use super::order::{Hello, Told};
use super::proof::{self, Secret};
use super::{CALLS, PORT, socket};
use crate::patience::patience;
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

/// How long a stranger has to prove itself.
const GREETING: Duration = Duration::from_secs(10);

/// How long a call waits for a task's next connection: it comes right after the last one was taken.
const NEXT: Duration = Duration::from_secs(10);

/// The tasks' connections that wait for an order.
#[derive(Default)]
struct Pool {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    number: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    by_task: HashMap<String, Vec<(u64, TcpStream)>>,
    known: BTreeSet<String>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection; its number, and whether the task is a new one.
    fn put(&self, task: &str, stream: TcpStream) -> (u64, bool) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.lock();
        waiting.by_task.entry(task.to_owned()).or_default().push((number, stream));
        let new = waiting.known.insert(task.to_owned());
        self.changed.notify_all();
        (number, new)
    }

    /// A connection to a task, when there is one.
    fn take(&self, task: &str) -> Option<TcpStream> {
        let is_none = |waiting: &mut Waiting| waiting.by_task.get(task).is_none_or(Vec::is_empty);
        let (mut waiting, _) = self
            .changed
            .wait_timeout_while(self.lock(), NEXT, is_none)
            .unwrap_or_else(PoisonError::into_inner);
        waiting.by_task.get_mut(task)?.pop().map(|(_, stream)| stream)
    }

    /// Forgets a connection that has broken; whether it still waited.
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
pub(super) fn serve() -> Result<(), Error> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Error::new("read the run's secret", error))?;
    let secret =
        Secret::of(&line).ok_or_else(|| Error::new("read the run's secret", "none came"))?;
    let pool = Arc::new(Pool::default());
    let tasks = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))
        .map_err(|error| Error::new(format!("listen on port {PORT}"), error))?;
    let calls = SocketAddr::from_abstract_name(CALLS)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|error| Error::new("listen for calls", error))?;
    tell(&Told::Open).map_err(|error| Error::new("tell that home is open", error))?;
    let shared = Arc::clone(&pool);
    thread::spawn(move || {
        for stream in tasks.incoming().flatten() {
            let (pool, secret) = (Arc::clone(&shared), secret.clone());
            // A stranger that fails is none of the run's business.
            thread::spawn(move || let_in(stream, &secret, &pool));
        }
    });
    thread::spawn(move || {
        for call in calls.incoming().flatten() {
            let pool = Arc::clone(&pool);
            // Whoever calls sees that it broke.
            thread::spawn(move || connect(call, &pool));
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// Tells the run something, on one line.
fn tell(told: &Told) -> io::Result<()> {
    let line = serde_json::to_string(told)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Lets a task in, and watches its connection until it is taken or breaks.
fn let_in(mut stream: TcpStream, secret: &Secret, pool: &Pool) -> io::Result<()> {
    socket::watched(&stream)?;
    stream.set_read_timeout(Some(patience(GREETING)))?;
    proof::by_home(&mut stream, secret)?;
    let hello: Hello = serde_json::from_slice(&frame::expect(&mut stream, Kind::Hello)?)?;
    stream.set_read_timeout(None)?;
    let (number, new) = pool.put(&hello.task, stream.try_clone()?);
    let task = hello.task.clone();
    if new {
        tell(&Told::Came(Box::new(hello)))?;
    }
    // A task says nothing before it has an order: whatever can be read is the end, or for whoever took the connection.
    let why = match stream.peek(&mut [0]) {
        Ok(0) => "it has ended".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    if pool.forget(&task, number) {
        tell(&Told::Gone { task, why })?;
    }
    Ok(())
}

/// Connects a call with the task that it names, and passes on what both say.
fn connect(mut call: UnixStream, pool: &Pool) -> io::Result<()> {
    let name = frame::expect(&mut call, Kind::Hello)?;
    let name = String::from_utf8_lossy(&name);
    let Some(task) = pool.take(&name) else {
        let why = format!("the task {name} is not there\n");
        frame::write(&mut call, Kind::Complaint, why.as_bytes())?;
        return frame::write(&mut call, Kind::Ended, &1_i32.to_be_bytes());
    };
    let (mut from_call, mut to_task) = (call.try_clone()?, task.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_call, &mut to_task);
        // The other direction goes on: a program may speak after its input has ended.
        let _ = to_task.shutdown(Shutdown::Write);
    });
    let mut from_task = task;
    let _ = io::copy(&mut from_task, &mut call);
    let _ = call.shutdown(Shutdown::Both);
    let _ = from_task.shutdown(Shutdown::Both);
    Ok(())
}
