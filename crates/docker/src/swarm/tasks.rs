//! A network's tasks while it is measured: whether all are there, and what became of one that is not.

use super::account::{self, Account};
use super::relay::Swarm;
use crate::patience::patience;
use crate::process::DockerProcess;
use bollard::models::NodeState;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_network::{Daemons, Error, Exit, Process};

/// How long a manager may take to miss a node: it expects to hear of each every 5 s, and waits for three times as long.
const PATIENCE: Duration = Duration::from_secs(25);

/// How long after a program's sudden end the connection to its task may seem well.
const GRACE: Duration = Duration::from_secs(15);

/// How often is looked.
const TICK: Duration = Duration::from_millis(200);

/// One task.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// What it is called in its network: `client-0`.
    pub(super) name: String,
    /// What it is called at home.
    pub(super) task: String,
    /// Its service.
    pub(super) service: String,
    /// The node that it was meant for, by the Swarm's name.
    pub(super) node: String,
}

/// The tasks of one raised network.
pub(crate) struct Tasks {
    pub(super) swarm: Arc<Swarm>,
    pub(super) all: Vec<Member>,
}

impl Tasks {
    /// The first task whose connection is lost, and the kernel's words.
    fn lost(&self) -> Option<(&Member, String)> {
        self.all.iter().find_map(|one| match self.swarm.roll.of(&one.task) {
            Some(Err(why)) => Some((one, why)),
            Some(Ok(_)) | None => None,
        })
    }

    /// The same, where a program has ended suddenly and the connection may follow.
    fn lost_soon(&self) -> Option<(&Member, String)> {
        let deadline = Instant::now() + GRACE;
        loop {
            match self.lost() {
                None if Instant::now() < deadline => std::thread::sleep(TICK),
                found => return found,
            }
        }
    }

    /// What became of a task, as soon as its manager knows.
    fn explain(&self, lost: &Member, why: &str) -> Result<(), Error> {
        let deadline = Instant::now() + patience(PATIENCE);
        let what = format!("measure in {}", lost.name);
        loop {
            let node = self.swarm.members.name(&lost.node);
            let states = account::nodes(&self.swarm.engine)?;
            match states.get(&lost.node) {
                Some(NodeState::READY) => {}
                Some(state) => {
                    let why =
                        format!("the node {node} left the Swarm: its manager says it is {state}");
                    return Err(Error::new(what, why)
                        .with_remedy("docker node ls, and see the log of dockerd there"));
                }
                None => {
                    return Err(Error::new(
                        what,
                        format!("the node {node} was removed from the Swarm"),
                    ));
                }
            }
            let tasks = account::of_run(&self.swarm.engine, &self.swarm.run)?;
            let over = |one: &&Account| one.service == lost.service && one.is_over();
            if let Some(account) = tasks.iter().find(over) {
                let name = |id: &str| self.swarm.members.name(id).to_owned();
                let why = format!("its task {}", account.words(name));
                return Err(
                    Error::new(what, why).with_remedy(account.remedy(self.swarm.members.image()))
                );
            }
            if Instant::now() >= deadline {
                let why = format!("the connection to its task on {node} broke: {why}");
                return Err(Error::new(what, why).with_remedy(
                    "see whether the nodes reach each other by UDP 4789 and TCP and UDP 7946",
                ));
            }
            std::thread::sleep(TICK);
        }
    }
}

impl Daemons for Tasks {
    fn check(&self) -> Result<(), Error> {
        let suspect = self.swarm.roll.was_suspect();
        let lost = if suspect { self.lost_soon() } else { self.lost() };
        lost.map_or(Ok(()), |(one, why)| self.explain(one, &why))
    }

    fn words(&self) -> Option<String> {
        self.lost().map(|(one, why)| format!("{}: {why}", one.name))
    }

    fn cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// A program in a task: one that ends when nobody has asked it to is remembered.
pub(crate) struct TaskProcess {
    process: DockerProcess,
    tasks: Arc<Tasks>,
    asked: Arc<AtomicBool>,
}

impl TaskProcess {
    pub(crate) fn of(process: DockerProcess, tasks: &Arc<Tasks>) -> Self {
        Self { process, tasks: Arc::clone(tasks), asked: Arc::default() }
    }
}

impl Process for TaskProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        let input = self.process.take_input()?;
        Some(Box::new(Input { input, asked: Arc::clone(&self.asked) }))
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        let output = self.process.take_output()?;
        let (tasks, asked) = (Arc::clone(&self.tasks), Arc::clone(&self.asked));
        Some(Box::new(Output { output, tasks, asked }))
    }

    fn wait(&mut self) -> Result<Exit, Error> {
        self.process.wait()
    }

    fn kill(&mut self) {
        self.asked.store(true, Ordering::Relaxed);
        self.process.kill();
    }
}

impl Drop for TaskProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A program's input, whose end asks it to end.
struct Input {
    input: Box<dyn Write + Send>,
    asked: Arc<AtomicBool>,
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.flush()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

/// A program's output.
struct Output {
    output: Box<dyn Read + Send>,
    tasks: Arc<Tasks>,
    asked: Arc<AtomicBool>,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(buffer);
        if matches!(read, Ok(0) | Err(_)) && !self.asked.load(Ordering::Relaxed) {
            self.tasks.swarm.roll.suspect();
        }
        read
    }
}
