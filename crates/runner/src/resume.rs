//! From where a run goes on: a fresh one from the beginning, one that was cut off from its first incomplete block.
//!
//! A block that was cut in two is run again as a whole, for its ratios are worth something only because its trials
//! were made back to back. The journal says so in a [`Resumed`] record, which makes the old half void.

use tare_record::journal::{Journal, Resumed};
use tare_record::{Blocks, Failure, Nanos, Phase, Plan, Sizing, Standing, Trial};

/// From where a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The first pilot block to run.
    pub pilot: u32,
    /// The first main block to run.
    pub main: u32,
    /// The number of blocks, where it was decided.
    pub sizing: Option<Sizing>,
    /// What broke.
    pub failures: Vec<Failure>,
    /// The pilot's trials so far.
    pub pilot_trials: Vec<Trial>,
    /// The main phase's trials so far, where its end is looked for while it goes on.
    pub main_trials: Vec<Trial>,
    /// The run's clock when it was cut off.
    pub elapsed: Nanos,
}

impl Start {
    /// Where the run of this journal stands.
    #[must_use]
    pub fn after(journal: &Journal) -> Self {
        let trials = journal.trials();
        let failures: Vec<Failure> = journal.failures().into_iter().cloned().collect();
        let plan = &journal.run.plan;
        let standing = Standing::after(plan, &failures);
        let whole = |phase| whole_blocks(&standing, plan, &trials, phase);
        let pilot = whole(Phase::Pilot);
        let main = whole(Phase::Main);
        let sequence = matches!(plan.blocks, Blocks::Sequence { .. });
        let in_main =
            |trial: &&&Trial| sequence && trial.phase == Phase::Main && trial.block < main;
        let in_pilot = |trial: &&&Trial| trial.phase == Phase::Pilot && trial.block < pilot;
        Self {
            pilot,
            main,
            main_trials: trials.iter().filter(in_main).map(|&trial| trial.clone()).collect(),
            sizing: journal.sizing().cloned(),
            pilot_trials: trials.iter().filter(in_pilot).map(|&trial| trial.clone()).collect(),
            elapsed: trials.iter().map(|trial| trial.began + trial.took).max().unwrap_or_default(),
            failures,
        }
    }

    /// The record that says from where the run goes on.
    #[must_use]
    pub fn resumed(&self, plan: &Plan, time: String) -> Resumed {
        let in_main = self.sizing.is_some() || !matches!(plan.blocks, Blocks::Precision { .. });
        let (phase, block) =
            if in_main { (Phase::Main, self.main) } else { (Phase::Pilot, self.pilot) };
        Resumed { phase, block, time }
    }
}

/// How many blocks of a phase, from the first, have a trial of everything that has not broken.
fn whole_blocks(standing: &Standing, plan: &Plan, trials: &[&Trial], phase: Phase) -> u32 {
    let whole = standing.whole_blocks(plan, trials, phase);
    (0..).take_while(|block| whole.contains(block)).count() as u32
}
