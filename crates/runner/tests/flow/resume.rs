//! Tests of a run that was cut off or finished, and goes on.

use crate::scripted::*;
use tare_record::journal::Record;
use tare_record::{BlockPolicy, Nanos, Plan, StoppedBy};
use tare_runner::{SilentProgress, StartPoint, run_plan};

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
