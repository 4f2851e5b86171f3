//! Group-sequential run: a few planned interim analyses, at which decided networks leave the run.
//!
//! The spread of the first blocks gives the largest number of blocks. These blocks stay part of the result: they
//! determine a number, and no interval.

use crate::Error;
use crate::run::{BlockEnd, PhaseEnd, RunSequence};
use tare_record::{Nanos, Phase, Sizing, StoppedBy};

/// Shares of the planned information at which a run is analysed before its end. An earlier analysis of so few blocks
/// would decide next to nothing.
const PLANNED: [f64; 3] = [0.4, 0.6, 0.8];

/// Returns the reason for the end of a run with the largest number of blocks.
fn end_reason(most: u32, sizing: Option<&Sizing>) -> StoppedBy {
    match sizing {
        Some(sizing) if sizing.needed <= most => StoppedBy::Precision,
        _ => StoppedBy::Blocks,
    }
}

impl RunSequence<'_> {
    /// Runs the blocks, with an interim analysis where one is due. The spread of the pilot's blocks gives the largest
    /// number; no analysis is made of fewer than `at_least` blocks.
    pub(crate) fn run_group_sequential(
        &mut self,
        from: u32,
        pilot: u32,
        at_least: u32,
        mut sizing: Option<Sizing>,
    ) -> Result<PhaseEnd, Error> {
        self.announce_phase(Phase::Main, from, self.plan.blocks.most_blocks(sizing.as_ref()));
        let mut last_block = Nanos(0);
        let mut number = from;
        loop {
            let most = self.plan.blocks.most_blocks(sizing.as_ref());
            if number >= most {
                return Ok(PhaseEnd::Done(end_reason(most, sizing.as_ref())));
            }
            if self.is_over_budget(Phase::Main, number, last_block) {
                return Ok(PhaseEnd::Early(StoppedBy::Budget));
            }
            // Only where another block would follow: the end of a run is an analysis of its own.
            if number >= at_least && self.analyse(number, most)? {
                return Ok(PhaseEnd::Done(StoppedBy::Decided));
            }
            match self.run_timed_block(Phase::Main, number)? {
                BlockEnd::Completed(took) => last_block = took,
                BlockEnd::RunEnded(early) => return Ok(PhaseEnd::Early(early)),
            }
            number += 1;
            if sizing.is_none() && number >= pilot {
                let first_blocks = std::mem::take(&mut self.recorder.main);
                sizing = Some(self.decide_blocks(&first_blocks, number)?);
            }
        }
    }

    /// Analyses the run after this many blocks, of at most so many, if an analysis is due. Returns true if nothing is
    /// left to measure.
    fn analyse(&mut self, blocks: u32, most: u32) -> Result<bool, Error> {
        let information = self.information(blocks, most);
        let Some(interim) = &self.recorder.interim else { return Ok(false) };
        let last = interim.analyses().last().map_or(0.0, |last| last.information);
        if !PLANNED.iter().any(|&planned| last < planned && planned <= information) {
            return Ok(false);
        }
        let analysis = interim.analyse(blocks, information, &self.recorder.standing);
        self.recorder.record_analysis(analysis)?;
        Ok(self.recorder.standing.is_empty())
    }

    /// Returns the share of the planned information that this many blocks are: of the largest number of blocks, or of
    /// the budget if that ends the run earlier.
    fn information(&self, blocks: u32, most: u32) -> f64 {
        let of_blocks = f64::from(blocks) / f64::from(most);
        let elapsed = self.stage.elapsed().as_secs_f64();
        let of_budget = self.plan.budget.map_or(0.0, |budget| elapsed / budget.as_secs_f64());
        of_blocks.max(of_budget).min(1.0)
    }
}
