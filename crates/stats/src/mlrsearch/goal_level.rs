//! One level of a goal, and the choice of the next load for it.

use super::bounds::RelevantBounds;
use super::classify::{LoadClass, classify};
use super::goal::SearchGoal;
use super::limits::SearchLimits;
use super::trial_history::TrialHistory;
use super::trial_result::TrialResult;

/// Step size as a share of the goal's width, so that rounding does not leave bounds slightly too far apart.
const STEP_SHARE: f64 = 0.99;

/// Distance of the bounds in steps. Bounds further apart are approached from below, nearer bounds are halved.
const MAX_STEPS_TO_HALVE: f64 = 4.0;

/// A goal, or a coarser goal on the way to it.
#[derive(Clone, Debug)]
pub(super) struct GoalLevel {
    /// Index of the search's goal that this level leads to.
    pub(super) index: usize,
    /// Number of levels before that goal; 0 is the goal itself.
    pub(super) level: u32,
    /// Goal of this level.
    pub(super) goal: SearchGoal,
    /// Load that is being tried.
    trying: Option<f64>,
    /// Numbers of steps up and down so far: each step is twice as wide as the one before in the same direction.
    steps_up: i32,
    steps_down: i32,
}

impl GoalLevel {
    pub(super) fn new(index: usize, level: u32, goal: &SearchGoal) -> Self {
        let goal = goal.coarser(level);
        Self { index, level, goal, trying: None, steps_up: 0, steps_down: 0 }
    }

    /// Chooses the load to try next. Returns `None` if the bounds are close enough, or cannot be closer within `room`.
    /// `before` holds the bounds of the level before this one.
    pub(super) fn choose_load(
        &mut self,
        measured: &TrialHistory,
        room: SearchLimits,
        before: RelevantBounds,
    ) -> Option<f64> {
        let bounds = RelevantBounds::from_trials(&self.goal, measured);
        if let Some(load) = self.undecided_load(measured, bounds) {
            return Some(load);
        }
        self.trying = self.next_load(measured, room, before, bounds);
        self.trying
    }

    /// Returns the load that was tried last, if it still matters and needs more trials to be decided.
    fn undecided_load(&self, measured: &TrialHistory, bounds: RelevantBounds) -> Option<f64> {
        let undecided =
            |load: f64| classify(&self.goal, measured.trials_at(load)) == LoadClass::Undecided;
        self.trying.filter(|&load| bounds.encloses(load) && undecided(load))
    }

    fn next_load(
        &mut self,
        measured: &TrialHistory,
        room: SearchLimits,
        before: RelevantBounds,
        bounds: RelevantBounds,
    ) -> Option<f64> {
        match (bounds.lower, bounds.upper) {
            (_, Some(upper)) if upper <= room.min => None,
            (Some(lower), None) if lower >= room.max => None,
            (Some(lower), Some(upper)) if self.goal.accepts_width(lower, upper) => None,
            // Smaller loads first: no later trial at a larger load overthrows a result at a smaller one (section
            // 5.3.4).
            (None, None) => Some(before.lower.or(before.upper).unwrap_or(room.max)),
            (None, Some(upper)) => {
                let known = before.lower.filter(|&lower| lower < upper);
                Some(known.unwrap_or_else(|| {
                    self.step_down(upper, measured.trials_at(upper)).max(room.min)
                }))
            }
            (Some(lower), None) => {
                let known = before.upper.filter(|&upper| upper > lower);
                Some(known.unwrap_or_else(|| self.step_up(lower).min(room.max)))
            }
            (Some(lower), Some(upper)) => Some(self.step_between(lower, upper)),
        }
    }

    /// Steps down from an upper bound, at least to the rate that passed there (enhancement 3 of section 1.1).
    fn step_down(&mut self, upper: f64, trials: &[TrialResult]) -> f64 {
        let passed = trials.iter().map(TrialResult::forwarding_rate).fold(upper, f64::min);
        let edge = passed / (1.0 - self.goal.loss_ratio) * (1.0 - self.goal.width / 2.0);
        let step = upper * (-self.step_size() * 2f64.powi(self.steps_down)).exp();
        self.steps_down += 1;
        edge.min(step)
    }

    /// Steps up from a lower bound.
    fn step_up(&mut self, lower: f64) -> f64 {
        let step = lower * (self.step_size() * 2f64.powi(self.steps_up)).exp();
        self.steps_up += 1;
        step
    }

    /// Returns the middle on the log scale. If the upper bound is far away, as the maximum is at first, steps up from
    /// the lower bound, which is likely to be nearer to the result.
    fn step_between(&mut self, lower: f64, upper: f64) -> f64 {
        let gap = (upper / lower).ln();
        if gap > MAX_STEPS_TO_HALVE * self.step_size() * 2f64.powi(self.steps_up) {
            self.step_up(lower)
        } else {
            (lower * upper).sqrt()
        }
    }

    /// Returns the logarithm of the ratio of two loads that are a width apart.
    fn step_size(&self) -> f64 {
        -(-self.goal.width * STEP_SHARE).ln_1p()
    }
}
