//! The real stage: networks of the registry, agents in their containers, the machine watched meanwhile.

use crate::ports::Ports;
use crate::stage::{Broken, Measured, Raised, Scene, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tare_network::{Daemons, NodeKind, Registry, Site, Spelled, Topology};
use tare_observe::headroom;
use tare_observe::meanwhile::Watch;
use tare_observe::presence::Presence;
use tare_record::{Finding, Hop, Nanos, PlaceCounts, Ran, Shape, WorkloadPlan};
use tare_traffic::{Job, Session};

/// The real stage.
pub struct Live<'a> {
    networks: &'a Registry,
    workloads: &'a tare_traffic::Registry,
    stop: Arc<AtomicBool>,
    machine: Arc<Machine>,
    began: Instant,
    before: Nanos,
    ports: Ports,
    logs: Option<PathBuf>,
}

/// What all namespaces share, looked at after every trial.
struct Machine {
    presence: Presence,
    headroom: headroom::Watch,
}

impl Machine {
    fn look(&self) -> Vec<Finding> {
        let others = self.presence.others();
        let other = (others > 0).then_some(Finding::OtherRun { others });
        self.headroom.look().into_iter().chain(other).collect()
    }
}

impl<'a> Live<'a> {
    /// A stage with these networks and workloads, which stops when `stop` is set; `presence` makes this run known to
    /// others, `before` is what a resumed run took before.
    #[must_use]
    pub fn new(
        networks: &'a Registry,
        workloads: &'a tare_traffic::Registry,
        stop: Arc<AtomicBool>,
        presence: Presence,
        before: Nanos,
    ) -> Self {
        let machine = Arc::new(Machine { presence, headroom: headroom::Watch::start() });
        Self {
            networks,
            workloads,
            stop,
            machine,
            began: Instant::now(),
            before,
            ports: Ports::new(),
            logs: None,
        }
    }

    /// The same stage, where programs that networks start write their logs below this directory, in one for each label.
    #[must_use]
    pub fn with_logs(self, directory: PathBuf) -> Self {
        Self { logs: Some(directory), ..self }
    }

    /// Ports for all workloads, one list each. Workloads of one name take turns on the same ports.
    fn ports(&mut self, workloads: &[WorkloadPlan]) -> Result<Vec<Vec<u16>>, Broken> {
        let mut by_name: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for plan in workloads {
            if by_name.contains_key(plan.name.as_str()) {
                continue;
            }
            let wanted = self.workloads.find(&plan.name).map_or(1, |workload| workload.ports());
            let ports = self.ports.take(wanted);
            if ports.len() != wanted {
                return Err(no_ports());
            }
            by_name.insert(&plan.name, ports);
        }
        Ok(workloads.iter().map(|plan| by_name[plan.name.as_str()].clone()).collect())
    }
}

/// Every port once.
fn distinct(ports: &[Vec<u16>]) -> Vec<u16> {
    ports.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// A label as the name of a directory.
fn file_name(label: &str) -> String {
    let kept =
        |one: char| if one.is_ascii_alphanumeric() || "-+=".contains(one) { one } else { '_' };
    label.chars().map(kept).collect()
}

fn no_ports() -> Broken {
    Broken::Failed {
        reason: "choose ports to serve on: none is free".to_owned(),
        remedy: "end programs that listen on many ports".to_owned(),
    }
}

impl Stage for Live<'_> {
    fn raise(&mut self, scene: &Scene<'_>) -> Result<Box<dyn Raised>, Broken> {
        let spelled: Spelled =
            scene.entry.network.parse().map_err(|error: tare_network::NameError| {
                Broken::Failed { reason: error.to_string(), remedy: String::new() }
            })?;
        let network = self.networks.find(&spelled).map_err(|error| Broken::Failed {
            reason: error.to_string(),
            remedy: "see `tare list networks`".to_owned(),
        })?;
        let ports = self.ports(scene.workloads)?;
        let logs = self.logs.as_ref().map(|logs| logs.join(file_name(&scene.entry.label)));
        let site = Site { logs, ..Site::of(&spelled, distinct(&ports)) };
        let began = Instant::now();
        let topology = network.raise(scene.shape, &site).map_err(failed_network)?;
        let raised_in = began.elapsed().into();
        let session =
            Session::with_processes(&topology, scene.shape.processes).map_err(failed_traffic)?;
        Ok(Box::new(Up {
            session,
            topology,
            raised_in,
            on_one_machine: scene.shape.nodes > 1 && network.node_kind() == NodeKind::Namespace,
            ports,
            shape: scene.shape.clone(),
            workloads: scene.workloads.to_vec(),
            stop: Arc::clone(&self.stop),
            machine: Arc::clone(&self.machine),
        }))
    }

    fn elapsed(&self) -> Nanos {
        self.before + Nanos::from(self.began.elapsed())
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A network that is up, with agents in it. Fields are dropped in order: the agents before their containers.
struct Up {
    session: Session,
    topology: Topology,
    raised_in: Nanos,
    on_one_machine: bool,
    ports: Vec<Vec<u16>>,
    shape: Shape,
    workloads: Vec<WorkloadPlan>,
    stop: Arc<AtomicBool>,
    machine: Arc<Machine>,
}

impl Raised for Up {
    fn hops(&self) -> Vec<Hop> {
        self.topology.hops.clone()
    }

    fn raised_in(&self) -> Option<Nanos> {
        Some(self.raised_in)
    }

    fn lower(self: Box<Self>) -> Option<Nanos> {
        let Self { session, topology, .. } = *self;
        drop(session);
        let began = Instant::now();
        drop(topology);
        Some(began.elapsed().into())
    }

    fn trial(&mut self, workload: usize) -> Result<Measured, Broken> {
        // What happened before the trial is none of its business.
        let begun = Instant::now();
        self.counted();
        let counting = begun.elapsed();
        let ran = self.ran();
        let plan = &self.workloads[workload];
        let job = Job {
            workload: plan.name.clone(),
            parameters: plan.parameters.clone(),
            shape: self.shape.clone(),
            ports: self.ports[workload].clone(),
            duration: plan.duration,
            interval: plan.interval,
        };
        let daemons = self.topology.daemons();
        let before = taken(daemons);
        let watch = Watch::start(plan.duration, &self.session.processes());
        let stop = Arc::clone(&self.stop);
        let outcome = self.session.trial(&job, &move || stop.load(Ordering::Relaxed));
        // Where a daemon has ended, that is why; traffic may even have gone on without it, for a while.
        daemons.map_or(Ok(()), Daemons::check).map_err(failed_network)?;
        let outcome = outcome.map_err(failed_traffic)?;
        let forwarders = gained(taken(daemons), &before);
        let ours = forwarders.values().fold(outcome.agents_cpu, |sum, &time| sum + time);
        let (mut meanwhile, noticed) = watch.finish(ours, outcome.epoch);
        meanwhile.counted.daemons = forwarders;
        meanwhile.overhead.drops = self.ran().zip(ran).map(|(now, before)| now.since(before));
        let begun = Instant::now();
        meanwhile.counted.places = self.counted();
        meanwhile.overhead.counting = (counting + begun.elapsed()).into();
        let mut findings: Vec<Finding> =
            noticed.into_iter().filter(|finding| self.is_news(finding)).collect();
        findings.extend(self.on_one_machine.then(|| Finding::OneMachine { cores: cores() }));
        findings.extend(self.machine.look());
        findings.extend(self.topology.findings.iter().cloned());
        Ok(Measured::of(outcome, meanwhile, findings))
    }
}

impl Up {
    /// What the network's hops have counted since they were last asked.
    fn counted(&mut self) -> Vec<PlaceCounts> {
        self.topology.watch.as_mut().map(|watch| watch.count()).unwrap_or_default()
    }

    /// What the kernel has run so far to say why it drops packets.
    fn ran(&self) -> Option<Ran> {
        self.topology.watch.as_ref()?.ran()
    }

    /// A machine that is busy because the user wanted it so is no news.
    fn is_news(&self, finding: &Finding) -> bool {
        self.shape.background.is_none() || !matches!(finding, Finding::BusyMachine { .. })
    }
}

/// The CPU time of each of a network's programs so far.
fn taken(daemons: Option<&dyn Daemons>) -> BTreeMap<String, Nanos> {
    let times = daemons.map(|daemons| daemons.cpu_times()).unwrap_or_default();
    times.into_iter().map(|(name, time)| (name, time.into())).collect()
}

/// The CPU time since an earlier reading, of programs that have taken any.
fn gained(
    now: BTreeMap<String, Nanos>,
    before: &BTreeMap<String, Nanos>,
) -> BTreeMap<String, Nanos> {
    let since = |(name, now): (String, Nanos)| {
        let gained = now - before.get(&name).copied().unwrap_or_default();
        (gained > Nanos(0)).then_some((name, gained))
    };
    now.into_iter().filter_map(since).collect()
}

/// The cores that this machine's nodes share.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

fn failed_network(error: tare_network::Error) -> Broken {
    Broken::Failed { reason: error.to_string(), remedy: error.remedy }
}

fn failed_traffic(error: tare_traffic::Error) -> Broken {
    match error {
        tare_traffic::Error::Cancelled => Broken::Interrupted,
        other => Broken::Failed { reason: other.to_string(), remedy: String::new() },
    }
}
