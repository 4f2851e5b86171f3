//! The programs of a network that is up.

use super::halt::Halt;
use super::mounts::PRIVATE;
use super::process::{ended, ends_within, kill_group};
use super::ready;
use super::station::{PATIENCE, find};
use super::{Counter, Log, Mounts, Output, Program, Ready, Station};
use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::sys;
use crate::wiring::{SpaceId, Wiring};
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Daemons, Error};

/// A daemon that was ready.
struct Daemon {
    name: String,
    place: String,
    child: Mutex<Child>,
    log: Log,
}

/// The programs of a network. Dropping it ends them, and whatever they have started.
#[derive(Default)]
pub(crate) struct Running {
    daemons: Vec<Daemon>,
    stations: BTreeMap<usize, Station>,
}

/// Starts the programs of a wiring that was built, held to the cores where there are any, and returns when the last one of
/// each namespace is ready. Logs go to files in a directory, or, without one, to memory.
pub(crate) fn start(
    lab: &Arc<Lab>,
    wiring: &Wiring,
    spaces: &[Arc<Namespace>],
    cores: Option<CpuSet>,
    logs: Option<&Path>,
) -> Result<Running, Error> {
    let mut running = Running::default();
    let mut plans: BTreeMap<usize, Vec<(&Program, Log)>> = BTreeMap::new();
    for program in &wiring.programs {
        let SpaceId(space) = program.space;
        let name = format!("{}-{}", wiring.name(program.space), program.name);
        plans.entry(space).or_default().push((program, Log::open(logs, &name)?));
    }
    let private = private(&wiring.programs)?;
    for &space in plans.keys() {
        let mounts = Mounts::make(&spaces[space], spaces, &private)?;
        running.stations.insert(space, Station::new(lab, &spaces[space], mounts).held_to(cores));
    }
    let halt = Halt::default();
    // What one namespace has started is held, and so ended, also where another one fails.
    let outcomes: Vec<(Vec<Daemon>, Result<(), Error>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = plans
            .into_iter()
            .map(|(space, plan)| {
                let (station, halt) = (&running.stations[&space], &halt);
                scope.spawn(move || start_all(station, plan, halt))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    });
    let mut outcome = Ok(());
    for (daemons, done) in outcomes {
        running.daemons.extend(daemons);
        outcome = outcome.and(done);
    }
    outcome.map(|()| running)
}

fn panicked() -> (Vec<Daemon>, Result<(), Error>) {
    (Vec::new(), Err(Error::new("start a network's programs", "the thread panicked")))
}

/// The private directories, but for those in which one of the programs itself is.
fn private(programs: &[Program]) -> Result<Vec<&'static str>, Error> {
    let mut private = PRIVATE.to_vec();
    for program in programs {
        let path = find(&program.program)?;
        private.retain(|directory| !path.starts_with(directory));
    }
    Ok(private)
}

/// Starts the programs of one namespace, in a thread that ends with this function. Where another namespace has failed, it
/// gives up without an error: that one's tells why.
fn start_all(
    station: &Station,
    plan: Vec<(&Program, Log)>,
    halt: &Halt,
) -> (Vec<Daemon>, Result<(), Error>) {
    let mut daemons = Vec::new();
    let all = || {
        station.mounts().enter()?;
        for (program, log) in plan {
            write_files(program)?;
            let path = log.path().map(|path| path.display().to_string());
            let started = start_one(station, program, &log, halt);
            match started.map_err(|error| explained(error, station, program, &log, path))? {
                Started::Step => {}
                Started::Daemon(child) => daemons.push(Daemon {
                    name: program.name.clone(),
                    place: station.name().to_owned(),
                    child: Mutex::new(child),
                    log,
                }),
                Started::Halted => return Ok(()),
            }
        }
        Ok(())
    };
    let outcome = all();
    if outcome.is_err() {
        halt.call();
    }
    (daemons, outcome)
}

fn write_files(program: &Program) -> Result<(), Error> {
    program.files.iter().try_for_each(|(path, text)| {
        fs::write(path, text).map_err(|error| Error::new(format!("write {path}"), error))
    })
}

/// What became of a program that was started.
enum Started {
    /// It did what it had to do.
    Step,
    /// It is ready.
    Daemon(Child),
    /// It was ended, for another namespace has failed.
    Halted,
}

/// Starts one program and waits until it is ready.
fn start_one(
    station: &Station,
    program: &Program,
    log: &Log,
    halt: &Halt,
) -> Result<Started, Error> {
    let mut command = command(program)?;
    command.stdin(Stdio::null()).stdout(log.stream()?).stderr(log.stream()?);
    let mut child =
        if program.at_home { station.start_at_home(command) } else { station.start(command) }?;
    if program.ready == Ready::Ended {
        return finish(child, halt);
    }
    match ready::wait(station, &program.ready, &mut child, log, halt) {
        Ok(true) => Ok(Started::Daemon(child)),
        Ok(false) => {
            kill_group(&mut child);
            Ok(Started::Halted)
        }
        Err(error) => {
            kill_group(&mut child);
            Err(error)
        }
    }
}

fn command(program: &Program) -> Result<Command, Error> {
    let mut command = Command::new(find(&program.program)?);
    command.args(&program.arguments);
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Waits for the end of a step.
fn finish(mut child: Child, halt: &Halt) -> Result<Started, Error> {
    const WHAT: &str = "wait for its end";
    /// Between two looks at whether others have failed.
    const LOOK: Duration = Duration::from_millis(100);
    let until = Instant::now() + PATIENCE;
    while !ends_within(&child, LOOK) {
        if halt.is_called() {
            kill_group(&mut child);
            return Ok(Started::Halted);
        }
        if Instant::now() > until {
            kill_group(&mut child);
            return Err(Error::new(WHAT, format!("it has not ended in {} s", PATIENCE.as_secs())));
        }
    }
    let status = child.wait().map_err(|error| Error::new(WHAT, error))?;
    if status.success() { Ok(Started::Step) } else { Err(Error::new(WHAT, ended(status))) }
}

/// What went wrong with a program, in its own words where it has said any.
fn explained(
    error: Error,
    station: &Station,
    program: &Program,
    log: &Log,
    path: Option<String>,
) -> Error {
    let words = log.last_words().map(|words| format!(": {words}")).unwrap_or_default();
    let remedy = match path {
        Some(path) if error.remedy.is_empty() => format!("its log is {path}"),
        _ => error.remedy,
    };
    Error::new(
        format!("start {} in {}", program.name, station.name()),
        format!("{}{words}", error.why),
    )
    .with_remedy(remedy)
}

impl Running {
    /// Whether there is any program at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// None yet; what others start in this station is ended with it.
    pub(crate) fn at(SpaceId(space): SpaceId, station: Station) -> Self {
        Self { daemons: Vec::new(), stations: BTreeMap::from([(space, station)]) }
    }

    /// The view of files of a namespace's programs, where it has any.
    pub(crate) fn mounts(&self, SpaceId(space): SpaceId) -> Option<Arc<Mounts>> {
        self.stations.get(&space).map(Station::shared_mounts)
    }

    /// An error with what the programs have to say to it.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let words = match self.check() {
            Err(ended) => Some(ended.to_string()),
            Ok(()) => self.words(),
        };
        let why = [Some(error.why), words].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Error { why, ..error }
    }

    /// How many packets a counter tells of.
    pub(crate) fn count(&self, counter: &Counter) -> Result<u64, Error> {
        let SpaceId(space) = counter.asked.space;
        let what = format!("count {}", counter.what);
        let station = self.stations.get(&space);
        let station = station.ok_or_else(|| Error::new(&what, "no program runs there"))?;
        let output: Output = station.run(command(&counter.asked)?, "")?;
        Ok(counter.read(&output.success(&what)?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            kill_group(daemon.child.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
        for station in self.stations.values() {
            station.mounts().kill_all();
        }
    }
}

impl Daemons for Running {
    fn check(&self) -> Result<(), Error> {
        for Daemon { name, place, child, log } in &self.daemons {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            let what = || format!("go on with {name} in {place}");
            if let Some(status) = child.try_wait().map_err(|error| Error::new(what(), error))? {
                let words = log.last_words().map(|words| format!(": {words}"));
                let why = format!("{}{}", ended(status), words.unwrap_or_default());
                return Err(Error::new(what(), why));
            }
        }
        Ok(())
    }

    fn words(&self) -> Option<String> {
        let said = |daemon: &Daemon| Some(format!("{}: {}", daemon.name, daemon.log.last_words()?));
        let said: Vec<String> = self.daemons.iter().filter_map(said).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn cpu_time(&self) -> Duration {
        self.cpu_times().into_values().sum()
    }

    fn cpu_times(&self) -> BTreeMap<String, Duration> {
        let processes = self.stations.values().flat_map(|station| station.mounts().processes());
        let mut times: BTreeMap<String, Duration> = BTreeMap::new();
        for (name, time) in processes.filter_map(|pid| taken(pid.as_raw_nonzero().get())) {
            *times.entry(name).or_default() += time;
        }
        times
    }
}

/// The name of a process, and the CPU time of it and of its children that it has waited for. Its own is exact, to the
/// clock; the children's is in ticks, of which a short-lived daemon on a fast machine takes none.
fn taken(pid: i32) -> Option<(String, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold anything: state, then by proc_pid_stat(5) cutime is the 14th, cstime.
    let (_, name) = stat.split_once('(')?;
    let (name, fields) = name.rsplit_once(") ")?;
    let times = fields.split(' ').skip(13).take(2).map(|field| field.parse::<u64>().ok());
    Some((name.to_owned(), sys::clock::cpu_time(pid)? + in_time(times.sum::<Option<u64>>()?)))
}

/// How long so many ticks are.
fn in_time(ticks: u64) -> Duration {
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000) / a_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_its_own_and_that_of_children_that_have_ended() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (usage, clock) = (sys::clock::usage, || sys::clock::cpu_time(pid).unwrap());
        // The kernel ends the child after a second of CPU time, which it counts by ticks: half of it is certain.
        let burn = "ulimit -t 1; while :; do :; done";
        let ended = std::process::Command::new("sh").args(["-c", burn]).status().unwrap();
        assert!(!ended.success());
        let least = clock() + usage(libc::RUSAGE_CHILDREN);
        let (name, time) = taken(pid).unwrap();
        let most = clock() + usage(libc::RUSAGE_CHILDREN);
        assert!(usage(libc::RUSAGE_CHILDREN) >= Duration::from_millis(500));
        // Of children, user and system time are each told in whole ticks.
        assert!(time + in_time(2) >= least, "{time:?} is less than {least:?}");
        assert!(time <= most + Duration::from_micros(2), "{time:?} is more than {most:?}");
        let said = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(name, said.trim_end());
        assert_eq!(taken(0), None);
    }

    #[test]
    fn a_directory_in_which_a_program_is_stays_visible() {
        let at = |path: &str| [Program::step(SpaceId(0), path, ["x"])];
        assert_eq!(private(&at("/usr/bin/x")).unwrap(), ["/run", "/tmp"]);
        assert_eq!(private(&at("/tmp/x")).unwrap(), ["/run"]);
        assert!(private(&at("no-such-program")).unwrap_err().remedy.contains("PATH"));
    }
}
