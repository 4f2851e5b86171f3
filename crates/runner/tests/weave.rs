//! Tests of a woven block: all networks are up at once, every round has a slice of each, and what breaks is left out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{
    BlockPolicy, Environment, Finding, Hop, Metric, Nanos, Plan, SlicePlan, StoppedBy,
    WarmUpPolicy, WorkloadPlan,
};
use tare_runner::{
    AttemptError, RunEnvironment, RunningNetwork, SilentProgress, StartPoint, TrialMeasurement,
    TurnSetup, run_plan,
};

const SLICES: SlicePlan =
    SlicePlan { rounds: 3, warm_up: 1, length: Nanos(20_000_000), skip: Nanos(1_000_000) };

/// Request to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Up(String),
    Down(String),
    Connect(String, usize),
    Slice(String, bool),
    Finish(String),
    Trial(String, usize),
}

#[derive(Clone, Default)]
struct Script {
    events: Rc<RefCell<Vec<Event>>>,
    /// Label of a network whose second slice breaks.
    breaks: Option<&'static str>,
    /// Number of times that it breaks. `None`: always.
    times: Option<Rc<Cell<u32>>>,
    /// Number of events after which the run is interrupted.
    interrupt_after: Option<usize>,
}

struct ScriptedNetwork {
    label: String,
    script: Script,
    slices: u32,
}

impl Script {
    fn breaks_again(&self) -> bool {
        let Some(times) = &self.times else { return true };
        let left = times.get();
        times.set(left.saturating_sub(1));
        left > 0
    }

    fn note(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }
}

impl RunEnvironment for Script {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        let label = scene.entry.label.clone();
        self.note(Event::Up(label.clone()));
        Ok(Box::new(ScriptedNetwork { label, script: self.clone(), slices: 0 }))
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.events.borrow().len() as u64)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt_after.is_some_and(|limit| self.events.borrow().len() >= limit)
    }
}

impl Drop for ScriptedNetwork {
    fn drop(&mut self) {
        self.script.note(Event::Down(self.label.clone()));
    }
}

impl RunningNetwork for ScriptedNetwork {
    fn hops(&self) -> Vec<Hop> {
        Vec::new()
    }

    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError> {
        self.script.note(Event::Trial(self.label.clone(), workload));
        Ok(TrialMeasurement::default())
    }

    fn begin_slices(&mut self, workload: usize, _: SlicePlan) -> Result<(), AttemptError> {
        self.slices = 0;
        self.script.note(Event::Connect(self.label.clone(), workload));
        Ok(())
    }

    fn run_slice(&mut self, counted: bool) -> Result<(), AttemptError> {
        self.slices += 1;
        self.script.note(Event::Slice(self.label.clone(), counted));
        if self.slices == 2
            && self.script.breaks == Some(self.label.as_str())
            && self.script.breaks_again()
        {
            return Err(AttemptError::Failed { reason: "it broke".into(), remedy: String::new() });
        }
        Ok(())
    }

    fn finish_slices(&mut self) -> Result<TrialMeasurement, AttemptError> {
        self.script.note(Event::Finish(self.label.clone()));
        Ok(TrialMeasurement::default())
    }
}

/// Returns a plan of these networks: two woven workloads, then one that runs in one piece.
fn plan(networks: &[&str], blocks: u32) -> Plan {
    let workload = |name: &str, slices: Option<SlicePlan>| WorkloadPlan {
        duration: SLICES.duration(),
        interval: SLICES.length,
        warm_up: WarmUpPolicy::Fixed(Nanos(0)),
        slices,
        ..made_up_workload(name, &[Metric::Throughput])
    };
    let workloads = vec![
        workload("tcp-stream", Some(SLICES)),
        workload("tcp-rr", Some(SLICES)),
        workload("mysql", None),
    ];
    Plan {
        study: "weave".into(),
        seed: 5,
        blocks: BlockPolicy::Fixed { blocks },
        ..made_up_plan(networks, workloads)
    }
}

/// Runs a plan to its end, and returns its journal and the reason for the end; `None` if it failed.
fn run(plan: &Plan, mut script: Script) -> (Journal, Option<StoppedBy>) {
    let mut records: Vec<Record> = Vec::new();
    let start = StartPoint::default();
    let ended = run_plan(plan, start, &mut script, &mut records, &mut SilentProgress).ok();
    let environment = Environment::default();
    let run = RunHeader { format: FORMAT, plan: plan.clone(), environment, findings: vec![] };
    (Journal { run, records }, ended)
}

#[test]
fn every_round_has_a_slice_of_every_network_while_all_are_up() {
    let plan = plan(&["a", "b", "c"], 1);
    let script = Script::default();
    let (journal, ended) = run(&plan, script.clone());
    assert_eq!(ended, Some(StoppedBy::Blocks));
    let events = script.events.borrow();
    let slices: Vec<(&str, bool)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Slice(label, counted) => Some((label.as_str(), *counted)),
            _ => None,
        })
        .collect();
    let rounds: Vec<_> = slices.chunks(3).collect();
    assert_eq!(rounds.len(), 2 * SLICES.slice_count() as usize);
    for (nth, round) in rounds.iter().enumerate() {
        let labels: BTreeSet<&str> = round.iter().map(|(label, _)| *label).collect();
        assert_eq!(labels.len(), 3, "{round:?}");
        let counted = nth % SLICES.slice_count() as usize >= SLICES.warm_up as usize;
        assert!(round.iter().all(|slice| slice.1 == counted), "{round:?}");
    }
    let at = |wanted: &Event| events.iter().position(|event| event == wanted).unwrap();
    let first_slice = events.iter().position(|event| matches!(event, Event::Slice(..))).unwrap();
    for label in ["a", "b", "c"].map(str::to_owned) {
        assert!(at(&Event::Up(label.clone())) < first_slice);
        assert!(at(&Event::Down(label)) > first_slice);
    }
    let trials = journal.trials();
    assert_eq!(trials.len(), 9, "six woven, three in one piece");
    for trial in trials {
        let began = trial.slices.as_ref().map(|slices| slices.began.len());
        assert_eq!(began, (trial.workload != "mysql").then_some(SLICES.rounds as usize));
    }
}

#[test]
fn a_trial_in_one_piece_runs_while_its_network_alone_is_up() {
    let script = Script::default();
    run(&plan(&["a", "b"], 1), script.clone());
    let mut up = 0;
    for event in script.events.borrow().iter() {
        match event {
            Event::Up(_) => up += 1,
            Event::Down(_) => up -= 1,
            Event::Trial(..) => assert_eq!(up, 1),
            Event::Slice(..) => assert_eq!(up, 2),
            Event::Connect(..) | Event::Finish(_) => {}
        }
    }
    assert_eq!(up, 0);
}

#[test]
fn a_network_that_breaks_in_a_slice_loses_this_workload_alone_and_the_others_go_on() {
    let (journal, ended) =
        run(&plan(&["a", "b"], 2), Script { breaks: Some("b"), ..Script::default() });
    assert_eq!(ended, Some(StoppedBy::Blocks));
    let mut broken: Vec<_> = journal
        .failures()
        .iter()
        .map(|failure| (failure.network.clone(), failure.workload.clone().unwrap(), failure.block))
        .collect();
    broken.sort();
    let one = |workload: &str| ("b".to_owned(), workload.to_owned(), Some(0));
    assert_eq!(broken, [one("tcp-rr"), one("tcp-stream")]);
    let of = |label: &str| journal.trials().iter().filter(|trial| trial.label == label).count();
    assert_eq!((of("a"), of("b")), (2 * 3, 2));
    let mut cut = journal;
    cut.records.pop();
    assert_eq!(StartPoint::resume(&mut cut, String::new()).0.main, 2);
}

#[test]
fn when_a_network_breaks_once_the_rounds_begin_again_for_all() {
    let times = Some(Rc::new(Cell::new(1)));
    let script = Script { breaks: Some("b"), times, ..Script::default() };
    let (journal, ended) = run(&plan(&["a", "b", "c"], 1), script.clone());
    assert_eq!((ended, journal.failures().len()), (Some(StoppedBy::Blocks), 0));
    let trials = journal.trials();
    assert_eq!(trials.len(), 9, "six woven, three in one piece");
    for trial in trials.iter().filter(|trial| trial.workload != "mysql") {
        let began = trial.slices.as_ref().map(|slices| slices.began.len());
        assert_eq!(began, Some(SLICES.rounds as usize), "every trial has all of its slices");
    }
    let told = trials.iter().filter(|trial| {
        trial.findings.iter().any(|finding| matches!(finding, Finding::SecondAttempt(_)))
    });
    assert_eq!(told.map(|trial| trial.label.as_str()).collect::<Vec<_>>(), ["b"]);
    let events = script.events.borrow();
    let up = |label: &str| events.iter().filter(|event| **event == Event::Up(label.into())).count();
    // Once for the woven workloads, once for the trial in one piece.
    assert_eq!((up("a"), up("b"), up("c")), (2, 3, 2), "the others stay up");
}

#[test]
fn whatever_a_run_ends_with_no_network_stays_up() {
    let whole = Script::default();
    run(&plan(&["a", "b"], 1), whole.clone());
    for cut in 0..whole.events.borrow().len() {
        let script = Script { interrupt_after: Some(cut), ..Script::default() };
        let (_, ended) = run(&plan(&["a", "b"], 1), script.clone());
        let events = script.events.borrow();
        let count = |wanted: fn(&Event) -> bool| events.iter().filter(|one| wanted(one)).count();
        let up = count(|event| matches!(event, Event::Up(_)));
        assert_eq!(up, count(|event| matches!(event, Event::Down(_))), "after {cut} events");
        let finished = events.len() == whole.events.borrow().len();
        assert!(finished || ended == Some(StoppedBy::Interrupted), "after {cut} events: {ended:?}");
    }
}
