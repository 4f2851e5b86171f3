//! Plain lines of progress, for output that is no terminal.

use super::messages::{
    analysis_line, blocks_line, failure_line, first_failure_line, sizing_line, slices_line,
};
use super::run_clock::{RunClock, block_time, format_duration, phase_name};
use crate::output;
use std::time::{Duration, Instant};
use tare_record::{Phase, Plan};
use tare_runner::{Progress, RunEvent};

/// Smallest time between lines, except for the first blocks and the last.
const PAUSE: Duration = Duration::from_secs(5);
/// Number of the first blocks that have a line each.
const FIRST: u32 = 3;

/// Lines on completed blocks and the time left.
pub(super) struct ProgressLines {
    clock: RunClock,
    last_line_at: Option<Instant>,
}

impl ProgressLines {
    /// Starts the lines for a plan.
    pub(super) fn start(plan: &Plan) -> Self {
        if let Some(line) = blocks_line(plan, block_time(plan)) {
            output::print_status(&line);
        }
        Self { clock: RunClock::start(plan, Instant::now()), last_line_at: None }
    }

    fn finish_block(&mut self, phase: Phase, block: u32) {
        self.clock.finish_block(block);
        let (done, of) = self.clock.blocks();
        let early_or_last = self.clock.blocks_here() <= FIRST || done == of;
        let due = self.last_line_at.is_none_or(|said| said.elapsed() >= PAUSE);
        if early_or_last || due {
            let now = Instant::now();
            let (name, of_blocks) = (phase_name(phase), self.clock.of_blocks(now));
            let left = format_duration(self.clock.time_left(now));
            output::print_status(&format!(
                "tare: {name} {done}{of_blocks} done, about {left} left"
            ));
            self.last_line_at = Some(now);
        }
    }
}

impl Progress for ProgressLines {
    fn handle_event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Sized { plan, sizing } => {
                self.clock.apply_sizing(plan, sizing);
                output::print_status(&sizing_line(plan, sizing));
            }
            RunEvent::SlicesChosen { workload, choice } => {
                output::print_status(&slices_line(workload, choice));
            }
            RunEvent::Phase { phase, from, blocks, .. } => {
                self.clock.start_phase(phase, from, blocks, Instant::now());
            }
            RunEvent::Analysed(analysis) => {
                if let Some(line) = analysis_line(analysis) {
                    output::print_status(&line);
                }
            }
            RunEvent::FailedOnce(failure) => output::print_status(&first_failure_line(failure)),
            RunEvent::Failed(failure) => output::print_status(&failure_line(failure)),
            RunEvent::Block { phase, block } => self.finish_block(phase, block),
            RunEvent::Trial { .. } | RunEvent::Measured(_) => {}
        }
    }
}
