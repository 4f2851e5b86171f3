//! All trials so far, by their load.

use super::trial::Trial;

/// The trials at one load.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Datagrams per second.
    pub(super) rate: f64,
    /// In the order in which they were run; at least one.
    pub(super) trials: Vec<Trial>,
}

/// All trials so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    loads: Vec<Load>,
}

impl Measured {
    /// Keeps one trial more.
    pub(super) fn add(&mut self, trial: Trial) {
        match self.place(trial.load) {
            Ok(at) => self.loads[at].trials.push(trial),
            Err(at) => self.loads.insert(at, Load { rate: trial.load, trials: vec![trial] }),
        }
    }

    /// Every load that was tried, the smallest first.
    pub(super) fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// The trials at exactly this load.
    pub(super) fn at(&self, rate: f64) -> &[Trial] {
        self.place(rate).map_or(&[], |at| &self.loads[at].trials)
    }

    fn place(&self, rate: f64) -> Result<usize, usize> {
        self.loads.binary_search_by(|load| load.rate.total_cmp(&rate))
    }
}
