//! `tare away`: the first process of a task. It dials home, waits for an order, starts the program that it is told, and
//! dials home again for the next one. It ends when home does.

use super::frame::{self, Kind};
use super::order::{Hello, Order};
use super::proof::{self, Secret};
use super::socket;
use crate::look;
use crate::patience::patience;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tare_network::Error;

/// How long home may take to be reachable: an overlay network tells its nodes of a new member within seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long one try may take, and the pause before the next.
const TRY: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// Runs `tare away` with its arguments (those after `away`): where home is, the task's name, the file with the secret.
///
/// # Errors
/// Bad arguments, no secret, or nobody at home.
pub fn away(arguments: impl IntoIterator<Item = String>) -> Result<(), Error> {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let [home, task, file] = arguments.as_slice() else {
        return Err(Error::new("away", "the arguments are HOME TASK FILE"));
    };
    let home: SocketAddr =
        home.parse().map_err(|_| Error::new("away", format!("`{home}` is no address and port")))?;
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::new(format!("read the run's secret from {file}"), error))?;
    let secret = Secret::of(&text)
        .ok_or_else(|| Error::new(format!("read the run's secret from {file}"), "it is empty"))?;
    loop {
        let mut stream = come_home(home, task, &secret)
            .map_err(|error| Error::new(format!("dial home at {home}"), error))?;
        match frame::read(&mut stream) {
            Ok(Some((Kind::Order, order))) => {
                thread::spawn(move || obey(stream, &order));
            }
            // Home has ended, and so has the run.
            Ok(_) => return Ok(()),
            // It was lost on the way: once more.
            Err(_) => {}
        }
    }
}

/// A connection that waits for an order.
fn come_home(home: SocketAddr, task: &str, secret: &Secret) -> io::Result<TcpStream> {
    let deadline = Instant::now() + patience(PATIENCE);
    loop {
        match greet(home, task, secret) {
            Err(error) if is_passing(&error) && Instant::now() < deadline => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Whether another try may do better: not where home itself has said no.
fn is_passing(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::PermissionDenied
}

fn greet(home: SocketAddr, task: &str, secret: &Secret) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&home, patience(TRY))?;
    socket::watched(&stream)?;
    stream.set_read_timeout(Some(patience(PATIENCE)))?;
    proof::by_task(&mut stream, secret)?;
    stream.set_read_timeout(None)?;
    let hello = Hello { task: task.to_owned(), seen: look::here() };
    frame::write(&mut stream, Kind::Hello, &serde_json::to_vec(&hello)?)?;
    Ok(stream)
}

/// Starts a program, and passes its streams on to its end.
fn obey(stream: TcpStream, order: &[u8]) {
    let told = Arc::new(Mutex::new(stream));
    let code = match serde_json::from_slice::<Order>(order)
        .map_err(io::Error::from)
        .and_then(|order| start(&order))
    {
        Ok(child) => run(child, &told),
        Err(error) => {
            say(&told, Kind::Complaint, format!("tare: {error}\n").as_bytes());
            CANNOT_START
        }
    };
    say(&told, Kind::Ended, &code.to_be_bytes());
    // Whoever reads the input sees that it is over.
    let _ = told.lock().unwrap_or_else(PoisonError::into_inner).shutdown(Shutdown::Both);
}

/// The exit code of what cannot be started, as Docker gives it.
const CANNOT_START: i32 = 127;

fn start(order: &Order) -> io::Result<Child> {
    let [program, arguments @ ..] = order.command.as_slice() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
    };
    let variables = order.environment.iter().filter_map(|one| one.split_once('='));
    Command::new(program)
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("start {program}: {error}")))
}

/// A connection's end that several threads write to.
type Shared = Arc<Mutex<TcpStream>>;

/// Says something, unless nobody listens any more; then the program ends, too.
fn say(told: &Shared, kind: Kind, bytes: &[u8]) {
    let mut stream = told.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = frame::write(&mut *stream, kind, bytes);
}

/// Passes a program's streams on until it has ended; its exit code as a shell gives it.
fn run(mut child: Child, told: &Shared) -> i32 {
    let input = told.lock().unwrap_or_else(PoisonError::into_inner).try_clone();
    if let (Ok(input), Some(stdin)) = (input, child.stdin.take()) {
        let pid = Pid::from_child(&child);
        thread::spawn(move || hand_in(input, stdin, pid));
    }
    let complaints = child.stderr.take().map(|from| copied(from, Kind::Complaint, told));
    let output = child.stdout.take().map(|from| copied(from, Kind::Output, told));
    for thread in [output, complaints].into_iter().flatten() {
        // It returns nothing; a thread that broke has said all that it could.
        let _ = thread.join();
    }
    match child.wait() {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1),
        Err(_) => 1,
    }
}

/// A thread that passes one of a program's streams on.
fn copied(
    mut from: impl Read + Send + 'static,
    kind: Kind,
    told: &Shared,
) -> thread::JoinHandle<()> {
    let told = Arc::clone(told);
    thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut chunk) {
            say(&told, kind, &chunk[..length]);
        }
    })
}

/// Hands a program its input; when the connection breaks, the program is ended.
fn hand_in(mut from: TcpStream, stdin: ChildStdin, pid: Pid) {
    // By a descriptor: its number may be another's by then.
    let process = pidfd_open(pid, PidfdFlags::empty());
    let mut stdin = Some(stdin);
    while let Ok(Some((kind, bytes))) = frame::read(&mut from) {
        match (kind, &mut stdin) {
            // One that reads no more may still speak.
            (Kind::Input, Some(input)) => drop(input.write_all(&bytes)),
            (Kind::InputEnds, _) => stdin = None,
            _ => {}
        }
    }
    if let Ok(process) = process {
        // One that has ended needs no signal.
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}
