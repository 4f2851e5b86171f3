//! Network of the registry that is up, with agents in its containers: runs trials over it, and observes the machine
//! during each.

use crate::environment::{AttemptError, RunningNetwork, TrialMeasurement};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_agent::AgentSession;
use tare_network::{NetworkDaemons, Topology};
use tare_observe::headroom;
use tare_observe::host_activity::HostActivityMonitor;
use tare_observe::presence::RunPresence;
use tare_observe::sliced_activity::SlicedActivityMonitor;
use tare_record::finding::{OtherRuns, SharedMachine};
use tare_record::{
    Finding, Hop, HostActivity, KernelProgramRuns, Metric, NamespaceCounts, Nanos,
    NetworkInspection, Shape, SlicePlan, WorkloadPlan,
};
use tare_traffic::{TrialJob, TrialOutcome};

/// State of the machine that all namespaces share, checked after every trial.
pub(crate) struct MachineWatch {
    pub(crate) presence: RunPresence,
    pub(crate) headroom: headroom::HeadroomMonitor,
}

impl MachineWatch {
    fn check(&self) -> Vec<Finding> {
        let others = self.presence.count_others();
        let other = (others > 0).then_some(Finding::OtherRuns(OtherRuns { others }));
        self.headroom.check().into_iter().chain(other).collect()
    }
}

/// A network that is up, with agents in it. Fields are dropped in order: the agents before their containers.
pub(crate) struct NetworkUnderTest {
    pub(crate) session: AgentSession,
    pub(crate) topology: Topology,
    pub(crate) setup_time: Nanos,
    pub(crate) on_one_machine: bool,
    pub(crate) ports: Vec<Vec<u16>>,
    pub(crate) shape: Shape,
    pub(crate) workloads: Vec<WorkloadPlan>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) machine: Arc<MachineWatch>,
    /// Trial in slices that is under way.
    pub(crate) sliced: Option<SlicedTrial>,
}

impl RunningNetwork for NetworkUnderTest {
    fn hops(&self) -> Vec<Hop> {
        self.topology.hops.clone()
    }

    fn setup_time(&self) -> Option<Nanos> {
        Some(self.setup_time)
    }

    fn inspect(&mut self, metrics: &[Metric]) -> NetworkInspection {
        let Some(inspector) = &mut self.topology.inspector else {
            return NetworkInspection::default();
        };
        let mut inspection = NetworkInspection::default();
        if metrics.contains(&Metric::RoutesOut) {
            match inspector.count_routes_out() {
                Ok(clients) => inspection.routes_out = Some(clients),
                Err(error) => inspection.note_unread(Metric::RoutesOut, error),
            }
        }
        if metrics.contains(&Metric::BridgePorts) {
            match inspector.fill_bridge() {
                Ok(ports) => inspection.bridge_ports = ports,
                Err(error) => inspection.note_unread(Metric::BridgePorts, error),
            }
        }
        inspection
    }

    fn tear_down(self: Box<Self>) -> Option<Nanos> {
        let Self { session, topology, .. } = *self;
        drop(session);
        let began = Instant::now();
        drop(topology);
        Some(began.elapsed().into())
    }

    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError> {
        let before = self.read_before();
        let job = self.job(workload);
        let watch = HostActivityMonitor::start(job.duration, &self.session.process_ids());
        let stop = Arc::clone(&self.stop);
        let outcome = self.session.run_trial(&job, &move || stop.load(Ordering::Relaxed));
        let outcome = self.check_daemons(outcome)?;
        let epoch = outcome.epoch;
        Ok(self.measurement(&before, outcome, |ours| watch.finish(ours, epoch)))
    }

    fn begin_slices(&mut self, workload: usize, slices: SlicePlan) -> Result<(), AttemptError> {
        self.sliced = None;
        let before = self.read_before();
        let job = self.sliced_job(workload, slices);
        let stop = Arc::clone(&self.stop);
        let connected = self.session.begin_slices(&job, &move || stop.load(Ordering::Relaxed));
        self.check_daemons(connected)?;
        let watch = SlicedActivityMonitor::start(&self.session.process_ids());
        self.sliced = Some(SlicedTrial { before, watch, length: slices.length });
        Ok(())
    }

    fn run_slice(&mut self, counted: bool) -> Result<(), AttemptError> {
        let Some(sliced) = &mut self.sliced else { return Err(no_slices()) };
        let stop = Arc::clone(&self.stop);
        sliced.watch.begin_slice();
        let ran = self.session.run_slice(&move || stop.load(Ordering::Relaxed));
        sliced.watch.end_slice(counted.then_some(sliced.length));
        // If a daemon has ended, that is the cause; it is only looked for when something broke, as it takes time.
        if ran.is_err() { self.check_daemons(ran) } else { Ok(()) }
    }

    fn finish_slices(&mut self) -> Result<TrialMeasurement, AttemptError> {
        let Some(SlicedTrial { before, watch, .. }) = self.sliced.take() else {
            return Err(no_slices());
        };
        let stop = Arc::clone(&self.stop);
        let outcome = self.session.finish_slices(&move || stop.load(Ordering::Relaxed));
        let outcome = self.check_daemons(outcome)?;
        Ok(self.measurement(&before, outcome, |ours| watch.finish(ours)))
    }
}

/// Readings before a trial: what was counted before does not belong to it.
pub(crate) struct ReadingsBefore {
    /// Time that reading the counters took.
    counting: Duration,
    drop_program: Option<KernelProgramRuns>,
    daemons: BTreeMap<String, Nanos>,
}

/// Trial in slices that is under way.
pub(crate) struct SlicedTrial {
    before: ReadingsBefore,
    watch: SlicedActivityMonitor,
    /// Counted length of a slice.
    length: Nanos,
}

impl NetworkUnderTest {
    /// Returns the job of a trial of a workload in slices.
    fn sliced_job(&self, workload: usize, slices: SlicePlan) -> TrialJob {
        TrialJob {
            duration: slices.duration(),
            interval: slices.length,
            slices: Some(slices),
            ..self.job(workload)
        }
    }

    /// Returns the job of a trial of a workload in one piece.
    fn job(&self, workload: usize) -> TrialJob {
        let plan = &self.workloads[workload];
        TrialJob {
            workload: plan.name.clone(),
            parameters: plan.parameters.clone(),
            shape: self.shape.clone(),
            ports: self.ports[workload].clone(),
            duration: plan.duration,
            interval: plan.interval,
            slices: None,
        }
    }

    /// Reads what a trial's end is compared with.
    fn read_before(&mut self) -> ReadingsBefore {
        let begun = Instant::now();
        self.read_counters();
        let counting = begun.elapsed();
        let daemons = cpu_times(self.topology.daemons());
        ReadingsBefore { counting, drop_program: self.drop_program_runs(), daemons }
    }

    /// Returns the result of a part of a trial. If a daemon has ended, that is the cause of whatever happened; traffic
    /// may have continued without it for a while.
    fn check_daemons<T>(&self, result: Result<T, tare_traffic::Error>) -> Result<T, AttemptError> {
        let daemons = self.topology.daemons();
        daemons.map_or(Ok(()), NetworkDaemons::check).map_err(network_failure)?;
        result.map_err(traffic_failure)
    }

    /// Completes the measurement of a trial. `observed` returns the machine's activity, given the CPU time of the
    /// agents and the network's own programs.
    fn measurement(
        &mut self,
        before: &ReadingsBefore,
        outcome: TrialOutcome,
        observed: impl FnOnce(Nanos) -> (HostActivity, Vec<Finding>),
    ) -> TrialMeasurement {
        let forwarders = cpu_time_since(cpu_times(self.topology.daemons()), &before.daemons);
        let ours = forwarders.values().fold(outcome.agents_cpu, |sum, &time| sum + time);
        let (mut meanwhile, noticed) = observed(ours);
        meanwhile.counted.daemons = forwarders;
        meanwhile.overhead.drops =
            self.drop_program_runs().zip(before.drop_program).map(|(now, then)| now.since(then));
        let begun = Instant::now();
        meanwhile.counted.places = self.read_counters();
        meanwhile.overhead.counting = (before.counting + begun.elapsed()).into();
        let mut findings: Vec<Finding> =
            noticed.into_iter().filter(|finding| self.is_news(finding)).collect();
        findings.extend(
            self.on_one_machine
                .then(|| Finding::SharedMachine(SharedMachine { cores: core_count() })),
        );
        findings.extend(self.machine.check());
        findings.extend(self.topology.findings.iter().cloned());
        TrialMeasurement::from_outcome(outcome, meanwhile, findings)
    }

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
        self.shape.background.is_none() || !matches!(finding, Finding::OtherWork(_))
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

pub(crate) fn network_failure(error: tare_network::Error) -> AttemptError {
    AttemptError::Failed { reason: error.to_string(), remedy: error.remedy }
}

pub(crate) fn traffic_failure(error: tare_traffic::Error) -> AttemptError {
    match error {
        tare_traffic::Error::Cancelled => AttemptError::Interrupted,
        other => AttemptError::Failed { reason: other.to_string(), remedy: String::new() },
    }
}

fn no_slices() -> AttemptError {
    AttemptError::Failed {
        reason: "cannot run a slice: no trial in slices has begun".to_owned(),
        remedy: String::new(),
    }
}
