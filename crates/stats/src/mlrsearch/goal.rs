//! Search goals: loss ratio, trial durations and width of a search.

use std::fmt;
use std::time::Duration;

/// Ratio of the trial durations of neighbouring coarse goals.
const DURATION_FACTOR: f64 = 4.0;

/// Ratio of the widths of neighbouring coarse goals: one halving leads from one goal to the next.
const WIDTH_FACTOR: f64 = 2.0;

/// Largest width of a coarse goal.
const MAX_WIDTH: f64 = 0.5;

/// Search goal (RFC 9971, section 4.6.7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchGoal {
    /// Largest loss ratio of a low-loss trial (4.6.3); 0 ≤ ratio < 1.
    pub loss_ratio: f64,
    /// Share of the trials, by duration, that may be high-loss at a lower bound (4.6.4); 0 ≤ ratio < 1. The RFC
    /// recommends one half; with 0 a single high-loss trial of any length rules a load out for good.
    pub exceed_ratio: f64,
    /// Duration of the shortest trial for this goal (4.6.6).
    pub initial_trial_duration: Duration,
    /// Duration of a full-length trial: a lower bound takes at least one of them (4.6.1).
    pub final_trial_duration: Duration,
    /// Total duration of full-length trials that decides about a load in any case (4.6.2).
    pub duration_sum: Duration,
    /// Largest distance between the bounds of a regular result: (upper − lower) / upper (4.6.5); 0 < width < 1. The RFC
    /// recommends not less than the loss ratio.
    pub width: f64,
}

/// Error for an invalid goal or invalid limits of a search, in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchError(pub(super) &'static str);

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for SearchError {}

impl SearchGoal {
    /// Returns the goal itself, if its attributes are within the RFC's ranges.
    ///
    /// # Errors
    ///
    /// Returns an error if an attribute is out of its range.
    pub fn validate(self) -> Result<Self, SearchError> {
        let share = |ratio: f64| (0.0..1.0).contains(&ratio);
        if !share(self.loss_ratio) {
            Err(SearchError("a goal's loss ratio must be at least 0 and less than 1"))
        } else if !share(self.exceed_ratio) {
            Err(SearchError("a goal's exceed ratio must be at least 0 and less than 1"))
        } else if self.initial_trial_duration.is_zero() {
            Err(SearchError("a goal's initial trial duration must be more than 0"))
        } else if self.final_trial_duration < self.initial_trial_duration {
            Err(SearchError("a goal's final trial must be at least as long as its initial one"))
        } else if self.duration_sum < self.final_trial_duration {
            Err(SearchError("a goal's duration sum must hold at least one final trial"))
        } else if !(1e-6..1.0).contains(&self.width) {
            Err(SearchError("a goal's width must be at least 0.000001 and less than 1"))
        } else {
            Ok(self)
        }
    }

    /// Returns the number of coarser goals with shorter trials that lead up to this goal.
    pub(super) fn level_count(&self) -> u32 {
        let mut levels = 0;
        while self.level_duration(levels) > self.initial_trial_duration {
            levels += 1;
        }
        levels
    }

    /// Returns the goal so many levels before this one, with shorter trials, one for each load, and wider bounds. Level
    /// 0 is the goal itself.
    pub(super) fn coarser(&self, level: u32) -> Self {
        if level == 0 {
            return *self;
        }
        let duration = self.level_duration(level).max(self.initial_trial_duration);
        let width = self.width * WIDTH_FACTOR.powf(f64::from(level));
        Self {
            final_trial_duration: duration,
            duration_sum: duration,
            width: width.min(MAX_WIDTH).max(self.width),
            ..*self
        }
    }

    /// Returns `true` if these bounds are close enough for the goal.
    pub(super) fn accepts_width(&self, lower: f64, upper: f64) -> bool {
        upper - lower <= self.width * upper
    }

    fn level_duration(&self, level: u32) -> Duration {
        self.final_trial_duration.div_f64(DURATION_FACTOR.powf(f64::from(level)))
    }
}

#[cfg(test)]
pub(super) fn goal(loss_ratio: f64, exceed_ratio: f64, full: u64, sum: u64) -> SearchGoal {
    SearchGoal {
        loss_ratio,
        exceed_ratio,
        initial_trial_duration: Duration::from_secs(1),
        final_trial_duration: Duration::from_secs(full),
        duration_sum: Duration::from_secs(sum),
        width: 0.005,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarser_goals_have_shorter_trials_and_wider_bounds() {
        let fine = goal(0.0, 0.5, 60, 120);
        assert_eq!(fine.level_count(), 3);
        let durations: Vec<_> =
            (0..=3).map(|level| fine.coarser(level).final_trial_duration.as_secs_f64()).collect();
        assert_eq!(durations, [60.0, 15.0, 3.75, 1.0]);
        let widths: Vec<_> = (0..=3).map(|level| fine.coarser(level).width).collect();
        assert_eq!(widths, [0.005, 0.01, 0.02, 0.04]);
        assert_eq!(fine.coarser(0).duration_sum, Duration::from_secs(120));
        assert_eq!(fine.coarser(1).duration_sum, Duration::from_secs(15));
        assert_eq!(goal(0.0, 0.5, 1, 1).level_count(), 0);
        assert!(fine.coarser(20).width <= MAX_WIDTH);
    }

    #[test]
    fn a_goal_out_of_range_is_refused() {
        let fine = goal(0.005, 0.5, 4, 8);
        assert_eq!(fine.validate(), Ok(fine));
        let zero = Duration::ZERO;
        for wrong in [
            SearchGoal { loss_ratio: 1.0, ..fine },
            SearchGoal { loss_ratio: f64::NAN, ..fine },
            SearchGoal { exceed_ratio: -0.1, ..fine },
            SearchGoal { exceed_ratio: 1.0, ..fine },
            SearchGoal { initial_trial_duration: zero, ..fine },
            SearchGoal { final_trial_duration: zero, ..fine },
            SearchGoal { duration_sum: Duration::from_secs(3), ..fine },
            SearchGoal { width: 0.0, ..fine },
            SearchGoal { width: 1.0, ..fine },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }
}
