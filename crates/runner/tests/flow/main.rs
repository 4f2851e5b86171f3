//! Tests of the sequence of a run: the order in which trials are recorded, a network that breaks, an interruption, and
//! a run that was cut off and goes on.

mod resume;
mod scripted;

use scripted::*;
use std::rc::Rc;
use std::time::Duration;
use tare_record::finding::SecondAttempt;
use tare_record::journal::Record;
use tare_record::{BlockPolicy, Finding, Nanos, NetworkFailure, Phase, StoppedBy, Trial};
use tare_runner::{Progress, RunEvent, SilentProgress, StartPoint, run_plan};

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
                Finding::SecondAttempt(SecondAttempt { reason }) => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        assert!(told.contains(&reason) && told.len() <= fails_once.len(), "{told:?}");
    }
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
