//! The stage of a probe: nothing is raised, for the other end is a listener on whatever machine; this one is watched.

use crate::stage::{Broken, Measured, Raised, Scene, Stage};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tare_observe::meanwhile::Watch;
use tare_observe::presence::Presence;
use tare_record::{Finding, Hop, Nanos, Shape, WorkloadPlan};
use tare_traffic::Job;
use tare_traffic::probe::{Probe, Probed};

/// The stage of a probe. All blocks go over its one connection: a place at the listener is not given up in between.
pub struct Remote {
    probe: Rc<RefCell<Probe>>,
    presence: Rc<Presence>,
    stop: Arc<AtomicBool>,
    began: Instant,
}

impl Remote {
    /// A stage whose trials this probe does, and which stops when `stop` is set; `presence` makes it known to others.
    #[must_use]
    pub fn new(probe: Probe, stop: Arc<AtomicBool>, presence: Presence) -> Self {
        Self {
            probe: Rc::new(RefCell::new(probe)),
            presence: Rc::new(presence),
            stop,
            began: Instant::now(),
        }
    }
}

impl Stage for Remote {
    fn raise(&mut self, scene: &Scene<'_>) -> Result<Box<dyn Raised>, Broken> {
        Ok(Box::new(Reached {
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

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// One block's turn.
struct Reached {
    probe: Rc<RefCell<Probe>>,
    presence: Rc<Presence>,
    stop: Arc<AtomicBool>,
    shape: Shape,
    workloads: Vec<WorkloadPlan>,
}

impl Raised for Reached {
    /// What lies between two machines is not tare's to know.
    fn hops(&self) -> Vec<Hop> {
        Vec::new()
    }

    fn trial(&mut self, workload: usize) -> Result<Measured, Broken> {
        let plan = &self.workloads[workload];
        let watch = Watch::start(plan.duration, &[std::process::id()]);
        let stop = Arc::clone(&self.stop);
        let Probed { outcome, client_cpu, listener_cpu } = self
            .probe
            .borrow_mut()
            .trial(&job(plan, &self.shape), &move || stop.load(Ordering::Relaxed))
            .map_err(failed)?;
        // The client's threads are this process's own, whose time the watch knows.
        let beside = listener_cpu.unwrap_or_default();
        let (mut meanwhile, noticed) = watch.finish(beside, outcome.epoch);
        meanwhile.agents = beside + client_cpu;
        let others = self.presence.others();
        let other = (others > 0).then_some(Finding::OtherRun { others });
        Ok(Measured::of(outcome, meanwhile, noticed.into_iter().chain(other)))
    }
}

/// A workload's trial in a shape, as a probe is told it.
#[must_use]
pub fn job(plan: &WorkloadPlan, shape: &Shape) -> Job {
    Job {
        workload: plan.name.clone(),
        parameters: plan.parameters.clone(),
        shape: shape.clone(),
        ports: Vec::new(),
        duration: plan.duration,
        interval: plan.interval,
    }
}

fn failed(error: tare_traffic::Error) -> Broken {
    match error {
        tare_traffic::Error::Cancelled => Broken::Interrupted,
        other => Broken::Failed { reason: other.to_string(), remedy: String::new() },
    }
}
