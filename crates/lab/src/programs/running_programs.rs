//! Running programs of a network: their start, supervision and end.

use super::halt::HaltFlag;
use super::{PacketCounter, Program, ReadyCondition, readiness};
use crate::plan::wiring::{NamespaceId, Wiring};
use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Error, NetworkDaemons};
use tare_sandbox::programs::{
    CommandOutput, ExecContext, Log, MountNamespace, PRIVATE_DIRECTORIES, ProcessSocket,
    START_TIMEOUT, descendants, describe_exit, find_program, kill_descendants, kill_group,
    process_cpu_time, process_sockets, wait_timeout,
};
use tare_sandbox::{Namespace, Sandbox};

/// Daemon that has become ready.
struct Daemon {
    name: String,
    place: String,
    child: Mutex<Child>,
    log: Log,
}

/// Running programs of a network. Dropping it kills them and their descendants.
#[derive(Default)]
pub(crate) struct RunningPrograms {
    daemons: Vec<Daemon>,
    contexts: BTreeMap<usize, ExecContext>,
}

/// Starts the programs of a wiring that is built, and returns when the last program of each namespace is ready. The
/// programs are pinned to `cores`, if given. Logs go to files in the directory `logs` or, without one, to memory.
///
/// Fails if a program is not installed, does not start, or fails before it is ready.
pub(crate) fn start(
    sandbox: &Arc<Sandbox>,
    wiring: &Wiring,
    spaces: &[Arc<Namespace>],
    cores: Option<CpuSet>,
    logs: Option<&Path>,
) -> Result<RunningPrograms, Error> {
    let mut running = RunningPrograms::default();
    let mut plans: BTreeMap<usize, Vec<(&Program, Log)>> = BTreeMap::new();
    for program in &wiring.programs {
        let NamespaceId(space) = program.space;
        let name = format!("{}-{}", wiring.name(program.space), program.name);
        plans.entry(space).or_default().push((program, Log::open(logs, &name)?));
    }
    let private = private_directories(&wiring.programs)?;
    for &space in plans.keys() {
        let mounts = MountNamespace::make(&spaces[space], spaces, &private)?;
        running
            .contexts
            .insert(space, ExecContext::new(sandbox, &spaces[space], mounts).with_cores(cores));
    }
    let halt = HaltFlag::default();
    // The daemons of each namespace are kept even if another namespace fails, so that they are killed.
    let outcomes: Vec<(Vec<Daemon>, Result<(), Error>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = plans
            .into_iter()
            .map(|(space, plan)| {
                let (station, halt) = (&running.contexts[&space], &halt);
                scope.spawn(move || start_all(station, plan, halt))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panic_outcome()))
            .collect()
    });
    let mut outcome = Ok(());
    for (daemons, done) in outcomes {
        running.daemons.extend(daemons);
        outcome = outcome.and(done);
    }
    outcome.map(|()| running)
}

fn panic_outcome() -> (Vec<Daemon>, Result<(), Error>) {
    (Vec::new(), Err(Error::new("start a network's programs", "the thread panicked")))
}

/// Returns the private directories, except those that contain one of the programs.
fn private_directories(programs: &[Program]) -> Result<Vec<&'static str>, Error> {
    let mut private = PRIVATE_DIRECTORIES.to_vec();
    let executables =
        programs.iter().flat_map(|one| std::iter::once(&one.program).chain(&one.executes));
    for program in executables {
        let path = find_program(program)?;
        private.retain(|directory| !path.starts_with(directory));
    }
    Ok(private)
}

/// Starts the programs of one namespace, in a thread that ends with this function. If another namespace has failed, it
/// stops without an error: the error of that namespace gives the reason.
fn start_all(
    station: &ExecContext,
    plan: Vec<(&Program, Log)>,
    halt: &HaltFlag,
) -> (Vec<Daemon>, Result<(), Error>) {
    let mut daemons = Vec::new();
    let all = || {
        station.mounts().enter()?;
        for (program, log) in plan {
            write_files(program)?;
            let path = log.path().map(|path| path.display().to_string());
            let started = start_program(station, program, &log, halt);
            match started.map_err(|error| explain(error, station, program, &log, path))? {
                StartOutcome::StepDone => {}
                StartOutcome::DaemonReady(child) => daemons.push(Daemon {
                    name: program.name.clone(),
                    place: station.name().to_owned(),
                    child: Mutex::new(child),
                    log,
                }),
                StartOutcome::Halted => return Ok(()),
            }
        }
        Ok(())
    };
    let outcome = all();
    if outcome.is_err() {
        halt.set();
    }
    (daemons, outcome)
}

fn write_files(program: &Program) -> Result<(), Error> {
    program.files.iter().try_for_each(|(path, text)| {
        fs::write(path, text).map_err(|error| Error::new(format!("write {path}"), error))
    })
}

/// Outcome of the start of a program.
enum StartOutcome {
    /// The step has exited with success.
    StepDone,
    /// The daemon is ready.
    DaemonReady(Child),
    /// The program was killed because another namespace has failed.
    Halted,
}

/// Failure of one attempt to start a program.
struct StartFailure {
    error: Error,
    /// True if the daemon ended by itself before it was ready.
    has_ended: bool,
}

impl From<Error> for StartFailure {
    fn from(error: Error) -> Self {
        Self { error, has_ended: false }
    }
}

/// Starts one program and waits until it is ready. A program that ends before that is started again, if it may be.
fn start_program(
    station: &ExecContext,
    program: &Program,
    log: &Log,
    halt: &HaltFlag,
) -> Result<StartOutcome, Error> {
    let mut attempt = 1;
    loop {
        match start_once(station, program, log, halt) {
            Err(StartFailure { has_ended: true, .. }) if attempt < program.attempts => attempt += 1,
            outcome => return outcome.map_err(|failure| failure.error),
        }
    }
}

fn start_once(
    station: &ExecContext,
    program: &Program,
    log: &Log,
    halt: &HaltFlag,
) -> Result<StartOutcome, StartFailure> {
    let mut command = command(program)?;
    command.stdin(Stdio::null()).stdout(log.stdio()?).stderr(log.stdio()?);
    let mut child = if program.in_runtime_directory {
        station.start_in_runtime_directory(command)
    } else {
        station.start(command)
    }?;
    if program.ready == ReadyCondition::Exited {
        return Ok(await_step(child, halt)?);
    }
    match readiness::wait(station, &program.ready, &mut child, log, halt) {
        Ok(true) => Ok(StartOutcome::DaemonReady(child)),
        Ok(false) => {
            kill_group(&mut child);
            Ok(StartOutcome::Halted)
        }
        Err(error) => {
            let has_ended = matches!(child.try_wait(), Ok(Some(_)));
            kill_group(&mut child);
            Err(StartFailure { error, has_ended })
        }
    }
}

fn command(program: &Program) -> Result<Command, Error> {
    let mut command = Command::new(find_program(&program.program)?);
    command.args(&program.arguments);
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Waits until a step exits. Fails if its exit code is not 0 or its time is over.
fn await_step(mut child: Child, halt: &HaltFlag) -> Result<StartOutcome, Error> {
    const WHAT: &str = "wait for the program to end";
    /// Interval between two checks of the halt flag.
    const LOOK: Duration = Duration::from_millis(100);
    let until = Instant::now() + START_TIMEOUT;
    while !wait_timeout(&child, LOOK) {
        if halt.is_set() {
            kill_group(&mut child);
            return Ok(StartOutcome::Halted);
        }
        if Instant::now() > until {
            kill_group(&mut child);
            return Err(Error::new(
                WHAT,
                format!("the program did not end within {} s", START_TIMEOUT.as_secs()),
            ));
        }
    }
    let status = child.wait().map_err(|error| Error::new(WHAT, error))?;
    if status.success() {
        Ok(StartOutcome::StepDone)
    } else {
        Err(Error::new(WHAT, describe_exit(status)))
    }
}

/// Adds the program's name, the line of its log that best explains the failure, and the log's path to an error.
fn explain(
    error: Error,
    station: &ExecContext,
    program: &Program,
    log: &Log,
    path: Option<String>,
) -> Error {
    let words = log.error_line().map(|words| format!(": {words}")).unwrap_or_default();
    let remedy = match path {
        Some(path) if error.remedy.is_empty() => format!("see the program's log {path}"),
        _ => error.remedy,
    };
    Error::new(
        format!("start {} in {}", program.name, station.name()),
        format!("{}{words}", error.why),
    )
    .with_remedy(remedy)
}

impl RunningPrograms {
    /// Returns true if no namespace has programs.
    pub(crate) fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// Creates a value without programs. Processes that are later started in `station` are killed with it.
    pub(crate) fn with_context(NamespaceId(space): NamespaceId, station: ExecContext) -> Self {
        Self { daemons: Vec::new(), contexts: BTreeMap::from([(space, station)]) }
    }

    /// Returns the mount namespace of a network namespace's programs. Returns `None` if it has no programs.
    pub(crate) fn mounts(&self, NamespaceId(space): NamespaceId) -> Option<Arc<MountNamespace>> {
        self.contexts.get(&space).map(ExecContext::shared_mounts)
    }

    /// Adds to an error which daemon has ended or, if all run, the last messages of the daemons.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let words = match self.check() {
            Err(ended) => Some(ended.to_string()),
            Ok(()) => self.last_messages(),
        };
        let why = [Some(error.why), words].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Error { why, ..error }
    }

    /// Returns the sockets of all programs that drop packets when they are full, each with the name of its program.
    pub(crate) fn sockets(&self) -> Vec<(String, ProcessSocket)> {
        let mut all: BTreeMap<u64, (String, ProcessSocket)> = BTreeMap::new();
        for pid in self.processes() {
            let Some((name, _)) = process_cpu_time(pid.as_raw_nonzero().get()) else { continue };
            let sockets = process_sockets(pid).into_iter();
            all.extend(sockets.map(|socket| (socket.inode, (name.clone(), socket))));
        }
        all.into_values().collect()
    }

    /// Returns the processes of all programs: those in their mount namespaces, and the descendants of daemons, some of
    /// which make mount namespaces of their own.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let inside = self.contexts.values().flat_map(|station| station.mounts().processes());
        let all = inside.chain(descendants(&self.daemon_pids()));
        let all: BTreeMap<i32, Pid> = all.map(|pid| (pid.as_raw_nonzero().get(), pid)).collect();
        all.into_values().collect()
    }

    /// Returns the PIDs of the daemons that run. That of one that has ended and was waited for may be another process's.
    fn daemon_pids(&self) -> Vec<Pid> {
        let running = |daemon: &Daemon| {
            let mut child = daemon.child.lock().unwrap_or_else(PoisonError::into_inner);
            matches!(child.try_wait(), Ok(None)).then(|| Pid::from_child(&child))
        };
        self.daemons.iter().filter_map(running).collect()
    }

    /// Runs a counter and returns its number of packets. Fails if its namespace has no programs, or if the counter
    /// fails.
    pub(crate) fn count(&self, counter: &PacketCounter) -> Result<u64, Error> {
        let NamespaceId(space) = counter.program.space;
        let what = format!("count {}", counter.description);
        let station = self.contexts.get(&space);
        let station = station.ok_or_else(|| Error::new(&what, "the namespace has no programs"))?;
        let output: CommandOutput = station.run(command(&counter.program)?, "")?;
        Ok(counter.sum(&output.into_stdout(&what)?))
    }
}

impl Drop for RunningPrograms {
    fn drop(&mut self) {
        kill_descendants(&self.daemon_pids());
        for daemon in self.daemons.iter_mut().rev() {
            kill_group(daemon.child.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
        for station in self.contexts.values() {
            station.mounts().kill_all();
        }
    }
}

impl NetworkDaemons for RunningPrograms {
    fn check(&self) -> Result<(), Error> {
        for Daemon { name, place, child, log } in &self.daemons {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            let what = || format!("keep {name} running in {place}");
            if let Some(status) = child.try_wait().map_err(|error| Error::new(what(), error))? {
                let words = log.error_line().map(|words| format!(": {words}"));
                let why = format!("{}{}", describe_exit(status), words.unwrap_or_default());
                return Err(Error::new(what(), why));
            }
        }
        Ok(())
    }

    fn last_messages(&self) -> Option<String> {
        let said = |daemon: &Daemon| Some(format!("{}: {}", daemon.name, daemon.log.error_line()?));
        let said: Vec<String> = self.daemons.iter().filter_map(said).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn cpu_time(&self) -> Duration {
        self.cpu_times().into_values().sum()
    }

    fn cpu_times(&self) -> BTreeMap<String, Duration> {
        let mut times: BTreeMap<String, Duration> = BTreeMap::new();
        let times_of = |pid: Pid| process_cpu_time(pid.as_raw_nonzero().get());
        for (name, time) in self.processes().into_iter().filter_map(times_of) {
            *times.entry(name).or_default() += time;
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_which_a_program_is_stays_visible() {
        let at = |path: &str| [Program::step(NamespaceId(0), path, ["x"])];
        assert_eq!(private_directories(&at("/usr/bin/x")).unwrap(), ["/run", "/tmp"]);
        assert_eq!(private_directories(&at("/tmp/x")).unwrap(), ["/run"]);
        assert!(private_directories(&at("no-such-program")).unwrap_err().remedy.contains("PATH"));
    }
}
