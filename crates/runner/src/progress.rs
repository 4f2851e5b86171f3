//! What a person is told while a run goes on.

use tare_record::{Entry, Failure, Phase, Plan, Shape, Sizing, Trial, WorkloadPlan};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The number of blocks is fixed.
    Sized {
        /// The plan.
        plan: &'a Plan,
        /// What was decided.
        sizing: &'a Sizing,
    },
    /// A phase begins.
    Phase {
        /// Which.
        phase: Phase,
        /// Its first block: above zero when a run is resumed.
        from: u32,
        /// How many blocks it has.
        blocks: u32,
        /// How many trials a block has.
        trials: u32,
    },
    /// A trial begins.
    Trial {
        /// The network.
        entry: &'a Entry,
        /// The workload.
        workload: &'a WorkloadPlan,
        /// The shape.
        shape: &'a Shape,
        /// The block.
        block: u32,
    },
    /// A trial is in the journal.
    Measured(&'a Trial),
    /// A network broke.
    Failed(&'a Failure),
    /// A block is complete.
    Block {
        /// Which phase.
        phase: Phase,
        /// Which, from 0.
        block: u32,
    },
}

/// Somebody who tells a person.
pub trait Progress {
    /// Takes notice of an event.
    fn event(&mut self, event: Event<'_>);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn event(&mut self, _: Event<'_>) {}
}
