//! Which of the loads that were tried bound what is searched for.

use super::classify::{Class, classify};
use super::goal::Goal;
use super::measured::Measured;

/// The relevant bounds of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The largest lower bound below the relevant upper bound (RFC 9971, section 4.8.2), datagrams per second. Where
    /// there is no upper bound, the largest lower bound, which the RFC calls effective (4.8.4).
    pub lower: Option<f64>,
    /// The smallest upper bound (4.8.1), datagrams per second.
    pub upper: Option<f64>,
}

impl Bounds {
    /// The bounds by all trials so far. Where a larger load kept the goal than one that failed it, the failure is
    /// believed (section 5.3.3).
    pub(super) fn of(goal: &Goal, measured: &Measured) -> Self {
        let mut bounds = Self::default();
        for load in measured.loads() {
            match classify(goal, &load.trials) {
                Class::Upper => return Self { upper: Some(load.rate), ..bounds },
                Class::Lower => bounds.lower = Some(load.rate),
                Class::Undecided => {}
            }
        }
        bounds
    }

    /// Whether a load lies strictly between the bounds that there are.
    pub(super) fn enclose(&self, load: f64) -> bool {
        self.lower.is_none_or(|lower| lower < load) && self.upper.is_none_or(|upper| load < upper)
    }
}

#[cfg(test)]
mod tests {
    use super::super::goal::goal;
    use super::super::trial::Trial;
    use super::*;
    use std::time::Duration;

    fn measured(trials: &[(f64, u64)]) -> Measured {
        let mut measured = Measured::default();
        for &(load, lost) in trials {
            measured.add(Trial { load, duration: Duration::from_secs(1), sent: 1_000, lost });
        }
        measured
    }

    #[test]
    fn a_failure_below_is_believed() {
        let goal = goal(0.0, 0.0, 1, 1);
        let all = measured(&[(10.0, 0), (40.0, 0), (20.0, 0), (30.0, 5), (50.0, 9)]);
        assert_eq!(Bounds::of(&goal, &all), Bounds { lower: Some(20.0), upper: Some(30.0) });
        assert_eq!(Bounds::of(&goal, &Measured::default()), Bounds::default());
        let passed = measured(&[(10.0, 0), (40.0, 0)]);
        assert_eq!(Bounds::of(&goal, &passed), Bounds { lower: Some(40.0), upper: None });
        let failed = measured(&[(10.0, 1), (40.0, 0)]);
        assert_eq!(Bounds::of(&goal, &failed), Bounds { lower: None, upper: Some(10.0) });
    }
}
