//! Pilot of a woven run: its first blocks try several lengths of a slice, and count.

use crate::RunEvent;
use crate::run::RunSequence;
use tare_record::Nanos;
use tare_study::slice_choice::{self, BlockCost};

impl RunSequence<'_> {
    /// Sets the slices of a block. Only a run with interim analyses, which compares as it goes on, tries lengths.
    pub(crate) fn prepare_slices(&mut self, block: u32) {
        if self.recorder.interim.is_none() {
            return;
        }
        for (index, workload) in self.plan.workloads.iter().enumerate() {
            if self.recorder.slices.is_settled(index) {
                continue;
            }
            match slice_choice::tried_slices(workload, block) {
                Some(tried) => self.recorder.slices.set(index, tried),
                None => self.choose_slices(index),
            }
        }
    }

    /// Chooses the slices of a workload for the rest of the run.
    fn choose_slices(&mut self, index: usize) {
        let workload = &self.plan.workloads[index];
        let ratios = self.recorder.interim.as_ref().map(|interim| interim.block_ratios(index));
        let choice = slice_choice::choose(workload, &ratios.unwrap_or_default(), self.block_cost());
        let Some(slices) = choice.map(|choice| choice.slices).or(workload.slices) else { return };
        self.recorder.slices.settle(index, slices);
        if let Some(choice) = choice {
            self.recorder
                .progress
                .handle_event(RunEvent::SlicesChosen { workload, choice: &choice });
        }
    }

    /// Returns the cost of the blocks so far. Returns `None` if no block has run since the run was resumed.
    fn block_cost(&self) -> Option<BlockCost> {
        let blocks = self.block_times.len();
        let sum: u64 = self.block_times.iter().map(|time| time.0).sum();
        let block_time = sum.checked_div(u64::try_from(blocks).ok()?)?;
        let elapsed = self.stage.elapsed();
        Some(BlockCost {
            blocks,
            block_time: Nanos(block_time),
            networks: self.plan.networks.len() * self.plan.shapes.len(),
            time_left: self.plan.budget.map(|budget| Nanos(budget.0.saturating_sub(elapsed.0))),
        })
    }
}
