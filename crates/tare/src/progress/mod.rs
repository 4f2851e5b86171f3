//! What a person sees on standard error while a run goes on: a bar on a terminal, with the last trial and what is known
//! so far below it; plain lines elsewhere.

mod live;

use crate::out;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use live::Live;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};
use tare_record::{Blocks, Failure, Nanos, Phase, Plan, Sizing, StoppedBy};
use tare_runner::{Event, Progress};

/// Tells what runs now, how many blocks are done, how much time is left, and what is known so far.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    /// What is known so far.
    live: Live,
    /// What a block is expected to take: from the plan at first, from the blocks measured as soon as there are some.
    expected: Duration,
    began: Instant,
    from: u32,
    blocks: u32,
    done: u32,
    /// When the last plain line was written.
    said: Option<Instant>,
}

/// Plain lines come at most this often, but for the first blocks and the last.
const PAUSE: Duration = Duration::from_secs(5);
/// As many of the first blocks have a line each.
const FIRST: u32 = 3;

impl Bar {
    /// A bar for this plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let terminal = std::io::stderr().is_terminal();
        if let Blocks::Fixed { blocks } = plan.blocks {
            let time = block_time(plan) * blocks;
            let noun = if blocks == 1 { "block" } else { "blocks" };
            out::say(&format!("tare: {blocks} {noun}, about {}", short(time)));
        }
        Self {
            bar: terminal.then(bar),
            live: Live::new(plan),
            expected: block_time(plan),
            began: Instant::now(),
            from: 0,
            blocks: 0,
            done: 0,
            said: None,
        }
    }

    /// Clears the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| out::say(text)),
            None => out::say(text),
        }
    }

    fn left(&self) -> Duration {
        let measured = self.done.saturating_sub(self.from);
        let each = if measured > 0 { self.began.elapsed() / measured } else { self.expected };
        each * self.blocks.saturating_sub(self.done)
    }

    fn phase(&mut self, from: u32, blocks: u32, trials: u32) {
        (self.from, self.done, self.blocks, self.began) = (from, from, blocks, Instant::now());
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(blocks) * u64::from(trials));
            bar.set_position(u64::from(from) * u64::from(trials));
        }
    }

    fn block(&mut self, phase: Phase, block: u32) {
        self.done = block + 1;
        let early_or_last = self.done <= self.from + FIRST || self.done == self.blocks;
        let due = self.said.is_none_or(|said| said.elapsed() >= PAUSE);
        if self.bar.is_none() && (early_or_last || due) {
            let (name, of, left) = (phase_name(phase), self.blocks, short(self.left()));
            self.line(&format!("tare: {name} {} of {of} done, about {left} left", self.done));
            self.said = Some(Instant::now());
        }
    }
}

impl Progress for Bar {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Sized { plan, sizing } => {
                self.expected = sizing.block_time.into();
                self.line(&sized(plan, sizing));
            }
            Event::Phase { from, blocks, trials, .. } => self.phase(from, blocks, trials),
            Event::Trial { entry, workload, block, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!(
                        "block {} of {}, {} {}, about {} left",
                        block + 1,
                        self.blocks,
                        entry.label,
                        workload.name,
                        short(self.left())
                    ));
                }
            }
            Event::Measured(trial) => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                    bar.set_prefix(self.live.line(trial));
                }
            }
            Event::Failed(failure) => self.line(&failed(failure)),
            Event::Block { phase, block } => self.block(phase, block),
        }
    }
}

fn bar() -> ProgressBar {
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

/// What a block takes at least: its trials' durations.
fn block_time(plan: &Plan) -> Duration {
    let turns = (0..plan.networks.len())
        .flat_map(|network| (0..plan.shapes.len()).map(move |shape| (network, shape)));
    let trials = turns.flat_map(|(network, shape)| plan.workloads_of(network, shape));
    Nanos(trials.map(|workload| plan.workloads[workload].duration.0).sum()).into()
}

/// The decision, in words: how many blocks, how long, and what limits them.
fn sized(plan: &Plan, sizing: &Sizing) -> String {
    let each: Duration = sizing.block_time.into();
    let time = short(each * sizing.blocks);
    let goal = match plan.blocks {
        Blocks::Precision { precision: Some(share), .. } => format!("± {} %", share * 100.0),
        _ => "half of each margin".to_owned(),
    };
    let why = match sizing.decided_by {
        StoppedBy::Budget => {
            let budget = plan.budget.map(|budget| short(budget.into())).unwrap_or_default();
            format!(
                "a precision of {goal} needs {}, the budget of {budget} holds {}",
                sizing.needed, sizing.blocks
            )
        }
        StoppedBy::Blocks => {
            format!("a precision of {goal} needs {}, the study allows no more", sizing.needed)
        }
        _ => format!("for a precision of {goal}"),
    };
    format!("tare: {} blocks, about {time}: {why}", sizing.blocks)
}

/// What broke, and so will not be tried again.
fn failed(failure: &Failure) -> String {
    let Failure { network, workload, reason, .. } = failure;
    match workload {
        Some(name) => format!(
            "tare: {network} failed in {name}, and has no more trials of it in this shape: {reason}"
        ),
        None => format!("tare: {network} failed, and has no more turns in this shape: {reason}"),
    }
}

/// A span in minutes and seconds.
fn short(span: Duration) -> String {
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
        assert_eq!(short(Duration::from_millis(7400)), "7s");
        assert_eq!(short(Duration::from_millis(119_600)), "2m00s");
    }
}
