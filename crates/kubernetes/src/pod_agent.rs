//! Agent of a pod: the role `pod-agent`, which is the program of a pod's container.
//!
//! `tare internal pod-agent` starts programs as the run asks, over the container's standard streams ([`crate::link`]).
//! It goes on while no connection is there: a trial that has begun ends, and its report waits. If no line arrives for
//! [`ABANDONED`], it ends its programs and itself, whatever has become of the run.

use crate::link::{
    ArrivedLine, LineBuffer, LinkEndpoint, LinkLine, MAX_PAYLOAD, PodMessage, ProgramRequest,
};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tare_network::Error;

/// Time without any line of the run after which the run is taken to have ended without a word.
pub(crate) const ABANDONED: Duration = Duration::from_secs(300);

/// Interval at which arrivals are confirmed.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(500);

/// Number of arrivals that are confirmed at once.
const CONFIRM_EVERY: u64 = 64;

/// Bytes that wait for confirmation beyond which the output of programs is not read.
const MAX_UNCONFIRMED: usize = 64 << 20;

/// Runs the role until the run ends it or is gone.
///
/// # Errors
/// Fails if the container's standard input cannot be read.
pub fn run_pod_agent() -> Result<(), Error> {
    let agent = Arc::new(PodAgent::default());
    let watcher = Arc::clone(&agent);
    thread::Builder::new()
        .name("keep alive".to_owned())
        .spawn(move || watcher.watch_link())
        .map_err(|error| Error::new("start a thread", error))?;
    let mut buffer = LineBuffer::default();
    let mut bytes = vec![0; 64 << 10];
    let mut input = io::stdin();
    loop {
        match input.read(&mut bytes) {
            // The container's input stays open without a connection, unless the container is about to end.
            Ok(0) => return Ok(()),
            Ok(length) => buffer.add(&bytes[..length]).into_iter().for_each(|line| {
                let arrived = agent.receive(line);
                agent.handle(arrived);
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::new("read the standard input of the pod", error)),
        }
    }
}

/// Agent of a pod.
#[derive(Default)]
struct PodAgent {
    link: Mutex<AgentLink>,
    /// Signalled when messages are confirmed.
    confirmed: Condvar,
    programs: Mutex<HashMap<u32, RunningProgram>>,
}

/// Link to the run, as the agent has it.
struct AgentLink {
    endpoint: LinkEndpoint,
    last_line: Instant,
}

impl Default for AgentLink {
    fn default() -> Self {
        Self { endpoint: LinkEndpoint::default(), last_line: Instant::now() }
    }
}

/// Program that runs in the pod.
struct RunningProgram {
    process: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
}

impl PodAgent {
    fn link(&self) -> MutexGuard<'_, AgentLink> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> MutexGuard<'_, HashMap<u32, RunningProgram>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a line: what it says on the link. The answer is written before another thread can write.
    fn receive(&self, line: LinkLine) -> ArrivedLine {
        let mut link = self.link();
        link.last_line = Instant::now();
        // The run says what has arrived now and then, too, to see that this end is alive.
        let is_sign_of_life = matches!(line, LinkLine::Received { .. });
        let mut arrived = link.endpoint.receive(line);
        if is_sign_of_life || link.endpoint.unconfirmed_arrivals() >= CONFIRM_EVERY {
            arrived.answer += &link.endpoint.confirm();
        }
        write_lines(&arrived.answer);
        self.confirmed.notify_all();
        arrived
    }

    /// Does what a message asks.
    fn handle(self: &Arc<Self>, arrived: ArrivedLine) {
        let message = arrived.message.as_deref().and_then(PodMessage::parse);
        let Some((number, message)) = message else { return };
        match message {
            PodMessage::Start(request) => self.start(number, &request),
            PodMessage::Input(bytes) => self.write_input(number, &bytes),
            PodMessage::EndOfInput => {
                if let Some(program) = self.programs().get_mut(&number) {
                    program.input = None;
                }
            }
            PodMessage::Kill => self.kill(number),
            // The rest is what an agent says.
            PodMessage::Output(_)
            | PodMessage::ErrorOutput(_)
            | PodMessage::Exited(_)
            | PodMessage::Killed(_)
            | PodMessage::Refused(_) => {}
        }
    }

    /// Sends a message about a program. Waits while too much is unconfirmed.
    fn send(&self, program: u32, message: &PodMessage) {
        let mut link = self.link();
        while link.endpoint.unconfirmed_bytes() > MAX_UNCONFIRMED {
            link = self.confirmed.wait(link).unwrap_or_else(PoisonError::into_inner);
        }
        let line = link.endpoint.send(message.to_bytes(program));
        write_lines(&line);
    }

    fn start(self: &Arc<Self>, number: u32, request: &ProgramRequest) {
        match spawn(request) {
            Ok(child) => self.supervise(number, child),
            Err(why) => self.send(number, &PodMessage::Refused(why)),
        }
    }

    fn supervise(self: &Arc<Self>, number: u32, mut child: Child) {
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Arc::new(Mutex::new(child));
        self.programs().insert(number, RunningProgram { process: Arc::clone(&process), input });
        let agent = Arc::clone(self);
        let supervisor = move || {
            let errors = errors.map(|errors| {
                let agent = Arc::clone(&agent);
                thread::spawn(move || agent.forward(number, errors, PodMessage::ErrorOutput))
            });
            if let Some(output) = output {
                agent.forward(number, output, PodMessage::Output);
            }
            if let Some(errors) = errors {
                // It returns nothing, and a panic in it loses only its program's words.
                let _ = errors.join();
            }
            let end = await_exit(&process).map_or(PodMessage::Exited(-1), end_message);
            agent.programs().remove(&number);
            agent.send(number, &end);
        };
        if thread::Builder::new().name(format!("program {number}")).spawn(supervisor).is_err() {
            self.kill(number);
            self.send(number, &PodMessage::Refused("the pod has no thread left".to_owned()));
        }
    }

    /// Sends a stream of a program until it ends.
    fn forward(&self, number: u32, mut stream: impl Read, message: impl Fn(Vec<u8>) -> PodMessage) {
        let mut bytes = vec![0; MAX_PAYLOAD - 16];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            self.send(number, &message(bytes[..length].to_vec()));
        }
    }

    fn write_input(&self, number: u32, bytes: &[u8]) {
        let mut programs = self.programs();
        let input = programs.get_mut(&number).and_then(|program| program.input.as_mut());
        // A program that reads no more is about to end, and its end is sent.
        let _ = input.map(|input| input.write_all(bytes).and_then(|()| input.flush()));
    }

    fn kill(&self, number: u32) {
        let process = self.programs().get(&number).map(|program| Arc::clone(&program.process));
        if let Some(process) = process {
            // A process that has ended needs no signal.
            let _ = process.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }

    /// Confirms arrivals now and then. Ends the process with its programs when the run is gone.
    fn watch_link(&self) {
        loop {
            thread::sleep(CONFIRM_INTERVAL);
            let mut link = self.link();
            if link.last_line.elapsed() > ABANDONED {
                let numbers: Vec<u32> = self.programs().keys().copied().collect();
                numbers.into_iter().for_each(|number| self.kill(number));
                std::process::exit(1);
            }
            if link.endpoint.unconfirmed_arrivals() > 0 {
                let line = link.endpoint.confirm();
                write_lines(&line);
            }
        }
    }
}

/// Writes lines to the container's output, which somebody always reads: the container's runtime.
fn write_lines(lines: &str) {
    if !lines.is_empty() {
        let mut output = io::stdout().lock();
        let _ = output.write_all(lines.as_bytes()).and_then(|()| output.flush());
    }
}

/// Starts a program with pipes. The error says why in words.
fn spawn(request: &ProgramRequest) -> Result<Child, String> {
    let (program, arguments) = match request.command.split_first() {
        Some((program, arguments)) if !program.is_empty() => (program.into(), arguments),
        Some((_, arguments)) => {
            (std::env::current_exe().map_err(|error| error.to_string())?, arguments)
        }
        None => return Err("no program is named".to_owned()),
    };
    Command::new(program)
        .args(arguments)
        .envs(request.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())
}

/// Waits until a process ends, whose output has ended already. It is asked now and then, since it may be killed
/// meanwhile by another thread.
fn await_exit(process: &Mutex<Child>) -> io::Result<ExitStatus> {
    const PAUSE: Duration = Duration::from_millis(2);
    loop {
        let ended = process.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?;
        match ended {
            Some(status) => return Ok(status),
            None => thread::sleep(PAUSE),
        }
    }
}

fn end_message(status: ExitStatus) -> PodMessage {
    match status.signal() {
        Some(signal) => PodMessage::Killed(signal),
        None => PodMessage::Exited(status.code().unwrap_or(-1)),
    }
}
