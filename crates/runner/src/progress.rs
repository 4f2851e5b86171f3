//! Progress of a run, as it is reported to the user.

use std::time::Duration;
use tare_record::{
    InterimAnalysis, NetworkEntry, NetworkFailure, Phase, Plan, Shape, Sizing, Trial, WorkloadPlan,
};
use tare_study::slice_choice::SliceChoice;

/// Event of a run.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// The number of blocks is fixed.
    Sized {
        /// Plan of the run.
        plan: &'a Plan,
        /// The decided number of blocks, and the reason.
        sizing: &'a Sizing,
    },
    /// The slices of a workload are chosen for the rest of the run.
    SlicesChosen {
        /// Workload that is woven.
        workload: &'a WorkloadPlan,
        /// The slices, and the spreads from which they follow.
        choice: &'a SliceChoice,
    },
    /// A phase of the run begins.
    Phase {
        /// Phase of the following blocks.
        phase: Phase,
        /// First block of the phase; above 0 in a resumed run.
        from: u32,
        /// Number of blocks of the phase.
        blocks: u32,
        /// Number of trials of a block.
        trials: u32,
    },
    /// A trial of the block begins.
    Trial {
        /// Network of the trial.
        entry: &'a NetworkEntry,
        /// Workload of the trial.
        workload: &'a WorkloadPlan,
        /// Shape of the trial.
        shape: &'a Shape,
        /// Number of the block, from 0.
        block: u32,
    },
    /// A trial is in the journal.
    Measured(&'a Trial),
    /// A network or workload broke, and is tried once again.
    FailedOnce(&'a NetworkFailure),
    /// A network or workload broke twice in a row, and is left out from here on.
    Failed(&'a NetworkFailure),
    /// The run was analysed before its end. The networks that this decided are no longer measured.
    Analysed(&'a InterimAnalysis),
    /// A block is complete.
    Block {
        /// Phase of the block.
        phase: Phase,
        /// Number of the block, from 0.
        block: u32,
    },
}

/// Receiver of a run's events.
pub trait Progress {
    /// Handles an event of the run.
    fn handle_event(&mut self, event: RunEvent<'_>);

    /// Waits as long as the user pauses the run, and returns how long that was. Called between blocks, when no network
    /// is up: trials of one block must not have a pause between them, as their ratios would contain the drift of it.
    fn wait_while_paused(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// Progress that reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn handle_event(&mut self, _: RunEvent<'_>) {}
}
