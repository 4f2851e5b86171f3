//! Agent of a task, `tare internal task-agent`: the first process of a task. It connects to the tunnel server, waits
//! for a request, starts the requested program, and connects again for the next request. It ends when the server does.

use super::frame::FrameKind;
use super::handshake;
use super::keepalive;
use super::messages::{StartRequest, TaskHello};
use super::sealed::{SealedReader, SealedWriter};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tare_network::Error;
use tare_network::scaled_timeout;
use tare_secret::SharedSecret;

/// Timeout for reaching the server. An overlay network announces a new member to its nodes within seconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(90);

/// Timeout of one attempt, and the pause before the next.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Runs `tare internal task-agent` with its arguments (those after `task-agent`): the server's address, the task's
/// name, the file with the secret.
///
/// # Errors
/// Fails if an argument is wrong, if the secret cannot be read, or if the server cannot be reached.
pub fn run_task_agent(arguments: impl IntoIterator<Item = String>) -> Result<(), Error> {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let [home, task, file] = arguments.as_slice() else {
        let why = "invalid arguments: expected ADDRESS:PORT TASK FILE";
        return Err(Error::new("run `tare internal task-agent`", why));
    };
    let home: SocketAddr = home.parse().map_err(|_| {
        let why = format!("invalid address `{home}`: expected ADDRESS:PORT");
        Error::new("run `tare internal task-agent`", why)
    })?;
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::new(format!("read the run's secret from {file}"), error))?;
    let secret = handshake::parse_secret(&text).ok_or_else(|| {
        Error::new(format!("read the run's secret from {file}"), "the file is empty")
    })?;
    loop {
        let mut server = connect_to_server(home, task, &secret).map_err(|error| {
            Error::new(format!("connect to the tunnel server at {home}"), error)
        })?;
        match server.from_server.read() {
            Ok(Some((FrameKind::Start, order))) => {
                thread::spawn(move || handle_request(server, &order));
            }
            // The server has ended, and so has the run.
            Ok(_) => return Ok(()),
            // The connection was lost: connect again.
            Err(_) => {}
        }
    }
}

/// Connection to the server after the handshake.
#[derive(Debug)]
struct ServerConnection {
    from_server: SealedReader<TcpStream>,
    to_server: SealedWriter<TcpStream>,
}

/// Opens a connection that waits for a request.
fn connect_to_server(
    home: SocketAddr,
    task: &str,
    secret: &SharedSecret,
) -> io::Result<ServerConnection> {
    let deadline = Instant::now() + scaled_timeout(CONNECT_TIMEOUT);
    loop {
        match try_connect(home, task, secret) {
            Err(error) if is_transient(&error) && Instant::now() < deadline => {
                thread::sleep(RETRY_PAUSE);
            }
            done => return done,
        }
    }
}

/// Returns whether another attempt may succeed: not if the server itself refused.
fn is_transient(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::PermissionDenied
}

fn try_connect(
    home: SocketAddr,
    task: &str,
    secret: &SharedSecret,
) -> io::Result<ServerConnection> {
    let mut stream = TcpStream::connect_timeout(&home, scaled_timeout(ATTEMPT_TIMEOUT))?;
    keepalive::enable_keepalive(&stream)?;
    stream.set_read_timeout(Some(scaled_timeout(CONNECT_TIMEOUT)))?;
    let keys = handshake::prove_as_task(&mut stream, secret)?;
    stream.set_read_timeout(None)?;
    let from_server = SealedReader::new(stream.try_clone()?, keys.peer);
    let mut to_server = SealedWriter::new(stream, keys.own);
    let hello = TaskHello { task: task.to_owned(), seen: tare_netns_probe::take_snapshot() };
    to_server.write(FrameKind::Hello, &serde_json::to_vec(&hello)?)?;
    Ok(ServerConnection { from_server, to_server })
}

/// Starts a program, and forwards its streams until it ends.
fn handle_request(server: ServerConnection, order: &[u8]) {
    let ServerConnection { from_server, to_server } = server;
    let told = Arc::new(Mutex::new(to_server));
    let code = match serde_json::from_slice::<StartRequest>(order)
        .map_err(io::Error::from)
        .and_then(|order| start_program(&order))
    {
        Ok(child) => forward_streams(child, from_server, &told),
        Err(error) => {
            send_frame(&told, FrameKind::ErrorOutput, format!("tare: {error}\n").as_bytes());
            CANNOT_START
        }
    };
    send_frame(&told, FrameKind::Exit, &code.to_be_bytes());
    // The thread that reads the input sees the end.
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = told.inner().shutdown(Shutdown::Both);
}

/// Exit code of a program that cannot be started, as Docker gives it.
const CANNOT_START: i32 = 127;

fn start_program(order: &StartRequest) -> io::Result<Child> {
    let [program, arguments @ ..] = order.command.as_slice() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the request names no program"));
    };
    let variables = order.environment.iter().filter_map(|one| one.split_once('='));
    Command::new(program)
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start {program}: {error}")))
}

/// Connection that several threads write to.
type SharedStream = Arc<Mutex<SealedWriter<TcpStream>>>;

/// Sends a frame. A failure is ignored: the connection is then broken, and the program is ended as well.
fn send_frame(told: &SharedStream, kind: FrameKind, bytes: &[u8]) {
    let _ = told.lock().unwrap_or_else(PoisonError::into_inner).write(kind, bytes);
}

/// Forwards a program's streams until it has ended, and returns its exit code as a shell gives it.
fn forward_streams(mut child: Child, input: SealedReader<TcpStream>, told: &SharedStream) -> i32 {
    if let Some(stdin) = child.stdin.take() {
        let pid = Pid::from_child(&child);
        thread::spawn(move || forward_input(input, stdin, pid));
    }
    let complaints =
        child.stderr.take().map(|from| forward_output(from, FrameKind::ErrorOutput, told));
    let output = child.stdout.take().map(|from| forward_output(from, FrameKind::Output, told));
    for thread in [output, complaints].into_iter().flatten() {
        // The thread returns nothing; if it broke, it has sent all that it could.
        let _ = thread.join();
    }
    match child.wait() {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1),
        Err(_) => 1,
    }
}

/// Starts a thread that forwards one of a program's streams.
fn forward_output(
    mut from: impl Read + Send + 'static,
    kind: FrameKind,
    told: &SharedStream,
) -> thread::JoinHandle<()> {
    let told = Arc::clone(told);
    thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut chunk) {
            send_frame(&told, kind, &chunk[..length]);
        }
    })
}

/// Forwards input to a program, and kills the program when the connection ends.
fn forward_input(mut from: SealedReader<TcpStream>, stdin: ChildStdin, pid: Pid) {
    // A pidfd, because the pid may belong to another process by the time of the signal.
    let process = pidfd_open(pid, PidfdFlags::empty());
    let mut stdin = Some(stdin);
    while let Ok(Some((kind, bytes))) = from.read() {
        match (kind, &mut stdin) {
            // A program that reads no more may still write.
            (FrameKind::Input, Some(input)) => drop(input.write_all(&bytes)),
            (FrameKind::InputEnds, _) => stdin = None,
            _ => {}
        }
    }
    if let Ok(process) = process {
        // A program that has ended needs no signal.
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}
