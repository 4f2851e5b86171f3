//! The session: the agents of one raised topology, driven through one trial after another.
//!
//! Every wait has a deadline and looks at the caller's wish to stop. After whatever went wrong the agents may be in
//! the middle of anything: they are ended, and the session can do nothing more.

mod crew;
mod remote;
mod seating;

use crate::protocol::Order;
use crate::{Asked, Error, Task, clock, merge, workloads};
use crew::{Crew, Member};
use seating::{Everybody, Seating, seat};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tare_network::{Route, Topology};
use tare_record::{AgentsCpu, Ends, Finding, Nanos, Parameters, Search, Series, Shape};

/// How long an agent may take to start, to listen or to connect all its flows.
const SET_UP: Duration = Duration::from_secs(10);

/// How much longer for each of the session's members: all of them share a few cores.
const SET_UP_EACH: Duration = Duration::from_millis(20);

/// How long before their common beginning clients are told of it, and how much longer for each of them.
const LEAD: Duration = Duration::from_millis(5);
const LEAD_EACH: Duration = Duration::from_micros(200);

/// How long a side may take beyond the trial's duration to say what it counted.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// One trial to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The workload's name.
    pub workload: String,
    /// Its parameters, resolved.
    pub parameters: Parameters,
    /// How many processes and flows, and on which cores.
    pub shape: Shape,
    /// The site's ports that this workload serves on.
    pub ports: Vec<u16>,
    /// How long payload flows, ns.
    pub duration: Nanos,
    /// How long an interval record is, ns.
    pub interval: Nanos,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Interval records, one series a client.
    pub series: Vec<Series>,
    /// What each end counted over the whole trial.
    pub ends: Ends,
    /// What was really in force: the job's parameters, congestion control, buffers granted, cores.
    pub parameters: Parameters,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// CPU time of all threads that carried traffic, ns.
    pub agents_cpu: Nanos,
    /// The same by side and interval.
    pub agents: AgentsCpu,
    /// When the first payload was there, by the agents' monotonic clock, where they have one in common.
    pub epoch: Option<Nanos>,
    /// What a search tried and found.
    pub search: Option<Search>,
}

/// The agents of one raised topology. Dropping it ends them.
#[derive(Debug)]
pub struct Session {
    /// The agents; nothing after something went wrong.
    crew: Option<Crew>,
    servers: usize,
    clients: usize,
    processes: usize,
    routes: Vec<Route>,
    /// Which monotonic clock it is that all agents read.
    clock: Clock,
}

/// Which monotonic clocks a session's agents read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// The one that the session itself reads.
    Ours,
    /// All the same, but another one than the session.
    Another,
    /// Several, or nobody knows.
    Several,
}

impl Clock {
    fn of(names: &BTreeSet<String>) -> Self {
        match names.first() {
            Some(name) if names.len() > 1 || name.is_empty() => Self::Several,
            Some(name) if *name == clock::name() => Self::Ours,
            Some(_) => Self::Another,
            None => Self::Several,
        }
    }
}

impl Session {
    /// Starts an agent in every server and in every client.
    ///
    /// # Errors
    /// When one does not start, or does not say within ten seconds that it has.
    pub fn open(topology: &Topology) -> Result<Self, Error> {
        Self::with_processes(topology, 1)
    }

    /// Starts an agent in every server, and as many as there are client processes in every client.
    ///
    /// Of more than 32 on one machine, agents are shared: one process a side and core serves many containers, on threads
    /// that have entered their network namespaces, and a client process is such a thread.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn with_processes(topology: &Topology, processes: u32) -> Result<Self, Error> {
        let processes = processes.max(1) as usize;
        let clients =
            topology.clients.iter().flat_map(|client| std::iter::repeat_n(client, processes));
        let containers = topology.servers.iter().chain(clients).map(AsRef::as_ref).collect();
        let everybody = Everybody { containers, servers: topology.servers.len() };
        let mut crew = Crew::default();
        for seating in seat(&everybody, cores()) {
            match seating {
                Seating::Own(member, container) => crew.enlist(member, container)?,
                Seating::Shared(members) => crew.enlist_together(&members)?,
            }
        }
        let clock = Clock::of(&crew.greet(set_up(everybody.containers.len()))?);
        Ok(Self {
            crew: Some(crew),
            servers: topology.servers.len(),
            clients: topology.clients.len(),
            processes,
            routes: topology.routes.clone(),
            clock,
        })
    }

    /// How many agents serve so many servers and client processes on this machine.
    #[must_use]
    pub fn agents(members: usize) -> usize {
        seating::agents(members, cores())
    }

    /// The numbers of the agents' processes, as far as they run on this machine.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.crew.iter().flat_map(Crew::processes).collect()
    }

    /// Does one trial.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the caller wished it, else what went wrong first. Afterwards this session is at its
    /// end; open another one.
    pub fn trial(&mut self, job: &Job, cancelled: &dyn Fn() -> bool) -> Result<Outcome, Error> {
        let tasks = self.tasks(job)?;
        let times = times(job, &tasks)?;
        // Until the trial has succeeded the session has no agents: whatever goes wrong, they are dropped here.
        let mut crew = self.crew.take().ok_or_else(|| {
            Error::Job(
                "this session ended when its last trial failed: raise the network anew".to_owned(),
            )
        })?;
        let outcome = conduct(&mut crew, tasks, times, self.clock, cancelled).map_err(|error| {
            // A signal to everybody ends agents too: then it was the caller's wish, and no failure.
            if cancelled() { Error::Cancelled } else { error }
        })?;
        self.crew = Some(crew);
        Ok(outcome)
    }

    /// What every agent is told, by side. A server to which no client is routed is told nothing.
    fn tasks(&self, job: &Job) -> Result<Tasks, Error> {
        if job.shape.processes.max(1) as usize != self.processes {
            return Err(Error::Job(format!(
                "{} client processes asked for, {} started",
                job.shape.processes, self.processes
            )));
        }
        let blank = Task {
            workload: job.workload.clone(),
            parameters: job.parameters.clone(),
            addresses: Vec::new(),
            flows: job.shape.flows,
            client: 0,
            index: 0,
            peers: 0,
            processes: self.processes as u32,
            cpus: job.shape.cpus.clone(),
            duration: job.duration,
            interval: job.interval,
            token: RandomState::new().hash_one(std::process::id()),
            one_clock: self.clock != Clock::Several,
        };
        let tasks = Tasks {
            servers: self.server_tasks(job, &blank),
            clients: self.client_tasks(job, &blank)?,
        };
        tasks.servers.iter().chain(&tasks.clients).try_for_each(|(_, task)| task.check())?;
        Ok(tasks)
    }

    fn server_tasks(&self, job: &Job, blank: &Task) -> Vec<(Member, Task)> {
        let per_client = job.shape.flows.saturating_mul(self.processes as u32);
        (0..self.servers)
            .filter_map(|server| {
                let routes =
                    || routes(&self.routes, job).filter(move |route| route.server == server);
                let clients = (0..self.clients)
                    .filter(|client| routes().any(|route| route.client == *client))
                    .count();
                let task = Task {
                    addresses: routes().map(|route| route.listen).collect(),
                    flows: per_client.saturating_mul(clients as u32),
                    index: server as u32,
                    peers: self.servers as u32,
                    ..blank.clone()
                };
                (clients > 0).then_some((Member(server), task))
            })
            .collect()
    }

    fn client_tasks(&self, job: &Job, blank: &Task) -> Result<Vec<(Member, Task)>, Error> {
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
                let task = Task { addresses, client, index, peers, ..blank.clone() };
                Ok((Member(self.servers + index as usize), task))
            })
            .collect()
    }
}

/// The routes to a job's ports.
fn routes<'r>(all: &'r [Route], job: &'r Job) -> impl Iterator<Item = &'r Route> {
    all.iter().filter(|route| job.ports.contains(&route.listen.port()))
}

/// How long a workload takes beside what every other takes, and by whose programs.
struct Times {
    /// For which its clients generate.
    lasts: Duration,
    /// That its servers need to start.
    starts: Duration,
    /// Whether its servers are programs of their own, which may end on their own.
    programs: bool,
}

/// How long a job's workload takes; an error where the job is nothing for it.
fn times(job: &Job, tasks: &Tasks) -> Result<Times, Error> {
    let registry = workloads();
    let workload = registry.find(&job.workload)?;
    let (parameters, shape, duration) = (&job.parameters, &job.shape, job.duration);
    workload.fits(&Asked { parameters, shape, duration })?;
    Ok(Times {
        lasts: tasks.clients.iter().map(|(_, task)| workload.lasts(task)).max().unwrap_or_default(),
        starts: workload.starts_within(parameters),
        programs: !workload.programs().is_empty(),
    })
}

/// What every agent is told in one trial.
struct Tasks {
    servers: Vec<(Member, Task)>,
    clients: Vec<(Member, Task)>,
}

/// How many cores this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How long so many members may take to do what each does alone.
fn set_up(members: usize) -> Duration {
    SET_UP + SET_UP_EACH * members as u32
}

/// When so many clients shall begin together, by their clock; nothing where there is only one, or they read another
/// clock than we do: then each begins when it is told.
fn beginning(clients: usize, clock: Clock) -> Option<Nanos> {
    let together = clients > 1 && clock == Clock::Ours;
    together.then(|| clock::now() + Nanos::from(LEAD + LEAD_EACH * clients as u32))
}

/// One trial: servers are ready before any client connects, all clients before any generates, and all generate from the
/// same moment.
fn conduct(
    crew: &mut Crew,
    tasks: Tasks,
    Times { lasts, starts, programs }: Times,
    clock: Clock,
    cancelled: &dyn Fn() -> bool,
) -> Result<Outcome, Error> {
    let orders = |side: Vec<(Member, Task)>, order: fn(Task) -> Order| {
        side.into_iter().map(|(member, task)| (member, order(task))).collect::<Vec<_>>()
    };
    let members =
        |side: &[(Member, Task)]| side.iter().map(|(member, _)| *member).collect::<Vec<_>>();
    let (servers, clients) = (members(&tasks.servers), members(&tasks.clients));
    let set_up = set_up(servers.len() + clients.len());
    crew.prepare(orders(tasks.servers, Order::Serve), set_up + starts, cancelled)?;
    crew.prepare(orders(tasks.clients, Order::Connect), set_up, cancelled)?;
    let to_all = |members: &[Member], order: Order| {
        members.iter().map(|one| (*one, order.clone())).collect()
    };
    let go = to_all(&clients, Order::Go { at: beginning(clients.len(), clock) });
    let mut sent = match crew.collect(go, lasts + set_up, cancelled) {
        Err(error) if programs && !cancelled() => {
            return Err(crew.or_of_servers(servers.into_iter().collect(), error));
        }
        sent => sent?,
    };
    let finish = to_all(&servers, Order::Finish);
    let mut received = crew.collect(finish, set_up.max(AFTERWARDS), cancelled)?;
    if clock == Clock::Several {
        sent.iter_mut().chain(&mut received).for_each(|report| report.epoch = None);
    }
    Ok(merge::outcome(received, sent)?)
}
