//! Position of a run in its plan, and its expected time.

use std::time::{Duration, Instant};
use tare_record::{BlockPolicy, Nanos, Phase, Plan, Sizing};

/// Completed blocks of the current phase, and the time that the run has taken and will take. Pauses are left out.
#[derive(Clone, Debug)]
pub(super) struct RunClock {
    /// Expected time of a block: from the plan at first, from measured blocks as soon as there are some.
    expected: Duration,
    budget: Option<Duration>,
    /// True if the run may end before its last block, at its precision or when all is decided.
    may_end_early: bool,
    began: Instant,
    phase: Phase,
    phase_began: Instant,
    /// First block of the phase in this process; above 0 in a resumed run.
    from: u32,
    blocks: u32,
    done: u32,
}

impl RunClock {
    /// Starts the clock of a plan.
    pub(super) fn start(plan: &Plan, now: Instant) -> Self {
        Self {
            expected: block_time(plan),
            budget: plan.budget.map(Duration::from),
            may_end_early: matches!(
                plan.blocks,
                BlockPolicy::Sequence { .. } | BlockPolicy::GroupSequential { .. }
            ),
            began: now,
            phase: Phase::Main,
            phase_began: now,
            from: 0,
            blocks: 0,
            done: 0,
        }
    }

    /// Starts a phase of this many blocks.
    pub(super) fn start_phase(&mut self, phase: Phase, from: u32, blocks: u32, now: Instant) {
        self.phase = phase;
        (self.from, self.done, self.blocks, self.phase_began) = (from, from, blocks, now);
    }

    /// Applies the decision on the number of blocks, with the measured time of a block.
    pub(super) fn apply_sizing(&mut self, plan: &Plan, sizing: &Sizing) {
        self.expected = sizing.block_time.into();
        self.blocks = plan.blocks.most_blocks(Some(sizing));
    }

    /// Counts a block as done.
    pub(super) fn finish_block(&mut self, block: u32) {
        self.done = block + 1;
    }

    /// Leaves out a pause that has ended.
    pub(super) fn exclude(&mut self, pause: Duration) {
        self.began += pause;
        self.phase_began += pause;
    }

    /// Returns the number of completed blocks of the phase, and the number of all.
    pub(super) fn blocks(&self) -> (u32, u32) {
        (self.done, self.blocks)
    }

    /// Returns the number of blocks of the phase that this process has completed.
    pub(super) fn blocks_here(&self) -> u32 {
        self.done.saturating_sub(self.from)
    }

    /// Returns the expected time until the end of the phase, or of the budget if that comes first.
    pub(super) fn time_left(&self, now: Instant) -> Duration {
        self.budget_left(now).unwrap_or_else(|| self.time_of_rest(now))
    }

    /// Formats the number of blocks of the phase: ` of 10`, or nothing if the budget decides how many there are.
    pub(super) fn of_blocks(&self, now: Instant) -> String {
        match self.budget_left(now) {
            Some(_) => String::new(),
            None if self.may_end_early => format!(" of at most {}", self.blocks),
            None => format!(" of {}", self.blocks),
        }
    }

    /// Formats the position in the run: `block 3 of 10 · 24s of about 1m20s`. `until` is the beginning of a pause that
    /// has not ended, or the present.
    pub(super) fn position(&self, until: Instant) -> String {
        let spent = until.duration_since(self.began);
        if self.blocks == 0 {
            return format!("setting up · {}", format_duration(spent));
        }
        let noun = phase_name(self.phase);
        let number = (self.done + 1).min(self.blocks);
        // The time of the main phase is known when the pilot has decided the number of its blocks.
        let total = match self.phase {
            Phase::Pilot => String::new(),
            Phase::Main => format!(" of {}", self.expected_total(until)),
        };
        let (of, spent) = (self.of_blocks(until), format_duration(spent));
        format!("{noun} {number}{of} · {spent}{total}")
    }

    fn expected_total(&self, now: Instant) -> String {
        let total = now.duration_since(self.began) + self.time_of_rest(now);
        match self.budget.filter(|_| self.budget_left(now).is_some()) {
            Some(budget) => format!("at most {}", format_duration(budget)),
            None if self.may_end_early => format!("at most {}", format_duration(total)),
            None => format!("about {}", format_duration(total)),
        }
    }

    /// Returns the time left of the budget, if that ends the run before all blocks are done.
    fn budget_left(&self, now: Instant) -> Option<Duration> {
        let left = self.budget?.saturating_sub(now.duration_since(self.began));
        (left < self.time_of_rest(now)).then_some(left)
    }

    /// Returns the expected time of all blocks of the phase that are left.
    fn time_of_rest(&self, now: Instant) -> Duration {
        let here = self.blocks_here();
        let each =
            if here > 0 { now.duration_since(self.phase_began) / here } else { self.expected };
        each.saturating_mul(self.blocks.saturating_sub(self.done))
    }
}

/// Returns the word for a block of a phase.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Pilot => "pilot block",
        Phase::Main => "block",
    }
}

/// Returns the minimal time of a block: the sum of its trials' durations.
pub(super) fn block_time(plan: &Plan) -> Duration {
    let turns = (0..plan.networks.len())
        .flat_map(|network| (0..plan.shapes.len()).map(move |shape| (network, shape)));
    let trials = turns.flat_map(|(network, shape)| plan.workloads_of(network, shape));
    Nanos(trials.map(|workload| plan.workloads[workload].duration.0).sum()).into()
}

/// Formats a time span in minutes and seconds.
pub(super) fn format_duration(span: Duration) -> String {
    let seconds = (span.as_secs_f64() + 0.5) as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_plan::plan;
    use super::*;

    #[test]
    fn spans_are_short() {
        assert_eq!(format_duration(Duration::from_millis(7400)), "7s");
        assert_eq!(format_duration(Duration::from_millis(119_600)), "2m00s");
    }

    #[test]
    fn the_position_is_of_the_phase_and_the_time_of_measured_blocks() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let mut clock = RunClock::start(&plan(&["host", "bridge"]), began);
        assert_eq!(clock.position(after(2)), "setting up · 2s");
        clock.start_phase(Phase::Pilot, 0, 3, after(2));
        assert_eq!(clock.position(after(5)), "pilot block 1 of 3 · 5s");
        clock.start_phase(Phase::Main, 0, 10, after(5));
        // Two networks, two workloads of a second each.
        assert_eq!(clock.position(after(5)), "block 1 of 10 · 5s of about 45s");
        clock.finish_block(0);
        assert_eq!(clock.position(after(11)), "block 2 of 10 · 11s of about 1m05s");
        clock.exclude(Duration::from_secs(100));
        assert_eq!(clock.position(after(111)), "block 2 of 10 · 11s of about 1m05s");
    }

    #[test]
    fn a_budget_and_a_precision_limit_the_time() {
        let began = Instant::now();
        let mut plan = plan(&["host", "bridge"]);
        plan.budget = Some(Nanos(20_000_000_000));
        let mut clock = RunClock::start(&plan, began);
        clock.start_phase(Phase::Main, 0, 10, began);
        assert_eq!(clock.position(began), "block 1 · 0s of at most 20s");
        plan.budget = None;
        plan.blocks = BlockPolicy::Sequence { precision: None, at_least: 3, at_most: 10 };
        let mut clock = RunClock::start(&plan, began);
        clock.start_phase(Phase::Main, 0, 10, began);
        assert_eq!(clock.position(began), "block 1 of at most 10 · 0s of at most 40s");
    }
}
