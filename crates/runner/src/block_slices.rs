//! Slices of the woven workloads from block to block.

use tare_record::{Plan, SlicePlan, Trial};

/// Slices of the woven workloads in the block that is under way.
#[derive(Debug)]
pub(crate) struct BlockSlices {
    /// Slices of each workload of the plan. `None` if it is not woven.
    plans: Vec<Option<SlicePlan>>,
    /// True for workloads whose slices stay the same to the end of the run.
    settled: Vec<bool>,
}

impl BlockSlices {
    /// Creates the slices of a run's next block. A run that was cut off goes on with those of its last blocks, if they
    /// were chosen.
    pub(crate) fn new(plan: &Plan, main: &[Trial]) -> Self {
        let plans = plan.workloads.iter().map(|workload| workload.slices).collect();
        let is_settled = plan.workloads.iter().map(|workload| workload.slice_lengths.is_empty());
        let mut slices = Self { plans, settled: is_settled.collect() };
        for trial in main {
            let Some((_, workload, _)) = plan.locate_trial(trial) else { continue };
            let tried = plan.workloads[workload].slice_lengths.len();
            if let Some(chosen) = &trial.slices
                && trial.block as usize >= tried
            {
                slices.settle(workload, chosen.plan);
            }
        }
        slices
    }

    /// Returns the slices of a workload in this block. Returns `None` if it is not woven.
    pub(crate) fn plan_of(&self, workload: usize) -> Option<SlicePlan> {
        self.plans[workload]
    }

    /// Returns true if the slices of a workload stay the same to the end of the run.
    pub(crate) fn is_settled(&self, workload: usize) -> bool {
        self.settled[workload]
    }

    /// Sets the slices of a workload in this block.
    pub(crate) fn set(&mut self, workload: usize, slices: SlicePlan) {
        self.plans[workload] = Some(slices);
    }

    /// Sets the slices of a workload to the end of the run.
    pub(crate) fn settle(&mut self, workload: usize, slices: SlicePlan) {
        self.set(workload, slices);
        self.settled[workload] = true;
    }
}
