//! Tests of the sequence of a run: the order in which trials are recorded, a network that breaks, an interruption, and
//! a run that was cut off and goes on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{
    BlockPolicy, Environment, Finding, Hop, Metric, Nanos, NetworkFailure, Phase, Plan, Shape,
    StoppedBy, Trial,
};
use tare_runner::{
    AttemptError, Progress, RunEnvironment, RunEvent, RunningNetwork, SilentProgress, StartPoint,
    TrialMeasurement, TurnSetup, run_plan,
};

/// Environment that measures nothing, counts trials and follows a script.
#[derive(Default)]
struct ScriptedEnvironment {
    trials: Rc<Cell<u32>>,
    /// Number of networks that are up: one at most.
    standing: Rc<Cell<u32>>,
    /// Label of a network that cannot be raised.
    broken_network: Option<&'static str>,
    /// The first workload breaks over networks of two clients.
    first_workload_breaks: bool,
    /// Numbers of attempts to raise a network, and of trials, that fail once, from 0.
    fails_once: Vec<Attempt>,
    attempts: Rc<Cell<(u32, u32)>>,
    /// Number of trials after which the run is interrupted.
    interrupt_after: Option<u32>,
    clock: u64,
    /// Total of the pauses that the clock was told to leave out.
    excluded: Duration,
}

/// Attempt that fails, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Raise(u32),
    Trial(u32),
}

struct ScriptedNetwork {
    trials: Rc<Cell<u32>>,
    standing: Rc<Cell<u32>>,
    first_workload_breaks: bool,
    interrupt_after: Option<u32>,
    fails_once: Vec<Attempt>,
    attempts: Rc<Cell<(u32, u32)>>,
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

fn failed(reason: &str) -> AttemptError {
    AttemptError::Failed { reason: reason.into(), remedy: String::new() }
}

fn resume(journal: &mut Journal) -> StartPoint {
    StartPoint::resume(journal, "now".into()).0
}

fn plan(networks: &[&str], blocks: u32) -> Plan {
    let workload = |name: &str| made_up_workload(name, &[Metric::Throughput]);
    Plan {
        study: "flow".into(),
        seed: 5,
        blocks: BlockPolicy::Fixed { blocks },
        ..made_up_plan(networks, vec![workload("tcp-stream"), workload("tcp-rr")])
    }
}

fn journal(plan: &Plan, records: Vec<Record>) -> Journal {
    let environment = Environment::default();
    Journal {
        run: RunHeader { format: FORMAT, plan: plan.clone(), environment, findings: vec![] },
        records,
    }
}

/// Returns block, label and workload of every trial, in the order in which they were recorded.
fn order(trials: &[&Trial]) -> Vec<(u32, String, String)> {
    trials.iter().map(|trial| (trial.block, trial.label.clone(), trial.workload.clone())).collect()
}

#[test]
fn every_block_has_every_network_and_workload_once() {
    let plan = plan(&["a", "b", "c"], 4);
    let mut records = Vec::new();
    let ended = run_plan(
        &plan,
        StartPoint::default(),
        &mut ScriptedEnvironment::default(),
        &mut records,
        &mut SilentProgress,
    );
    assert_eq!(ended.unwrap(), StoppedBy::Blocks);
    let journal = journal(&plan, records);
    assert_eq!(journal.stopped_by(), Some(StoppedBy::Blocks));
    let order = order(&journal.trials());
    assert_eq!(order.len(), 4 * 3 * 2);
    for block in 0..4 {
        let mut of_block: Vec<_> = order.iter().filter(|trial| trial.0 == block).cloned().collect();
        of_block.sort();
        of_block.dedup();
        assert_eq!(of_block.len(), 6);
    }
}

/// Progress that pauses after every block.
struct PausingProgress;

impl Progress for PausingProgress {
    fn handle_event(&mut self, _: RunEvent<'_>) {}

    fn wait_while_paused(&mut self) -> Duration {
        Duration::from_secs(60)
    }
}

#[test]
fn a_pause_is_between_blocks_and_no_part_of_the_runs_time() {
    let plan = plan(&["a", "b"], 3);
    let mut stage = ScriptedEnvironment::default();
    run_plan(&plan, StartPoint::default(), &mut stage, &mut Vec::new(), &mut PausingProgress)
        .unwrap();
    assert_eq!(stage.excluded, Duration::from_secs(3 * 60));
}

#[test]
fn a_network_that_breaks_is_left_out_and_the_others_go_on() {
    let plan = plan(&["a", "b", "c"], 3);
    let mut records = Vec::new();
    let mut stage =
        ScriptedEnvironment { broken_network: Some("b"), ..ScriptedEnvironment::default() };
    let ended =
        run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress)
            .unwrap();
    assert_eq!(ended, StoppedBy::Blocks);
    let journal = journal(&plan, records);
    assert_eq!(journal.failures().len(), 1);
    assert_eq!(journal.failures()[0].reason, "it broke");
    assert_eq!(journal.trials().len(), 3 * 2 * 2);
    assert!(journal.trials().iter().all(|trial| trial.label != "b"));
}

#[test]
fn what_fails_once_is_tried_again_and_nothing_is_lost() {
    let plan = plan(&["a", "b", "c"], 3);
    for (fails_once, reason) in [
        (vec![Attempt::Trial(4)], "broken once"),
        (vec![Attempt::Raise(2)], "not raised"),
        // Neither is the second in a row.
        (vec![Attempt::Raise(2), Attempt::Trial(4)], "broken once"),
    ] {
        let mut records = Vec::new();
        let mut stage = ScriptedEnvironment {
            fails_once: fails_once.clone(),
            ..ScriptedEnvironment::default()
        };
        let ended =
            run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress)
                .unwrap();
        assert_eq!(ended, StoppedBy::Blocks);
        let journal = journal(&plan, records);
        assert_eq!((journal.failures().len(), journal.trials().len()), (0, 3 * 3 * 2));
        let trials = journal.trials();
        let told = trials.iter().flat_map(|trial| &trial.findings);
        let told: Vec<&str> = told
            .filter_map(|finding| match finding {
                Finding::SecondAttempt { reason } => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        assert!(told.contains(&reason) && told.len() <= fails_once.len(), "{told:?}");
    }
}

/// Builds a plan with one and two clients.
fn plan_of_two_shapes(networks: &[&str]) -> Plan {
    let shapes = [1, 2].map(|clients| Shape { clients, ..Shape::default() });
    Plan { shapes: shapes.to_vec(), ..plan(networks, 3) }
}

#[test]
fn a_workload_that_breaks_is_left_out_of_its_shape_alone() {
    let plan = plan_of_two_shapes(&["a", "b"]);
    let mut records = Vec::new();
    let mut stage =
        ScriptedEnvironment { first_workload_breaks: true, ..ScriptedEnvironment::default() };
    let ended =
        run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress)
            .unwrap();
    assert_eq!(ended, StoppedBy::Blocks);
    let journal = journal(&plan, records);
    let broke = |failure: &&NetworkFailure| {
        let clients = failure.shape.as_ref().map(|shape| shape.clients);
        (failure.network.clone(), clients, failure.workload.clone(), failure.block)
    };
    let mut failures: Vec<_> = journal.failures().iter().map(broke).collect();
    failures.sort();
    let one = |network: &str| (network.into(), Some(2), Some("tcp-stream".into()), Some(0));
    assert_eq!(failures, [one("a"), one("b")], "once each, and never tried again");
    for block in 0..3 {
        for label in ["a", "b"] {
            let of_it = |trial: &&&Trial| trial.block == block && trial.label == label;
            let trials = journal.trials();
            let mut measured: Vec<(u32, &str)> = trials
                .iter()
                .filter(of_it)
                .map(|trial| (trial.shape.clients, trial.workload.as_str()))
                .collect();
            measured.sort();
            assert_eq!(measured, [(1, "tcp-rr"), (1, "tcp-stream"), (2, "tcp-rr")]);
        }
    }
    let mut cut = journal;
    cut.records.pop();
    assert_eq!(resume(&mut cut).main, 3, "its blocks are whole without what broke");
}

#[test]
fn a_trial_whose_line_is_lost_costs_no_other() {
    let plan = plan_of_two_shapes(&["a", "b"]);
    let mut records = Vec::new();
    let mut stage =
        ScriptedEnvironment { interrupt_after: Some(20), ..ScriptedEnvironment::default() };
    run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress).unwrap();
    let main = |records: &[Record]| resume(&mut journal(&plan, records.to_vec())).main;
    assert_eq!(main(&records), 2, "of three blocks, of eight trials each");
    let is_trial = |record: &Record| matches!(record, Record::Trial(_));
    records.remove(records.iter().position(is_trial).unwrap());
    assert_eq!(main(&records), 2, "the second block is whole and stays");
    for _ in 0..5 {
        records.remove(records.iter().rposition(is_trial).unwrap());
    }
    assert_eq!(main(&records), 0, "no block is whole");
}

#[test]
fn a_run_that_goes_on_knows_what_broke() {
    let plan = plan_of_two_shapes(&["a", "b"]);
    let mut records = Vec::new();
    let mut stage = ScriptedEnvironment {
        first_workload_breaks: true,
        interrupt_after: Some(8),
        ..ScriptedEnvironment::default()
    };
    run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress).unwrap();
    let mut journal = journal(&plan, records);
    let start = resume(&mut journal);
    assert_eq!((start.main, start.failures.len()), (1, 2));
    let mut stage =
        ScriptedEnvironment { first_workload_breaks: true, ..ScriptedEnvironment::default() };
    run_plan(&plan, start, &mut stage, &mut journal.records, &mut SilentProgress).unwrap();
    assert_eq!((journal.trials().len(), journal.failures().len()), (3 * 2 * 3, 2));
}

#[test]
fn a_finished_run_in_which_a_network_was_given_up_is_completed() {
    let mut plan = plan(&["a", "b", "c"], 3);
    let run = |plan: &Plan, stage: &mut ScriptedEnvironment| {
        let mut records = Vec::new();
        run_plan(plan, StartPoint::default(), stage, &mut records, &mut SilentProgress).unwrap();
        journal(plan, records)
    };
    for blocks in [
        BlockPolicy::Fixed { blocks: 3 },
        BlockPolicy::Precision { precision: None, pilot: 2, at_least: 3, at_most: 3 },
    ] {
        plan.blocks = blocks;
        let whole = run(&plan, &mut ScriptedEnvironment::default());
        let attempts_of_block = 3 * 2;
        for block in 0..whole.trials().len() as u32 / attempts_of_block {
            // The first trial of the block, and its repetition.
            let first = block * attempts_of_block;
            let fails_once = vec![Attempt::Trial(first), Attempt::Trial(first + 1)];
            let mut stage = ScriptedEnvironment { fails_once, ..ScriptedEnvironment::default() };
            let mut journal = run(&plan, &mut stage);
            assert_eq!(journal.failures().len(), 1, "{blocks:?} {block}");
            let lost = (whole.trials().len() - journal.trials().len()) as u32;
            assert!(lost > 0);
            let start = resume(&mut journal);
            assert!(start.failures.is_empty());
            let clock = start.elapsed.0;
            let mut stage = ScriptedEnvironment { clock, ..ScriptedEnvironment::default() };
            run_plan(&plan, start, &mut stage, &mut journal.records, &mut SilentProgress).unwrap();
            assert_eq!(order(&journal.trials()), order(&whole.trials()), "{blocks:?} {block}");
            assert!(journal.failures().is_empty() && journal.sizing() == whole.sizing());
            let began: Vec<Nanos> = journal.trials().iter().map(|trial| trial.began).collect();
            assert!(began.is_sorted(), "the clock goes on from the trials that are kept");
        }
    }
}

#[test]
fn what_failed_in_the_block_that_was_cut_off_is_tried_again() {
    let plan = plan(&["a", "b", "c"], 2);
    let mut records = Vec::new();
    let fails_once = vec![Attempt::Trial(7), Attempt::Trial(8)];
    let mut stage = ScriptedEnvironment {
        fails_once,
        interrupt_after: Some(8),
        ..ScriptedEnvironment::default()
    };
    run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress).unwrap();
    let mut journal = journal(&plan, records);
    assert_eq!((journal.failures().len(), journal.trials().len()), (1, 8));
    let start = resume(&mut journal);
    assert_eq!((start.main, start.failures.len()), (1, 0));
}

#[test]
fn no_network_stands_after_a_run_however_it_ended() {
    let plan = plan_of_two_shapes(&["a", "b"]);
    for (frail, interrupt_after, breaks) in
        [(false, None, None), (true, None, None), (false, Some(3), None), (false, None, Some("b"))]
    {
        let mut stage = ScriptedEnvironment {
            first_workload_breaks: frail,
            interrupt_after,
            broken_network: breaks,
            ..ScriptedEnvironment::default()
        };
        let standing = Rc::clone(&stage.standing);
        run_plan(&plan, StartPoint::default(), &mut stage, &mut Vec::new(), &mut SilentProgress)
            .unwrap();
        assert_eq!(standing.get(), 0, "{frail}, {interrupt_after:?}, {breaks:?}");
    }
}

#[test]
fn when_all_break_the_run_ends() {
    let plan = plan(&["a"], 3);
    let mut records = Vec::new();
    let mut stage =
        ScriptedEnvironment { broken_network: Some("a"), ..ScriptedEnvironment::default() };
    let ended =
        run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress)
            .unwrap();
    assert_eq!(ended, StoppedBy::Failed);
}

#[test]
fn a_run_that_was_interrupted_anywhere_and_goes_on_gives_the_same_blocks_as_one_that_was_not() {
    let plan = plan(&["a", "b", "c"], 3);
    let mut whole = Vec::new();
    run_plan(
        &plan,
        StartPoint::default(),
        &mut ScriptedEnvironment::default(),
        &mut whole,
        &mut SilentProgress,
    )
    .unwrap();
    let whole = order(&journal(&plan, whole).trials());

    for cut in 0..18 {
        let mut records = Vec::new();
        let mut stage =
            ScriptedEnvironment { interrupt_after: Some(cut), ..ScriptedEnvironment::default() };
        let ended =
            run_plan(&plan, StartPoint::default(), &mut stage, &mut records, &mut SilentProgress)
                .unwrap();
        assert_eq!(ended, StoppedBy::Interrupted, "after {cut} trials");

        let mut journal = journal(&plan, records);
        let start = resume(&mut journal);
        let mut stage = ScriptedEnvironment::default();
        run_plan(&plan, start, &mut stage, &mut journal.records, &mut SilentProgress).unwrap();
        assert_eq!(order(&journal.trials()), whole, "cut after {cut} trials");
        assert_eq!(journal.stopped_by(), Some(StoppedBy::Blocks));
    }
}

#[test]
fn the_pilot_is_measured_first_and_is_no_part_of_the_result() {
    let mut plan = plan(&["a", "b"], 1);
    plan.blocks =
        BlockPolicy::Precision { precision: Some(0.5), pilot: 2, at_least: 3, at_most: 9 };
    let mut records = Vec::new();
    let ended = run_plan(
        &plan,
        StartPoint::default(),
        &mut ScriptedEnvironment::default(),
        &mut records,
        &mut SilentProgress,
    );
    assert_eq!(ended.unwrap(), StoppedBy::Precision);
    let journal = journal(&plan, records);
    let sizing = journal.sizing().unwrap();
    assert_eq!(sizing.blocks, 3);
    let of = |phase| journal.trials().iter().filter(|trial| trial.phase == phase).count();
    assert_eq!((of(Phase::Pilot), of(Phase::Main)), (2 * 4, 3 * 4));
    let decided = journal.records.iter().position(|record| matches!(record, Record::Sizing(_)));
    assert_eq!(decided, Some(8), "the number is fixed right after the pilot");
}

#[test]
fn the_budget_ends_the_run_between_blocks_and_never_before_two() {
    let mut plan = plan(&["a", "b"], 50);
    plan.budget = Some(Nanos(9_000_000_000));
    let mut records = Vec::new();
    let ended = run_plan(
        &plan,
        StartPoint::default(),
        &mut ScriptedEnvironment::default(),
        &mut records,
        &mut SilentProgress,
    );
    assert_eq!(ended.unwrap(), StoppedBy::Budget);
    // Two networks a block, one second each: a fifth block would end after the ninth second.
    assert_eq!(journal(&plan, records).trials().len(), 4 * 2 * 2);
}
