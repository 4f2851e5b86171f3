//! Relevant lower and upper bounds of a search goal.

use super::classify::{LoadClass, classify};
use super::goal::SearchGoal;
use super::trial_history::TrialHistory;

/// Relevant bounds of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RelevantBounds {
    /// Largest lower bound below the relevant upper bound (RFC 9971, section 4.8.2), datagrams per second. Without an
    /// upper bound, the largest lower bound, which the RFC calls effective (4.8.4).
    pub lower: Option<f64>,
    /// Smallest upper bound (4.8.1), datagrams per second.
    pub upper: Option<f64>,
}

impl RelevantBounds {
    /// Computes the bounds from all trials so far. If a larger load kept the goal than one that failed it, the failure
    /// counts (section 5.3.3).
    pub(super) fn from_trials(goal: &SearchGoal, measured: &TrialHistory) -> Self {
        let mut bounds = Self::default();
        for load in measured.loads() {
            match classify(goal, &load.trials) {
                LoadClass::Upper => return Self { upper: Some(load.rate), ..bounds },
                LoadClass::Lower => bounds.lower = Some(load.rate),
                LoadClass::Undecided => {}
            }
        }
        bounds
    }

    /// Returns `true` if the load lies strictly between the known bounds.
    pub(super) fn encloses(&self, load: f64) -> bool {
        self.lower.is_none_or(|lower| lower < load) && self.upper.is_none_or(|upper| load < upper)
    }
}

#[cfg(test)]
mod tests {
    use super::super::goal::goal;
    use super::super::trial_result::TrialResult;
    use super::*;
    use std::time::Duration;

    fn measured(trials: &[(f64, u64)]) -> TrialHistory {
        let mut measured = TrialHistory::default();
        for &(load, lost) in trials {
            measured.add(TrialResult { load, duration: Duration::from_secs(1), sent: 1_000, lost });
        }
        measured
    }

    #[test]
    fn a_failure_below_is_believed() {
        let goal = goal(0.0, 0.0, 1, 1);
        let all = measured(&[(10.0, 0), (40.0, 0), (20.0, 0), (30.0, 5), (50.0, 9)]);
        assert_eq!(
            RelevantBounds::from_trials(&goal, &all),
            RelevantBounds { lower: Some(20.0), upper: Some(30.0) }
        );
        assert_eq!(
            RelevantBounds::from_trials(&goal, &TrialHistory::default()),
            RelevantBounds::default()
        );
        let passed = measured(&[(10.0, 0), (40.0, 0)]);
        assert_eq!(
            RelevantBounds::from_trials(&goal, &passed),
            RelevantBounds { lower: Some(40.0), upper: None }
        );
        let failed = measured(&[(10.0, 1), (40.0, 0)]);
        assert_eq!(
            RelevantBounds::from_trials(&goal, &failed),
            RelevantBounds { lower: None, upper: Some(10.0) }
        );
    }
}
