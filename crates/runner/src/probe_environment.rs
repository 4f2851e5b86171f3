//! Environment of a probe. It raises no network, because the other end is a listener on any machine; this machine is
//! observed.

use crate::environment::{
    AttemptError, RunEnvironment, RunningNetwork, TrialMeasurement, TurnSetup,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_observe::host_activity::HostActivityMonitor;
use tare_observe::presence::RunPresence;
use tare_probe::{ProbeClient, ProbeOutcome};
use tare_record::finding::OtherRuns;
use tare_record::{Finding, Hop, Nanos, Shape, WorkloadPlan};
use tare_traffic::TrialJob;

/// Environment of a probe. All blocks use one connection, so that the session at the listener is not given up between
/// blocks; after a failure it is another one.
pub struct ProbeEnvironment {
    probe: Rc<RefCell<ProbeClient>>,
    presence: Rc<RunPresence>,
    stop: Arc<AtomicBool>,
    began: Instant,
}

impl ProbeEnvironment {
    /// Creates an environment whose trials run over this probe, and which stops when `stop` is set. `presence` makes
    /// this run known to other runs.
    #[must_use]
    pub fn new(probe: ProbeClient, stop: Arc<AtomicBool>, presence: RunPresence) -> Self {
        Self {
            probe: Rc::new(RefCell::new(probe)),
            presence: Rc::new(presence),
            stop,
            began: Instant::now(),
        }
    }
}

impl RunEnvironment for ProbeEnvironment {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        self.probe.borrow_mut().reconnect().map_err(probe_failure)?;
        Ok(Box::new(ProbeTurn {
            probe: Rc::clone(&self.probe),
            presence: Rc::clone(&self.presence),
            stop: Arc::clone(&self.stop),
            shape: scene.shape.clone(),
            workloads: scene.workloads.to_vec(),
        }))
    }

    fn elapsed(&self) -> Nanos {
        self.began.elapsed().into()
    }

    fn exclude_pause(&mut self, pause: Duration) {
        self.began += pause;
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The turn of one block.
struct ProbeTurn {
    probe: Rc<RefCell<ProbeClient>>,
    presence: Rc<RunPresence>,
    stop: Arc<AtomicBool>,
    shape: Shape,
    workloads: Vec<WorkloadPlan>,
}

impl RunningNetwork for ProbeTurn {
    /// Returns no hops: tare cannot know the path between two machines.
    fn hops(&self) -> Vec<Hop> {
        Vec::new()
    }

    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError> {
        let plan = &self.workloads[workload];
        let watch = HostActivityMonitor::start(plan.duration, &[std::process::id()]);
        let stop = Arc::clone(&self.stop);
        let ProbeOutcome { outcome, client_cpu, listener_cpu } = self
            .probe
            .borrow_mut()
            .run_trial(&probe_job(plan, &self.shape), &move || stop.load(Ordering::Relaxed))
            .map_err(probe_failure)?;
        // The client's threads belong to this process, whose CPU time the watch counts.
        let beside = listener_cpu.unwrap_or_default();
        let (mut meanwhile, noticed) = watch.finish(beside, outcome.epoch);
        meanwhile.agents = beside + client_cpu;
        let others = self.presence.count_others();
        let other = (others > 0).then_some(Finding::OtherRuns(OtherRuns { others }));
        Ok(TrialMeasurement::from_outcome(outcome, meanwhile, noticed.into_iter().chain(other)))
    }
}

/// Builds the job of one trial of a workload in a shape, as it is given to a probe.
#[must_use]
pub fn probe_job(plan: &WorkloadPlan, shape: &Shape) -> TrialJob {
    TrialJob {
        workload: plan.name.clone(),
        parameters: plan.parameters.clone(),
        shape: shape.clone(),
        ports: Vec::new(),
        duration: plan.duration,
        interval: plan.interval,
        slices: None,
    }
}

fn probe_failure(error: tare_traffic::Error) -> AttemptError {
    match error {
        tare_traffic::Error::Cancelled => AttemptError::Interrupted,
        other => AttemptError::Failed { reason: other.to_string(), remedy: String::new() },
    }
}
