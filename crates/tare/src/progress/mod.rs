//! Progress display on standard error during a run: a bar on a terminal, with the last trial and the estimates so far
//! below it; plain lines elsewhere.

mod live_estimates;

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use live_estimates::LiveEstimates;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};
use tare_record::{BlockPolicy, Nanos, NetworkFailure, Phase, Plan, Sizing, StoppedBy};
use tare_runner::{Progress, RunEvent};

/// Display of the current trial, the number of completed blocks, the time left and the estimates so far.
pub(crate) struct ProgressDisplay {
    bar: Option<ProgressBar>,
    /// Estimates so far.
    live: LiveEstimates,
    /// Expected time of a block: from the plan at first, from measured blocks as soon as there are some.
    expected: Duration,
    began: Instant,
    /// Beginning of the run, and the longest time that it may take.
    run_began: Instant,
    budget: Option<Duration>,
    from: u32,
    blocks: u32,
    done: u32,
    /// Number of trials of a block.
    trials: u32,
    /// Time of the last plain line.
    last_line_at: Option<Instant>,
}

/// Smallest time between plain lines, except for the first blocks and the last.
const PAUSE: Duration = Duration::from_secs(5);
/// Number of the first blocks that have a line each.
const FIRST: u32 = 3;

impl ProgressDisplay {
    /// Creates the display for a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let terminal = std::io::stderr().is_terminal();
        if let BlockPolicy::Fixed { blocks } = plan.blocks {
            let time = block_time(plan).saturating_mul(blocks);
            let noun = if blocks == 1 { "block" } else { "blocks" };
            let budget = plan.budget.map(Duration::from).filter(|budget| *budget < time);
            // A number far beyond what fits is no plan.
            let is_far = budget.is_some_and(|budget| budget.saturating_mul(10) < time);
            output::print_status(&match budget.map(format_duration) {
                Some(budget) if is_far => format!("tare: as many blocks as fit into {budget}"),
                Some(budget) => format!("tare: {blocks} {noun}, or as many as fit into {budget}"),
                None => format!("tare: {blocks} {noun}, about {}", format_duration(time)),
            });
        }
        Self {
            bar: terminal.then(new_progress_bar),
            live: LiveEstimates::new(plan),
            expected: block_time(plan),
            began: Instant::now(),
            run_began: Instant::now(),
            budget: plan.budget.map(Duration::from),
            from: 0,
            blocks: 0,
            done: 0,
            trials: 0,
            last_line_at: None,
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Prints a line that stays.
    fn print_line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::print_status(text)),
            None => output::print_status(text),
        }
    }

    /// Returns the time of a block, measured if possible.
    fn time_of_block(&self) -> Duration {
        let measured = self.done.saturating_sub(self.from);
        if measured > 0 { self.began.elapsed() / measured } else { self.expected }
    }

    /// Returns the time left of the budget, if that ends the run before all blocks are done.
    fn budget_left(&self) -> Option<Duration> {
        let left = self.budget?.saturating_sub(self.run_began.elapsed());
        let all = self.time_of_block().saturating_mul(self.blocks.saturating_sub(self.done));
        (left < all).then_some(left)
    }

    fn time_left(&self) -> Duration {
        self.budget_left().unwrap_or_else(|| {
            self.time_of_block().saturating_mul(self.blocks.saturating_sub(self.done))
        })
    }

    /// Returns the number of blocks that will be done, as far as it is known.
    fn expected_blocks(&self) -> u32 {
        let each = self.time_of_block().as_secs_f64().max(1e-3);
        let fitting = self.budget_left().map(|left| (left.as_secs_f64() / each) as u32);
        fitting.map_or(self.blocks, |more| self.done.saturating_add(more).min(self.blocks))
    }

    fn start_phase(&mut self, from: u32, blocks: u32, trials: u32) {
        (self.from, self.done, self.blocks, self.began) = (from, from, blocks, Instant::now());
        self.trials = trials;
        self.scale_bar();
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(from) * u64::from(trials));
        }
    }

    /// Sets the length of the bar to the trials that will be run.
    fn scale_bar(&self) {
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(self.expected_blocks()) * u64::from(self.trials));
        }
    }

    fn finish_block(&mut self, phase: Phase, block: u32) {
        self.done = block + 1;
        let early_or_last = self.done <= self.from + FIRST || self.done == self.blocks;
        let due = self.last_line_at.is_none_or(|said| said.elapsed() >= PAUSE);
        if self.bar.is_none() && (early_or_last || due) {
            let (name, left) = (phase_name(phase), format_duration(self.time_left()));
            let of = self.of_blocks();
            self.print_line(&format!("tare: {name} {}{of} done, about {left} left", self.done));
            self.last_line_at = Some(Instant::now());
        }
        self.scale_bar();
    }

    /// Returns ` of N`, unless the time decides how many blocks there are.
    fn of_blocks(&self) -> String {
        let of = format!(" of {}", self.blocks);
        self.budget_left().map_or(of, |_| String::new())
    }
}

impl Progress for ProgressDisplay {
    fn handle_event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Sized { plan, sizing } => {
                self.expected = sizing.block_time.into();
                self.print_line(&sizing_line(plan, sizing));
            }
            RunEvent::Phase { from, blocks, trials, .. } => self.start_phase(from, blocks, trials),
            RunEvent::Trial { entry, workload, block, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!(
                        "block {}{}, {} {}, about {} left",
                        block + 1,
                        self.of_blocks(),
                        entry.label,
                        workload.name,
                        format_duration(self.time_left())
                    ));
                }
            }
            RunEvent::Measured(trial) => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                    bar.set_prefix(self.live.trial_line(trial));
                }
            }
            RunEvent::Failed(failure) => self.print_line(&failure_line(failure)),
            RunEvent::Block { phase, block } => self.finish_block(phase, block),
        }
    }
}

fn new_progress_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}\n{prefix}") {
        bar.set_style(style);
    }
    bar
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Pilot => "pilot block",
        Phase::Main => "block",
    }
}

/// Returns the minimal time of a block: the sum of its trials' durations.
fn block_time(plan: &Plan) -> Duration {
    let turns = (0..plan.networks.len())
        .flat_map(|network| (0..plan.shapes.len()).map(move |shape| (network, shape)));
    let trials = turns.flat_map(|(network, shape)| plan.workloads_of(network, shape));
    Nanos(trials.map(|workload| plan.workloads[workload].duration.0).sum()).into()
}

/// Formats the decision on the number of blocks: number, time, and reason.
fn sizing_line(plan: &Plan, sizing: &Sizing) -> String {
    let each: Duration = sizing.block_time.into();
    let time = format_duration(each * sizing.blocks);
    let goal = match plan.blocks {
        BlockPolicy::Precision { precision: Some(share), .. } => format!("± {} %", share * 100.0),
        _ => "half of each margin".to_owned(),
    };
    let why = match sizing.decided_by {
        StoppedBy::Budget => {
            let budget =
                plan.budget.map(|budget| format_duration(budget.into())).unwrap_or_default();
            format!(
                "a precision of {goal} needs {}, but the budget of {budget} allows only {}",
                sizing.needed, sizing.blocks
            )
        }
        StoppedBy::Blocks => {
            format!("a precision of {goal} needs {}, but the study allows no more", sizing.needed)
        }
        _ => format!("for a precision of {goal}"),
    };
    format!("tare: {} blocks, about {time}: {why}", sizing.blocks)
}

/// Formats a failure, and what is not tried again because of it.
fn failure_line(failure: &NetworkFailure) -> String {
    let NetworkFailure { network, workload, reason, .. } = failure;
    match workload {
        Some(name) => format!(
            "tare: {network} failed with the workload {name}, which is not measured on this network in this shape again: {reason}"
        ),
        None => {
            format!("tare: {network} failed, and is not measured in this shape again: {reason}")
        }
    }
}

/// Formats a time span in minutes and seconds.
fn format_duration(span: Duration) -> String {
    let seconds = (span.as_secs_f64() + 0.5) as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        assert_eq!(format_duration(Duration::from_millis(7400)), "7s");
        assert_eq!(format_duration(Duration::from_millis(119_600)), "2m00s");
    }
}
