//! One goal, or a coarser one on the way to it: which load to try next.

use super::bounds::Bounds;
use super::classify::{Class, classify};
use super::goal::Goal;
use super::measured::Measured;
use super::search::Room;
use super::trial::Trial;

/// Steps are this much of the goal's width, so that rounding does not leave bounds a hair too far apart.
const STEP: f64 = 0.99;

/// Bounds further apart than this many steps are closed in on from below, nearer ones are halved.
const FAR: f64 = 4.0;

/// A goal on the way.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Which of the search's goals it leads to.
    pub(super) index: usize,
    /// How many levels before that goal; 0 is the goal itself.
    pub(super) level: u32,
    /// The goal at that level.
    pub(super) goal: Goal,
    /// The load that is being tried.
    trying: Option<f64>,
    /// Each step up, and each step down, is twice as wide as the one before.
    steps_up: i32,
    steps_down: i32,
}

impl Target {
    pub(super) fn new(index: usize, level: u32, goal: &Goal) -> Self {
        let goal = goal.coarser(level);
        Self { index, level, goal, trying: None, steps_up: 0, steps_down: 0 }
    }

    /// The load to try next; nothing where the bounds are close enough, or nothing closer can be had within `room`.
    /// `before` are the bounds of the level before this one.
    pub(super) fn choose(
        &mut self,
        measured: &Measured,
        room: Room,
        before: Bounds,
    ) -> Option<f64> {
        let bounds = Bounds::of(&self.goal, measured);
        if let Some(load) = self.undecided(measured, bounds) {
            return Some(load);
        }
        self.trying = self.next_load(measured, room, before, bounds);
        self.trying
    }

    /// The load that was tried last, if it still matters and more trials are needed to say what it is.
    fn undecided(&self, measured: &Measured, bounds: Bounds) -> Option<f64> {
        let undecided = |load: f64| classify(&self.goal, measured.at(load)) == Class::Undecided;
        self.trying.filter(|&load| bounds.enclose(load) && undecided(load))
    }

    fn next_load(
        &mut self,
        measured: &Measured,
        room: Room,
        before: Bounds,
        bounds: Bounds,
    ) -> Option<f64> {
        match (bounds.lower, bounds.upper) {
            (_, Some(upper)) if upper <= room.min => None,
            (Some(lower), None) if lower >= room.max => None,
            (Some(lower), Some(upper)) if self.goal.fits(lower, upper) => None,
            // Smaller loads first: what is found there no later trial at a larger one overthrows (section 5.3.4).
            (None, None) => Some(before.lower.or(before.upper).unwrap_or(room.max)),
            (None, Some(upper)) => {
                let known = before.lower.filter(|&lower| lower < upper);
                Some(known.unwrap_or_else(|| self.below(upper, measured.at(upper)).max(room.min)))
            }
            (Some(lower), None) => {
                let known = before.upper.filter(|&upper| upper > lower);
                Some(known.unwrap_or_else(|| self.above(lower).min(room.max)))
            }
            (Some(lower), Some(upper)) => Some(self.between(lower, upper)),
        }
    }

    /// A step down from an upper bound, at least to what passed there (enhancement 3 of section 1.1).
    fn below(&mut self, upper: f64, trials: &[Trial]) -> f64 {
        let passed = trials.iter().map(Trial::forwarding_rate).fold(upper, f64::min);
        let edge = passed / (1.0 - self.goal.loss_ratio) * (1.0 - self.goal.width / 2.0);
        let step = upper * (-self.step() * 2f64.powi(self.steps_down)).exp();
        self.steps_down += 1;
        edge.min(step)
    }

    /// A step up from a lower bound.
    fn above(&mut self, lower: f64) -> f64 {
        let step = lower * (self.step() * 2f64.powi(self.steps_up)).exp();
        self.steps_up += 1;
        step
    }

    /// Halfway, on the log scale; where the upper bound is far away, as the maximum is at first, a step up from the
    /// lower one, which is likely to be the nearer.
    fn between(&mut self, lower: f64, upper: f64) -> f64 {
        let gap = (upper / lower).ln();
        if gap > FAR * self.step() * 2f64.powi(self.steps_up) {
            self.above(lower)
        } else {
            (lower * upper).sqrt()
        }
    }

    /// The logarithm of two loads' ratio that are a width apart.
    fn step(&self) -> f64 {
        -(-self.goal.width * STEP).ln_1p()
    }
}
