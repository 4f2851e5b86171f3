//! Environment of a real run: networks of the registry, agents in their containers, and observation of the machine
//! during each trial.

use crate::environment::{
    AttemptError, RunEnvironment, RunningNetwork, TrialMeasurement, TurnSetup,
};
use crate::port_allocator::PortAllocator;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tare_network::{
    NetworkDaemons, NetworkParameters, NetworkRegistry, NetworkSpec, NodeKind, Topology,
};
use tare_observe::headroom;
use tare_observe::host_activity::HostActivityMonitor;
use tare_observe::presence::RunPresence;
use tare_record::{Finding, Hop, KernelProgramRuns, NamespaceCounts, Nanos, Shape, WorkloadPlan};
use tare_traffic::{AgentSession, TrialJob};

/// Environment that raises networks of the registry and runs their trials with agents.
pub struct NetworkEnvironment<'a> {
    networks: &'a NetworkRegistry,
    workloads: &'a tare_traffic::WorkloadRegistry,
    stop: Arc<AtomicBool>,
    machine: Arc<MachineWatch>,
    began: Instant,
    before: Nanos,
    ports: PortAllocator,
    logs: Option<PathBuf>,
}

/// State of the machine that all namespaces share, checked after every trial.
struct MachineWatch {
    presence: RunPresence,
    headroom: headroom::HeadroomMonitor,
}

impl MachineWatch {
    fn check(&self) -> Vec<Finding> {
        let others = self.presence.count_others();
        let other = (others > 0).then_some(Finding::OtherRun { others });
        self.headroom.check().into_iter().chain(other).collect()
    }
}

impl<'a> NetworkEnvironment<'a> {
    /// Creates an environment with these networks and workloads, which stops when `stop` is set. `presence` makes this
    /// run known to other runs; `before` is the time that a resumed run took before it was cut off.
    #[must_use]
    pub fn new(
        networks: &'a NetworkRegistry,
        workloads: &'a tare_traffic::WorkloadRegistry,
        stop: Arc<AtomicBool>,
        presence: RunPresence,
        before: Nanos,
    ) -> Self {
        let machine =
            Arc::new(MachineWatch { presence, headroom: headroom::HeadroomMonitor::start() });
        Self {
            networks,
            workloads,
            stop,
            machine,
            began: Instant::now(),
            before,
            ports: PortAllocator::new(),
            logs: None,
        }
    }

    /// Sets the directory below which programs that networks start write their logs, one subdirectory for each label.
    #[must_use]
    pub fn with_logs(self, directory: PathBuf) -> Self {
        Self { logs: Some(directory), ..self }
    }

    /// Takes ports for all workloads, one list each. Workloads of the same name use the same ports in turn. Fails if
    /// too few ports are free.
    fn assign_ports(&mut self, workloads: &[WorkloadPlan]) -> Result<Vec<Vec<u16>>, AttemptError> {
        let mut by_name: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for plan in workloads {
            if by_name.contains_key(plan.name.as_str()) {
                continue;
            }
            let wanted =
                self.workloads.find(&plan.name).map_or(1, |workload| workload.port_count());
            let ports = self.ports.take(wanted);
            if ports.len() != wanted {
                return Err(no_ports());
            }
            by_name.insert(&plan.name, ports);
        }
        Ok(workloads.iter().map(|plan| by_name[plan.name.as_str()].clone()).collect())
    }
}

/// Returns every port once.
fn distinct_ports(ports: &[Vec<u16>]) -> Vec<u16> {
    ports.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns a label as the name of a directory.
fn file_name(label: &str) -> String {
    let kept =
        |one: char| if one.is_ascii_alphanumeric() || "-+=".contains(one) { one } else { '_' };
    label.chars().map(kept).collect()
}

fn no_ports() -> AttemptError {
    AttemptError::Failed {
        reason: "cannot choose ports for the servers: no port is free".to_owned(),
        remedy: "stop programs that listen on many ports".to_owned(),
    }
}

impl RunEnvironment for NetworkEnvironment<'_> {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        let spelled: NetworkSpec =
            scene.entry.network.parse().map_err(|error: tare_network::NetworkSpecError| {
                AttemptError::Failed { reason: error.to_string(), remedy: String::new() }
            })?;
        let network = self.networks.find(&spelled).map_err(|error| AttemptError::Failed {
            reason: error.to_string(),
            remedy: "see `tare list networks`".to_owned(),
        })?;
        let ports = self.assign_ports(scene.workloads)?;
        let logs = self.logs.as_ref().map(|logs| logs.join(file_name(&scene.entry.label)));
        let site = NetworkParameters {
            logs,
            ..NetworkParameters::from_spec(&spelled, distinct_ports(&ports))
        };
        let began = Instant::now();
        let topology = network.set_up(scene.shape, &site).map_err(network_failure)?;
        let raised_in = began.elapsed().into();
        let session =
            AgentSession::with_processes(&topology, scene.shape.processes, self.workloads)
                .map_err(traffic_failure)?;
        Ok(Box::new(NetworkUnderTest {
            session,
            topology,
            setup_time: raised_in,
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

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A network that is up, with agents in it. Fields are dropped in order: the agents before their containers.
struct NetworkUnderTest {
    session: AgentSession,
    topology: Topology,
    setup_time: Nanos,
    on_one_machine: bool,
    ports: Vec<Vec<u16>>,
    shape: Shape,
    workloads: Vec<WorkloadPlan>,
    stop: Arc<AtomicBool>,
    machine: Arc<MachineWatch>,
}

impl RunningNetwork for NetworkUnderTest {
    fn hops(&self) -> Vec<Hop> {
        self.topology.hops.clone()
    }

    fn setup_time(&self) -> Option<Nanos> {
        Some(self.setup_time)
    }

    fn tear_down(self: Box<Self>) -> Option<Nanos> {
        let Self { session, topology, .. } = *self;
        drop(session);
        let began = Instant::now();
        drop(topology);
        Some(began.elapsed().into())
    }

    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError> {
        // Counts from before the trial do not belong to it.
        let begun = Instant::now();
        self.read_counters();
        let counting = begun.elapsed();
        let ran = self.drop_program_runs();
        let plan = &self.workloads[workload];
        let job = TrialJob {
            workload: plan.name.clone(),
            parameters: plan.parameters.clone(),
            shape: self.shape.clone(),
            ports: self.ports[workload].clone(),
            duration: plan.duration,
            interval: plan.interval,
        };
        let daemons = self.topology.daemons();
        let before = cpu_times(daemons);
        let watch = HostActivityMonitor::start(plan.duration, &self.session.process_ids());
        let stop = Arc::clone(&self.stop);
        let outcome = self.session.run_trial(&job, &move || stop.load(Ordering::Relaxed));
        // If a daemon has ended, that is the cause; traffic may have continued without it for a while.
        daemons.map_or(Ok(()), NetworkDaemons::check).map_err(network_failure)?;
        let outcome = outcome.map_err(traffic_failure)?;
        let forwarders = cpu_time_since(cpu_times(daemons), &before);
        let ours = forwarders.values().fold(outcome.agents_cpu, |sum, &time| sum + time);
        let (mut meanwhile, noticed) = watch.finish(ours, outcome.epoch);
        meanwhile.counted.daemons = forwarders;
        meanwhile.overhead.drops =
            self.drop_program_runs().zip(ran).map(|(now, before)| now.since(before));
        let begun = Instant::now();
        meanwhile.counted.places = self.read_counters();
        meanwhile.overhead.counting = (counting + begun.elapsed()).into();
        let mut findings: Vec<Finding> =
            noticed.into_iter().filter(|finding| self.is_news(finding)).collect();
        findings.extend(self.on_one_machine.then(|| Finding::OneMachine { cores: core_count() }));
        findings.extend(self.machine.check());
        findings.extend(self.topology.findings.iter().cloned());
        Ok(TrialMeasurement::from_outcome(outcome, meanwhile, findings))
    }
}

impl NetworkUnderTest {
    /// Returns the counts that the network's hops gained since the last call.
    fn read_counters(&mut self) -> Vec<NamespaceCounts> {
        self.topology.watch.as_mut().map(|watch| watch.read_gains()).unwrap_or_default()
    }

    /// Returns the run counts of the kernel programs that find out why packets are dropped.
    fn drop_program_runs(&self) -> Option<KernelProgramRuns> {
        self.topology.watch.as_ref()?.drop_program_cost()
    }

    /// Returns whether a finding is news. A busy machine is none if the shape asks for background load.
    fn is_news(&self, finding: &Finding) -> bool {
        self.shape.background.is_none() || !matches!(finding, Finding::BusyMachine { .. })
    }
}

/// Returns the CPU time of each of a network's programs so far.
fn cpu_times(daemons: Option<&dyn NetworkDaemons>) -> BTreeMap<String, Nanos> {
    let times = daemons.map(|daemons| daemons.cpu_times()).unwrap_or_default();
    times.into_iter().map(|(name, time)| (name, time.into())).collect()
}

/// Returns the CPU time since an earlier reading, of programs that have used any.
fn cpu_time_since(
    now: BTreeMap<String, Nanos>,
    before: &BTreeMap<String, Nanos>,
) -> BTreeMap<String, Nanos> {
    let since = |(name, now): (String, Nanos)| {
        let gained = now - before.get(&name).copied().unwrap_or_default();
        (gained > Nanos(0)).then_some((name, gained))
    };
    now.into_iter().filter_map(since).collect()
}

/// Returns the number of cores that this machine's nodes share.
fn core_count() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

fn network_failure(error: tare_network::Error) -> AttemptError {
    AttemptError::Failed { reason: error.to_string(), remedy: error.remedy }
}

fn traffic_failure(error: tare_traffic::Error) -> AttemptError {
    match error {
        tare_traffic::Error::Cancelled => AttemptError::Interrupted,
        other => AttemptError::Failed { reason: other.to_string(), remedy: String::new() },
    }
}
