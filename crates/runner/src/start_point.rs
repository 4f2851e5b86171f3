//! Point from which a run starts: a fresh run at its beginning, a run that was cut off after its last whole block.
//!
//! A block that was cut in two is run again as a whole, because its ratios are valid only if its trials were run back
//! to back. A [`ResumePoint`] record in the journal says so, and makes the old half void.

use tare_record::journal::{Journal, ResumePoint};
use tare_record::{
    BlockPolicy, InterimAnalysis, Nanos, NetworkFailure, Phase, Plan, RemainingPlan, Sizing, Trial,
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
    /// The run's clock at the moment when it was cut off.
    pub elapsed: Nanos,
}

impl StartPoint {
    /// Finds the point at which the run of this journal was cut off.
    #[must_use]
    pub fn from_journal(journal: &Journal) -> Self {
        let trials = journal.trials();
        let failures: Vec<NetworkFailure> = journal.failures().into_iter().cloned().collect();
        let plan = &journal.run.plan;
        let analyses = journal.interim_analyses();
        let whole = |phase| {
            let failures: Vec<&NetworkFailure> = failures.iter().collect();
            let whole = RemainingPlan::whole_blocks(plan, &trials, phase, &failures, &analyses);
            // A block before the last whole one can lack a trial whose line in the journal is damaged. It stays.
            whole.last().map_or(0, |last| last.saturating_add(1))
        };
        let pilot = whole(Phase::Pilot);
        let main = whole(Phase::Main);
        let is_tested = matches!(
            plan.blocks,
            BlockPolicy::Sequence { .. } | BlockPolicy::GroupSequential { .. }
        );
        let in_main =
            |trial: &&&Trial| is_tested && trial.phase == Phase::Main && trial.block < main;
        let in_pilot = |trial: &&&Trial| trial.phase == Phase::Pilot && trial.block < pilot;
        Self {
            pilot,
            main,
            main_trials: trials.iter().filter(in_main).map(|&trial| trial.clone()).collect(),
            sizing: journal.sizing().cloned(),
            pilot_trials: trials.iter().filter(in_pilot).map(|&trial| trial.clone()).collect(),
            elapsed: trials.iter().map(|trial| trial.began + trial.took).max().unwrap_or_default(),
            failures,
            analyses,
        }
    }

    /// Returns the trials of the blocks before this point, which stay part of the run.
    #[must_use]
    pub fn trials_before<'a>(&self, journal: &'a Journal) -> Vec<&'a Trial> {
        let is_kept = |trial: &&Trial| match trial.phase {
            Phase::Pilot => trial.block < self.pilot,
            Phase::Main => trial.block < self.main,
        };
        journal.trials().into_iter().filter(is_kept).collect()
    }

    /// Builds the record that says from which block the run goes on.
    #[must_use]
    pub fn resume_record(&self, plan: &Plan, time: String) -> ResumePoint {
        let in_main =
            self.sizing.is_some() || !matches!(plan.blocks, BlockPolicy::Precision { .. });
        let (phase, block) =
            if in_main { (Phase::Main, self.main) } else { (Phase::Pilot, self.pilot) };
        ResumePoint { phase, block, time }
    }
}
