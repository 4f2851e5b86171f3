//! A run that measures nothing: its environment follows a script.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{BlockPolicy, Environment, Hop, Metric, Nanos, Plan, Shape, Trial};
use tare_runner::{
    AttemptError, RunEnvironment, RunningNetwork, StartPoint, TrialMeasurement, TurnSetup,
};

/// Environment that measures nothing, counts trials and follows a script.
#[derive(Default)]
pub(crate) struct ScriptedEnvironment {
    pub(crate) trials: Rc<Cell<u32>>,
    /// Number of networks that are up: one at most.
    pub(crate) standing: Rc<Cell<u32>>,
    /// Label of a network that cannot be raised.
    pub(crate) broken_network: Option<&'static str>,
    /// The first workload breaks over networks of two clients.
    pub(crate) first_workload_breaks: bool,
    /// Numbers of attempts to raise a network, and of trials, that fail once, from 0.
    pub(crate) fails_once: Vec<Attempt>,
    pub(crate) attempts: Rc<Cell<(u32, u32)>>,
    /// Number of trials after which the run is interrupted.
    pub(crate) interrupt_after: Option<u32>,
    pub(crate) clock: u64,
    /// Total of the pauses that the clock was told to leave out.
    pub(crate) excluded: Duration,
}

/// Attempt that fails, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Raise(u32),
    Trial(u32),
}

pub(crate) struct ScriptedNetwork {
    pub(crate) trials: Rc<Cell<u32>>,
    pub(crate) standing: Rc<Cell<u32>>,
    pub(crate) first_workload_breaks: bool,
    pub(crate) interrupt_after: Option<u32>,
    pub(crate) fails_once: Vec<Attempt>,
    pub(crate) attempts: Rc<Cell<(u32, u32)>>,
}

impl Drop for ScriptedNetwork {
    fn drop(&mut self) {
        self.standing.set(self.standing.get() - 1);
    }
}

impl RunEnvironment for ScriptedEnvironment {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        self.clock += 1_000_000_000;
        assert_eq!(self.standing.get(), 0, "the network before this one was not taken down");
        let (raised, trials) = self.attempts.get();
        self.attempts.set((raised + 1, trials));
        if self.fails_once.contains(&Attempt::Raise(raised)) {
            return Err(failed("not raised"));
        }
        if self.broken_network == Some(scene.entry.label.as_str()) {
            return Err(AttemptError::Failed {
                reason: "it broke".into(),
                remedy: "mend it".into(),
            });
        }
        self.standing.set(1);
        Ok(Box::new(ScriptedNetwork {
            trials: Rc::clone(&self.trials),
            standing: Rc::clone(&self.standing),
            first_workload_breaks: self.first_workload_breaks && scene.shape.clients == 2,
            interrupt_after: self.interrupt_after,
            fails_once: self.fails_once.clone(),
            attempts: Rc::clone(&self.attempts),
        }))
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.clock)
    }

    fn exclude_pause(&mut self, pause: Duration) {
        assert_eq!(self.standing.get(), 0, "a network is up during a pause");
        self.excluded += pause;
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt_after.is_some_and(|limit| self.trials.get() >= limit)
    }
}

impl RunningNetwork for ScriptedNetwork {
    fn hops(&self) -> Vec<Hop> {
        Vec::new()
    }

    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError> {
        if self.interrupt_after == Some(self.trials.get()) {
            return Err(AttemptError::Interrupted);
        }
        let (raised, trials) = self.attempts.get();
        self.attempts.set((raised, trials + 1));
        if self.fails_once.contains(&Attempt::Trial(trials)) {
            return Err(failed("broken once"));
        }
        if self.first_workload_breaks && workload == 0 {
            return Err(AttemptError::Failed { reason: "too many".into(), remedy: String::new() });
        }
        self.trials.set(self.trials.get() + 1);
        Ok(TrialMeasurement::default())
    }
}

pub(crate) fn failed(reason: &str) -> AttemptError {
    AttemptError::Failed { reason: reason.into(), remedy: String::new() }
}

pub(crate) fn resume(journal: &mut Journal) -> StartPoint {
    StartPoint::resume(journal, "now".into()).0
}

pub(crate) fn plan(networks: &[&str], blocks: u32) -> Plan {
    let workload = |name: &str| made_up_workload(name, &[Metric::Throughput]);
    Plan {
        study: "flow".into(),
        seed: 5,
        blocks: BlockPolicy::Fixed { blocks },
        ..made_up_plan(networks, vec![workload("tcp-stream"), workload("tcp-rr")])
    }
}

pub(crate) fn journal(plan: &Plan, records: Vec<Record>) -> Journal {
    let environment = Environment::default();
    Journal {
        run: RunHeader { format: FORMAT, plan: plan.clone(), environment, findings: vec![] },
        records,
    }
}

/// Returns block, label and workload of every trial, in the order in which they were recorded.
pub(crate) fn order(trials: &[&Trial]) -> Vec<(u32, String, String)> {
    trials.iter().map(|trial| (trial.block, trial.label.clone(), trial.workload.clone())).collect()
}

/// Builds a plan with one and two clients.
pub(crate) fn plan_of_two_shapes(networks: &[&str]) -> Plan {
    let shapes = [1, 2].map(|clients| Shape { clients, ..Shape::default() });
    Plan { shapes: shapes.to_vec(), ..plan(networks, 3) }
}
