//! Session: the agents of one deployed topology, driven through one trial after another.
//!
//! Every wait has a deadline and checks for cancellation. After a failure the agents may be in any state: they are
//! ended, and the session cannot run another trial.

mod agent_pool;
mod assignment;
mod member;
mod reply_deadline;
mod running_agent;
mod sliced_trial;
mod suspension;

use crate::protocol::AgentOrder;
use agent_pool::AgentPool;
use assignment::{AgentAssignment, SessionContainers, assign_agents};
use member::MemberId;
use sliced_trial::SlicedTrial;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tare_network::{ClientRoute, Topology};
use tare_record::Nanos;
use tare_traffic::{
    Error, TrialJob, TrialOutcome, TrialTask, WorkloadRegistry, WorkloadRequest, clock,
    merge_reports,
};

/// Time within which an agent must start, listen, or connect all its flows.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// Additional time for each of the session's members: all of them share a few cores.
const SET_UP_PER_MEMBER: Duration = Duration::from_millis(20);

/// Time by which clients learn of their common beginning in advance, and additional time for each client.
const START_LEAD: Duration = Duration::from_millis(5);
const START_LEAD_PER_CLIENT: Duration = Duration::from_micros(200);

/// Time that a side may take beyond the trial's duration to report its counts.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Agents of one deployed topology. Dropping it ends them.
#[derive(Debug)]
pub struct AgentSession {
    /// The agents. `None` after a failure.
    agents: Option<AgentPool>,
    workloads: WorkloadRegistry,
    servers: usize,
    clients: usize,
    processes: usize,
    routes: Vec<ClientRoute>,
    /// Relation of the agents' monotonic clocks.
    clock: AgentClocks,
    /// Trial in slices that is under way.
    sliced: Option<SlicedTrial>,
}

/// Relation of the monotonic clocks that a session's agents read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentClocks {
    /// All agents read the clock that the session reads.
    SameAsSession,
    /// All agents read the same clock, but not the session's.
    SameElsewhere,
    /// The agents read several clocks, or unknown ones.
    Different,
}

impl AgentClocks {
    fn from_names(names: &BTreeSet<String>) -> Self {
        match names.first() {
            Some(name) if names.len() > 1 || name.is_empty() => Self::Different,
            Some(name) if *name == clock::name() => Self::SameAsSession,
            Some(_) => Self::SameElsewhere,
            None => Self::Different,
        }
    }
}

impl AgentSession {
    /// Starts an agent in every server and in every client.
    ///
    /// # Errors
    /// Returns an error if an agent does not start, or does not report its start in time: ten seconds and 20 ms for
    /// each agent.
    pub fn open(topology: &Topology, workloads: &WorkloadRegistry) -> Result<Self, Error> {
        Self::with_processes(topology, 1, workloads)
    }

    /// Starts an agent in every server, and one for each client process in every client.
    ///
    /// If one machine has more than 32 members, agents are shared: one process for each side and core serves many
    /// containers, on threads that have entered their network namespaces; a client process is such a thread.
    ///
    /// # Errors
    /// As [`AgentSession::open`].
    pub fn with_processes(
        topology: &Topology,
        processes: u32,
        workloads: &WorkloadRegistry,
    ) -> Result<Self, Error> {
        let processes = processes.max(1) as usize;
        let clients =
            topology.clients.iter().flat_map(|client| std::iter::repeat_n(client, processes));
        let containers = topology.servers.iter().chain(clients).map(AsRef::as_ref).collect();
        let everybody = SessionContainers { containers, servers: topology.servers.len() };
        let mut crew = AgentPool::default();
        for seating in assign_agents(&everybody, core_count()) {
            match seating {
                AgentAssignment::Own(member, container) => crew.start_agent(member, container)?,
                AgentAssignment::Shared(members) => crew.start_shared_agent(&members)?,
            }
        }
        let clock =
            AgentClocks::from_names(&crew.await_hello(set_up_timeout(everybody.containers.len()))?);
        Ok(Self {
            agents: Some(crew),
            workloads: workloads.clone(),
            servers: topology.servers.len(),
            clients: topology.clients.len(),
            processes,
            routes: topology.routes.clone(),
            clock,
            sliced: None,
        })
    }

    /// Returns the number of agents that serve this many servers and client processes on this machine.
    #[must_use]
    pub fn agent_count(members: usize) -> usize {
        assignment::agent_count(members, core_count())
    }

    /// Returns the process IDs of the agents that run on this machine.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        self.agents.iter().flat_map(AgentPool::process_ids).collect()
    }

    /// Runs one trial.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the caller cancelled, otherwise the first failure. The session has then ended; open
    /// another one.
    pub fn run_trial(
        &mut self,
        job: &TrialJob,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<TrialOutcome, Error> {
        let tasks = self.build_tasks(job)?;
        let times = workload_times(&self.workloads, job, &tasks)?;
        let (clock, runs_programs) = (self.clock, self.runs_programs(job)?);
        self.with_agents(cancelled, |crew| {
            crew.expect_programs(runs_programs);
            conduct_trial(crew, tasks, times, clock, cancelled)
        })
    }

    /// Connects the flows of a trial in slices, of which none runs yet.
    ///
    /// # Errors
    /// As [`AgentSession::run_trial`].
    pub fn begin_slices(
        &mut self,
        job: &TrialJob,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let tasks = self.build_tasks(job)?;
        let times = workload_times(&self.workloads, job, &tasks)?;
        let (clock, runs_programs) = (self.clock, self.runs_programs(job)?);
        let sliced = self.with_agents(cancelled, |crew| {
            crew.expect_programs(runs_programs);
            SlicedTrial::connect(crew, tasks, &times, clock, cancelled)
        })?;
        self.sliced = Some(sliced);
        Ok(())
    }

    /// Runs the next slice of the trial that [`AgentSession::begin_slices`] connected.
    ///
    /// # Errors
    /// As [`AgentSession::run_trial`].
    pub fn run_slice(&mut self, cancelled: &dyn Fn() -> bool) -> Result<(), Error> {
        let sliced = self.sliced.take().ok_or_else(Error::not_in_slices)?;
        self.with_agents(cancelled, |crew| sliced.run_slice(crew, cancelled))?;
        self.sliced = Some(sliced);
        Ok(())
    }

    /// Ends the trial in slices, and returns its outcome.
    ///
    /// # Errors
    /// As [`AgentSession::run_trial`].
    pub fn finish_slices(&mut self, cancelled: &dyn Fn() -> bool) -> Result<TrialOutcome, Error> {
        let sliced = self.sliced.take().ok_or_else(Error::not_in_slices)?;
        self.with_agents(cancelled, |crew| sliced.finish(crew, cancelled))
    }

    /// Runs a part of a trial with the agents. The session has none until that has succeeded: on a failure they are
    /// ended.
    fn with_agents<T>(
        &mut self,
        cancelled: &dyn Fn() -> bool,
        part: impl FnOnce(&mut AgentPool) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut crew = self.agents.take().ok_or_else(|| {
            Error::Job(
                "the session ended when its last trial failed: set up the network again".to_owned(),
            )
        })?;
        let result = part(&mut crew).map_err(|error| {
            // A signal to the whole process group ends agents too: then the caller cancelled, and the trial did not
            // fail.
            if cancelled() { Error::Cancelled } else { error }
        })?;
        self.agents = Some(crew);
        Ok(result)
    }

    /// Builds the tasks of all agents, by side. A server to which no client is routed gets none.
    fn build_tasks(&self, job: &TrialJob) -> Result<SideTasks, Error> {
        if job.shape.processes.max(1) as usize != self.processes {
            return Err(Error::Job(format!(
                "the trial needs {} processes of each client, but the session has {}: open another session",
                job.shape.processes, self.processes
            )));
        }
        let blank = TrialTask {
            workload: job.workload.clone(),
            parameters: job.parameters.clone(),
            addresses: Vec::new(),
            flows: job.shape.flows,
            client: 0,
            index: 0,
            peers: 0,
            client_processes: (self.clients * self.processes) as u32,
            processes: self.processes as u32,
            cpus: job.shape.cpus.clone(),
            duration: job.duration + self.begin_allowance(job)?,
            interval: job.interval,
            slices: job.slices,
            token: RandomState::new().hash_one(std::process::id()),
            answer_rate: None,
            one_clock: self.clock != AgentClocks::Different,
        };
        let tasks = SideTasks {
            servers: self.server_tasks(job, &blank),
            clients: self.client_tasks(job, &blank)?,
            server_of: self.servers_of_clients(job),
        };
        tasks.servers.iter().chain(&tasks.clients).try_for_each(|(_, task)| task.validate())?;
        Ok(tasks)
    }

    /// Returns the time that a trial lasts longer so that all clients run together for its duration. With one agent for
    /// many of them they share few cores, and the last begins long after the first.
    fn begin_allowance(&self, job: &TrialJob) -> Result<Nanos, Error> {
        let clients = self.clients * self.processes;
        let is_crowd = clients > assignment::MAX_OWN_AGENTS;
        Ok(if is_crowd && job.slices.is_none() && !self.runs_programs(job)? {
            Nanos::from(BEGIN_PER_CLIENT * clients as u32)
        } else {
            Nanos(0)
        })
    }

    /// Returns whether a trial's traffic is that of external programs.
    fn runs_programs(&self, job: &TrialJob) -> Result<bool, Error> {
        Ok(!self.workloads.find(&job.workload)?.programs().is_empty())
    }

    fn server_tasks(&self, job: &TrialJob, blank: &TrialTask) -> Vec<(MemberId, TrialTask)> {
        let per_client = job.shape.flows.saturating_mul(self.processes as u32);
        (0..self.servers)
            .filter_map(|server| {
                let routes =
                    || routes(&self.routes, job).filter(move |route| route.server == server);
                let clients = (0..self.clients)
                    .filter(|client| routes().any(|route| route.client == *client))
                    .count();
                let task = TrialTask {
                    addresses: routes().map(|route| route.listen).collect(),
                    flows: per_client.saturating_mul(clients as u32),
                    index: server as u32,
                    peers: self.servers as u32,
                    ..blank.clone()
                };
                (clients > 0).then_some((MemberId(server), task))
            })
            .collect()
    }

    /// Returns the server that each client process sends to.
    fn servers_of_clients(&self, job: &TrialJob) -> BTreeMap<MemberId, MemberId> {
        routes(&self.routes, job)
            .flat_map(|route| {
                let first = self.servers + route.client * self.processes;
                let server = MemberId(route.server);
                (first..first + self.processes).map(move |client| (MemberId(client), server))
            })
            .collect()
    }

    fn client_tasks(
        &self,
        job: &TrialJob,
        blank: &TrialTask,
    ) -> Result<Vec<(MemberId, TrialTask)>, Error> {
        let peers = self.clients * self.processes;
        (0..peers)
            .map(|index| {
                let client = index / self.processes;
                let addresses: Vec<_> = routes(&self.routes, job)
                    .filter(|route| route.client == client)
                    .map(|route| route.dial)
                    .collect();
                if addresses.len() != job.ports.len() {
                    return Err(Error::Job(format!(
                        "client {client} has routes to {} of the {} ports of {}",
                        addresses.len(),
                        job.ports.len(),
                        job.workload
                    )));
                }
                let (client, index, peers) = (client as u32, index as u32, peers as u32);
                let task = TrialTask { addresses, client, index, peers, ..blank.clone() };
                Ok((MemberId(self.servers + index as usize), task))
            })
            .collect()
    }
}

/// Time within which the clients of a crowd begin, for each of them. On two idle cores two thousand begin within 0.8 s,
/// beside other work within 3 s, as each that has begun keeps the cores from the others.
const BEGIN_PER_CLIENT: Duration = Duration::from_millis(2);

/// Returns the routes to a job's ports.
fn routes<'r>(all: &'r [ClientRoute], job: &'r TrialJob) -> impl Iterator<Item = &'r ClientRoute> {
    all.iter().filter(|route| job.ports.contains(&route.listen.port()))
}

/// Times that a workload needs in addition to the usual ones, and the kind of its servers.
struct WorkloadTimes {
    /// Time for which its clients generate traffic.
    duration: Duration,
    /// Time that its servers need to start.
    startup: Duration,
    /// True if its servers are external programs, which may exit on their own.
    external_servers: bool,
}

/// Returns the times of a job's workload, or an error if the workload cannot do the job.
fn workload_times(
    workloads: &WorkloadRegistry,
    job: &TrialJob,
    tasks: &SideTasks,
) -> Result<WorkloadTimes, Error> {
    let workload = workloads.find(&job.workload)?;
    let (parameters, shape, duration) = (&job.parameters, &job.shape, job.duration);
    workload.validate(&WorkloadRequest { parameters, shape, duration, networks: 1 })?;
    Ok(WorkloadTimes {
        duration: tasks
            .clients
            .iter()
            .map(|(_, task)| workload.duration(task))
            .max()
            .unwrap_or_default(),
        startup: workload.startup_allowance(parameters),
        external_servers: !workload.programs().is_empty(),
    })
}

/// Tasks of all members in one trial.
struct SideTasks {
    servers: Vec<(MemberId, TrialTask)>,
    clients: Vec<(MemberId, TrialTask)>,
    /// Server that each client process sends to.
    server_of: BTreeMap<MemberId, MemberId>,
}

/// Returns the number of cores that this process may use.
fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the time limit for this many members to do what each does alone.
fn set_up_timeout(members: usize) -> Duration {
    SET_UP_TIMEOUT + SET_UP_PER_MEMBER * members as u32
}

/// Returns the time at which this many clients begin together, by their clock. Returns `None` for a single client, or
/// if they read another clock than the session: each then begins on receipt of its order.
fn common_start(clients: usize, clock: AgentClocks) -> Option<Nanos> {
    let together = clients > 1 && clock == AgentClocks::SameAsSession;
    together
        .then(|| clock::now() + Nanos::from(START_LEAD + START_LEAD_PER_CLIENT * clients as u32))
}

/// Runs one trial: servers are ready before any client connects, all clients are connected before any generates, and
/// all generate from the same moment.
fn conduct_trial(
    crew: &mut AgentPool,
    tasks: SideTasks,
    WorkloadTimes { duration: lasts, startup: starts, external_servers: programs }: WorkloadTimes,
    clock: AgentClocks,
    cancelled: &dyn Fn() -> bool,
) -> Result<TrialOutcome, Error> {
    let orders = |side: Vec<(MemberId, TrialTask)>, order: fn(TrialTask) -> AgentOrder| {
        side.into_iter().map(|(member, task)| (member, order(task))).collect::<Vec<_>>()
    };
    let members =
        |side: &[(MemberId, TrialTask)]| side.iter().map(|(member, _)| *member).collect::<Vec<_>>();
    let (servers, clients) = (members(&tasks.servers), members(&tasks.clients));
    let set_up = set_up_timeout(servers.len() + clients.len());
    crew.prepare(orders(tasks.servers, AgentOrder::Serve), set_up + starts, cancelled)?;
    crew.prepare(orders(tasks.clients, AgentOrder::Connect), set_up, cancelled)?;
    let to_all = |members: &[MemberId], order: AgentOrder| {
        members.iter().map(|one| (*one, order.clone())).collect()
    };
    let go = to_all(&clients, AgentOrder::Go { at: common_start(clients.len(), clock) });
    let mut sent = match crew.collect(go, lasts + set_up, cancelled) {
        Err(error) if programs && !cancelled() => {
            return Err(crew.prefer_server_error(servers.into_iter().collect(), error));
        }
        sent => sent?,
    };
    let finish = to_all(&servers, AgentOrder::Finish);
    let mut received = crew.collect(finish, set_up.max(REPORT_TIMEOUT), cancelled)?;
    if clock == AgentClocks::Different {
        sent.iter_mut().chain(&mut received).for_each(|report| report.epoch = None);
    }
    Ok(merge_reports(received, sent)?)
}
