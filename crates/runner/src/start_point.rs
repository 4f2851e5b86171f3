//! Point from which a run starts: a fresh run at its beginning, a run that was cut off after its last whole block.
//!
//! A block that was cut in two is run again as a whole, because its ratios are valid only if its trials were run back
//! to back. A [`ResumePoint`] record in the journal says so, and makes the old half void: a network that failed in it is
//! tried again. A run that is finished, and in which networks failed, is completed in the same way, from the block of the
//! first failure on.

use tare_record::journal::{Journal, Record, ResumePoint};
use tare_record::{
    BlockPolicy, InterimAnalysis, Nanos, NetworkFailure, Phase, RemainingPlan, Sizing, StoppedBy,
    Trial,
};

/// Point from which a run starts.
#[derive(Clone, Debug, Default)]
pub struct StartPoint {
    /// The first pilot block to run.
    pub pilot: u32,
    /// The first main block to run.
    pub main: u32,
    /// The number of blocks, if it was decided.
    pub sizing: Option<Sizing>,
    /// Failures of networks and workloads so far.
    pub failures: Vec<NetworkFailure>,
    /// Interim analyses so far.
    pub analyses: Vec<InterimAnalysis>,
    /// Trials of the pilot so far.
    pub pilot_trials: Vec<Trial>,
    /// Trials of the main phase so far, if the run tests its precision as it goes on.
    pub main_trials: Vec<Trial>,
    /// The run's clock at the end of the last trial that is kept.
    pub elapsed: Nanos,
}

impl StartPoint {
    /// Resumes the run of a journal. Appends the record to it that says from which block the run goes on, and makes void
    /// what is there of that block and of later ones. Returns what the record holds as well.
    #[must_use]
    pub fn resume(journal: &mut Journal, time: String) -> (Self, ResumePoint) {
        let (phase, block) = restart_block(journal);
        let from = ResumePoint { phase, block, time };
        journal.records.push(Record::Resumed(from.clone()));
        let trials = journal.trials();
        let of_phase = |phase: Phase| trials.iter().filter(move |trial| trial.phase == phase);
        let pilot_blocks = of_phase(Phase::Pilot).map(|trial| trial.block.saturating_add(1)).max();
        let (pilot, main) = match phase {
            Phase::Pilot => (block, 0),
            Phase::Main => (pilot_blocks.unwrap_or_default(), block),
        };
        let is_tested = matches!(
            journal.run.plan.blocks,
            BlockPolicy::Sequence { .. } | BlockPolicy::GroupSequential { .. }
        );
        let in_main = of_phase(Phase::Main).filter(|_| is_tested);
        let start = Self {
            pilot,
            main,
            main_trials: in_main.map(|&trial| trial.clone()).collect(),
            pilot_trials: of_phase(Phase::Pilot).map(|&trial| trial.clone()).collect(),
            elapsed: trials.iter().map(|trial| trial.began + trial.took).max().unwrap_or_default(),
            sizing: journal.sizing().cloned(),
            failures: journal.failures().into_iter().cloned().collect(),
            analyses: journal.interim_analyses(),
        };
        (start, from)
    }
}

/// Returns the block from which a run goes on: the one in which it was cut off. A finished run goes on from the block of
/// its first failure.
fn restart_block(journal: &Journal) -> (Phase, u32) {
    let failures = journal.failures();
    let is_finished = journal.stopped_by().is_some_and(|by| by != StoppedBy::Interrupted);
    let first_failure = failures.iter().map(|one| (one.phase(), one.first_block())).min();
    if let Some(first) = first_failure.filter(|_| is_finished) {
        return first;
    }
    let plan = &journal.run.plan;
    let is_in_pilot =
        journal.sizing().is_none() && matches!(plan.blocks, BlockPolicy::Precision { .. });
    let phase = if is_in_pilot { Phase::Pilot } else { Phase::Main };
    let analyses = journal.interim_analyses();
    let whole = RemainingPlan::whole_blocks(plan, &journal.trials(), phase, &failures, &analyses);
    // A block before the last whole one can lack a trial whose line in the journal is damaged. It stays.
    (phase, whole.last().map_or(0, |last| last.saturating_add(1)))
}
