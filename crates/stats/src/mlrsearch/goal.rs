//! What is searched for.

use std::fmt;
use std::time::Duration;

/// Trials of neighbouring coarse goals differ in length by this factor.
const LENGTHENING: f64 = 4.0;

/// Widths of neighbouring coarse goals differ by this factor: one halving leads from one to the next.
const NARROWING: f64 = 2.0;

/// No coarse goal is wider than this.
const WIDEST: f64 = 0.5;

/// A search goal (RFC 9971, section 4.6.7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// A trial that loses a larger share than this is a high-loss trial (4.6.3); 0 ≤ ratio < 1.
    pub loss_ratio: f64,
    /// The share of trials, by their time, that may be high-loss at a lower bound (4.6.4); 0 ≤ ratio < 1. The RFC
    /// recommends one half; with 0 a single high-loss trial of any length rules a load out for good.
    pub exceed_ratio: f64,
    /// The shortest trial for this goal (4.6.6).
    pub initial_trial_duration: Duration,
    /// A load is a lower bound only by trials at least so long (4.6.1).
    pub final_trial_duration: Duration,
    /// Full-length trials of so much time together decide about a load in any case (4.6.2).
    pub duration_sum: Duration,
    /// How close the bounds have to be: (upper − lower) / upper (4.6.5); 0 < width < 1. The RFC recommends not less
    /// than the loss ratio.
    pub width: f64,
}

/// Why something cannot be searched for, or not with these limits: one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub(super) &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

impl Goal {
    /// The goal itself, if its attributes are what the RFC allows.
    ///
    /// # Errors
    ///
    /// An attribute is out of its range.
    pub fn checked(self) -> Result<Self, Refused> {
        let share = |ratio: f64| (0.0..1.0).contains(&ratio);
        if !share(self.loss_ratio) {
            Err(Refused("a goal's loss ratio must be at least 0 and less than 1"))
        } else if !share(self.exceed_ratio) {
            Err(Refused("a goal's exceed ratio must be at least 0 and less than 1"))
        } else if self.initial_trial_duration.is_zero() {
            Err(Refused("a goal's initial trial duration must be more than 0"))
        } else if self.final_trial_duration < self.initial_trial_duration {
            Err(Refused("a goal's final trial must be at least as long as its initial one"))
        } else if self.duration_sum < self.final_trial_duration {
            Err(Refused("a goal's duration sum must hold at least one final trial"))
        } else if !(1e-6..1.0).contains(&self.width) {
            Err(Refused("a goal's width must be at least 0.000001 and less than 1"))
        } else {
            Ok(self)
        }
    }

    /// How many coarser goals with shorter trials lead up to this one.
    pub(super) fn levels(&self) -> u32 {
        let mut levels = 0;
        while self.shorter(levels) > self.initial_trial_duration {
            levels += 1;
        }
        levels
    }

    /// The goal that stands so many levels before this one: shorter trials, one for each load, and wider bounds.
    /// Level 0 is the goal itself.
    pub(super) fn coarser(&self, level: u32) -> Self {
        if level == 0 {
            return *self;
        }
        let duration = self.shorter(level).max(self.initial_trial_duration);
        let width = self.width * NARROWING.powf(f64::from(level));
        Self {
            final_trial_duration: duration,
            duration_sum: duration,
            width: width.min(WIDEST).max(self.width),
            ..*self
        }
    }

    /// Whether bounds as far apart as these are close enough.
    pub(super) fn fits(&self, lower: f64, upper: f64) -> bool {
        upper - lower <= self.width * upper
    }

    fn shorter(&self, level: u32) -> Duration {
        self.final_trial_duration.div_f64(LENGTHENING.powf(f64::from(level)))
    }
}

#[cfg(test)]
pub(super) fn goal(loss_ratio: f64, exceed_ratio: f64, full: u64, sum: u64) -> Goal {
    Goal {
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
        assert_eq!(fine.levels(), 3);
        let durations: Vec<_> =
            (0..=3).map(|level| fine.coarser(level).final_trial_duration.as_secs_f64()).collect();
        assert_eq!(durations, [60.0, 15.0, 3.75, 1.0]);
        let widths: Vec<_> = (0..=3).map(|level| fine.coarser(level).width).collect();
        assert_eq!(widths, [0.005, 0.01, 0.02, 0.04]);
        assert_eq!(fine.coarser(0).duration_sum, Duration::from_secs(120));
        assert_eq!(fine.coarser(1).duration_sum, Duration::from_secs(15));
        assert_eq!(goal(0.0, 0.5, 1, 1).levels(), 0);
        assert!(fine.coarser(20).width <= WIDEST);
    }

    #[test]
    fn a_goal_out_of_range_is_refused() {
        let fine = goal(0.005, 0.5, 4, 8);
        assert_eq!(fine.checked(), Ok(fine));
        let zero = Duration::ZERO;
        for wrong in [
            Goal { loss_ratio: 1.0, ..fine },
            Goal { loss_ratio: f64::NAN, ..fine },
            Goal { exceed_ratio: -0.1, ..fine },
            Goal { exceed_ratio: 1.0, ..fine },
            Goal { initial_trial_duration: zero, ..fine },
            Goal { final_trial_duration: zero, ..fine },
            Goal { duration_sum: Duration::from_secs(3), ..fine },
            Goal { width: 0.0, ..fine },
            Goal { width: 1.0, ..fine },
        ] {
            assert!(wrong.checked().is_err(), "{wrong:?}");
        }
    }
}
