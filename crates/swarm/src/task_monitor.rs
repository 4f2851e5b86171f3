//! Monitor of a network's tasks during trials: it detects lost tasks, and finds out what happened to them.

use crate::session::SwarmSession;
use crate::task_status::{self, TaskStatus};
use bollard::models::NodeState;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_docker::container::ProgramSupervisor;
use tare_docker::process::DockerProcess;
use tare_network::scaled_timeout;
use tare_network::{Error, NetworkDaemons, Process, ProcessExit};

/// Timeout for a manager to notice that a node is gone. It expects a heartbeat of each node every 5 s, and waits for
/// three periods.
const NODE_TIMEOUT: Duration = Duration::from_secs(25);

/// Time for which the connection to a task may seem intact after a program in it ended suddenly.
const LOSS_TIMEOUT: Duration = Duration::from_secs(15);

/// Interval of polling for lost connections and the manager's reports.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Task of a network.
#[derive(Clone, Debug)]
pub(crate) struct NetworkTask {
    /// Name within the network: `client-0`.
    pub(crate) name: String,
    /// Name at the tunnel server.
    pub(crate) task: String,
    /// Id of the task's service.
    pub(crate) service: String,
    /// Id of the node that the task was placed on.
    pub(crate) node: String,
}

/// Tasks of one raised network.
pub(crate) struct TaskMonitor {
    pub(crate) swarm: Arc<SwarmSession>,
    pub(crate) all: Vec<NetworkTask>,
}

impl TaskMonitor {
    /// Returns the first task whose connection is lost, and the kernel's reason.
    fn find_lost(&self) -> Option<(&NetworkTask, String)> {
        self.all.iter().find_map(|one| match self.swarm.registry.snapshot_of(&one.task) {
            Some(Err(why)) => Some((one, why)),
            Some(Ok(_)) | None => None,
        })
    }

    /// Waits for a lost connection, after a program has ended suddenly.
    fn await_lost(&self) -> Option<(&NetworkTask, String)> {
        let deadline = Instant::now() + LOSS_TIMEOUT;
        loop {
            match self.find_lost() {
                None if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
                found => return found,
            }
        }
    }

    /// Returns an error that says what happened to a task, as soon as its manager knows.
    fn explain_loss(&self, lost: &NetworkTask, why: &str) -> Result<(), Error> {
        let deadline = Instant::now() + scaled_timeout(NODE_TIMEOUT);
        let what = format!("measure in {}", lost.name);
        loop {
            let node = self.swarm.nodes.hostname(&lost.node);
            let states = task_status::node_states(&self.swarm.engine)?;
            match states.get(&lost.node) {
                Some(NodeState::READY) => {}
                Some(state) => {
                    let why = format!(
                        "the node {node} left the Swarm: the manager reports the node as {state}"
                    );
                    return Err(Error::new(what, why)
                        .with_remedy("see `docker node ls`, and the log of dockerd on that node"));
                }
                None => {
                    return Err(Error::new(
                        what,
                        format!("the node {node} was removed from the Swarm"),
                    ));
                }
            }
            let tasks = task_status::list_tasks(&self.swarm.engine, &self.swarm.run)?;
            let over = |one: &&TaskStatus| one.service == lost.service && one.is_over();
            if let Some(account) = tasks.iter().find(over) {
                let name = |id: &str| self.swarm.nodes.hostname(id).to_owned();
                let why = format!("the task {}", account.describe(name));
                return Err(
                    Error::new(what, why).with_remedy(account.remedy(self.swarm.nodes.image()))
                );
            }
            if Instant::now() >= deadline {
                let why = format!("the connection to the task on {node} broke: {why}");
                return Err(Error::new(what, why).with_remedy(
                    "check that the nodes reach each other on UDP port 4789 and TCP and UDP port 7946",
                ));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl ProgramSupervisor for TaskMonitor {
    fn supervise(self: Arc<Self>, process: DockerProcess) -> Box<dyn Process> {
        Box::new(TaskProcess { process, tasks: self, end_requested: Arc::default() })
    }
}

impl NetworkDaemons for TaskMonitor {
    fn check(&self) -> Result<(), Error> {
        let suspect = self.swarm.registry.take_sudden_end();
        let lost = if suspect { self.await_lost() } else { self.find_lost() };
        lost.map_or(Ok(()), |(one, why)| self.explain_loss(one, &why))
    }

    fn last_messages(&self) -> Option<String> {
        self.find_lost().map(|(one, why)| format!("{}: {why}", one.name))
    }

    fn cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// Program in a task. If it ends without a request to end, that is recorded.
struct TaskProcess {
    process: DockerProcess,
    tasks: Arc<TaskMonitor>,
    end_requested: Arc<AtomicBool>,
}

impl Process for TaskProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        let input = self.process.take_input()?;
        Some(Box::new(TaskInput { input, end_requested: Arc::clone(&self.end_requested) }))
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        let output = self.process.take_output()?;
        let (tasks, asked) = (Arc::clone(&self.tasks), Arc::clone(&self.end_requested));
        Some(Box::new(TaskOutput { output, tasks, end_requested: asked }))
    }

    fn wait(&mut self) -> Result<ProcessExit, Error> {
        self.process.wait()
    }

    fn kill(&mut self) {
        self.end_requested.store(true, Ordering::Relaxed);
        self.process.kill();
    }
}

impl Drop for TaskProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Input of a program; dropping it counts as a request to end.
struct TaskInput {
    input: Box<dyn Write + Send>,
    end_requested: Arc<AtomicBool>,
}

impl Write for TaskInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.flush()
    }
}

impl Drop for TaskInput {
    fn drop(&mut self) {
        self.end_requested.store(true, Ordering::Relaxed);
    }
}

/// Output of a program.
struct TaskOutput {
    output: Box<dyn Read + Send>,
    tasks: Arc<TaskMonitor>,
    end_requested: Arc<AtomicBool>,
}

impl Read for TaskOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(buffer);
        if matches!(read, Ok(0) | Err(_)) && !self.end_requested.load(Ordering::Relaxed) {
            self.tasks.swarm.registry.record_sudden_end();
        }
        read
    }
}
