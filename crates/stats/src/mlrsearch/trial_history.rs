//! All trials of a search so far, grouped by load.

use super::trial_result::TrialResult;

/// All trials at one load.
#[derive(Clone, Debug)]
pub(super) struct LoadTrials {
    /// Datagrams per second.
    pub(super) rate: f64,
    /// Trials in the order in which they were run; at least one.
    pub(super) trials: Vec<TrialResult>,
}

/// All trials of a search so far, sorted by load.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialHistory {
    loads: Vec<LoadTrials>,
}

impl TrialHistory {
    /// Adds a trial.
    pub(super) fn add(&mut self, trial: TrialResult) {
        match self.position(trial.load) {
            Ok(at) => self.loads[at].trials.push(trial),
            Err(at) => self.loads.insert(at, LoadTrials { rate: trial.load, trials: vec![trial] }),
        }
    }

    /// Returns every load that was tried, the smallest first.
    pub(super) fn loads(&self) -> &[LoadTrials] {
        &self.loads
    }

    /// Returns the trials at exactly this load.
    pub(super) fn trials_at(&self, rate: f64) -> &[TrialResult] {
        self.position(rate).map_or(&[], |at| &self.loads[at].trials)
    }

    fn position(&self, rate: f64) -> Result<usize, usize> {
        self.loads.binary_search_by(|load| load.rate.total_cmp(&rate))
    }
}
