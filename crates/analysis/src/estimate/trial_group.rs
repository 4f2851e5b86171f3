//! Groups of a run's trials by shape, workload and network, each trial with its estimate.

use crate::Error;
use crate::estimate::metric_figure::MetricFigure;
use crate::estimate::{TrialEstimate, estimate};
use std::collections::BTreeMap;
use tare_record::{Metric, Plan, Trial};

/// Trials of one network under one workload in one shape, by block.
pub(crate) struct TrialGroup<'a> {
    /// Index of the shape in the plan.
    pub(crate) shape: usize,
    /// Index of the workload in the plan.
    pub(crate) workload: usize,
    /// Index of the network in the plan.
    pub(crate) network: usize,
    /// Trials with their estimates; never empty.
    pub(crate) trials: Vec<(&'a Trial, TrialEstimate)>,
}

/// Figure of one trial.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockSample {
    /// Block of the trial.
    pub(crate) block: u32,
    /// Figure over the steady part.
    pub(crate) value: f64,
    /// Figure over the whole trial.
    pub(crate) uncut: f64,
    /// Figures of the rounds of a woven trial, or of parts of them. Empty in a trial in one piece, and for figures that a
    /// round is too short for.
    pub(crate) rounds: Vec<f64>,
}

impl BlockSample {
    /// Creates the figure of a trial in one piece, of which nothing was cut.
    pub(crate) fn whole(block: u32, value: f64) -> Self {
        Self { block, value, uncut: value, rounds: Vec::new() }
    }
}

/// Figures of a group's trials for one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupSamples {
    /// Figures of the trials; a trial that recorded nothing is left out.
    Figures(Vec<BlockSample>),
    /// Some trials have too few samples beyond the percentile. All trials are withheld then, not only those: slow
    /// trials have few samples, and leaving them out would flatter the network.
    Withheld {
        /// Fewest samples beyond the percentile in any trial.
        beyond: u64,
        /// Number that each trial needs.
        needed: u64,
    },
    /// No trial has a figure, because no trial has a complete interval of every client.
    NoInterval,
}

impl GroupSamples {
    /// Returns the figures. The list is empty if there are none, or if they are withheld.
    pub(crate) fn samples(&self) -> &[BlockSample] {
        match self {
            Self::Figures(samples) => samples,
            Self::Withheld { .. } | Self::NoInterval => &[],
        }
    }
}

impl TrialGroup<'_> {
    /// Returns the figures of this group's trials for a metric, over all clients.
    pub(crate) fn samples_of_metric(&self, metric: Metric) -> GroupSamples {
        self.collect(|estimate| {
            (estimate.figures.get(&metric).copied(), estimate.rounds_of(metric))
        })
    }

    /// Returns the figures of this group's trials that `read` takes from their estimates.
    pub(crate) fn samples_by(
        &self,
        read: impl Fn(&TrialEstimate) -> Option<MetricFigure>,
    ) -> GroupSamples {
        self.collect(|estimate| (read(estimate), &[]))
    }

    /// Collects the figures that `read` takes from the estimates, each with those of its rounds.
    fn collect(
        &self,
        read: impl Fn(&TrialEstimate) -> (Option<MetricFigure>, &[f64]),
    ) -> GroupSamples {
        let figures = self.trials.iter().map(|(trial, estimate)| {
            let (figure, rounds) = read(estimate);
            (trial.block, figure, rounds)
        });
        match collect_samples(figures) {
            GroupSamples::Figures(samples) if samples.is_empty() && !self.has_interval() => {
                GroupSamples::NoInterval
            }
            sampled => sampled,
        }
    }

    /// Returns true if any trial has a complete interval of every client.
    fn has_interval(&self) -> bool {
        let mut trials = self.trials.iter().map(|(trial, _)| &trial.series);
        trials
            .any(|series| !series.is_empty() && series.iter().all(|one| !one.intervals.is_empty()))
    }
}

/// Collects the figures of trials: the block, the figure, and the figures of the rounds of each.
pub(crate) fn collect_samples<'e>(
    figures: impl Iterator<Item = (u32, Option<MetricFigure>, &'e [f64])>,
) -> GroupSamples {
    let mut samples = Vec::new();
    let mut fewest: Option<(u64, u64)> = None;
    for (block, figure, rounds) in figures {
        match figure {
            Some(MetricFigure::Value { value, uncut }) => {
                samples.push(BlockSample { block, value, uncut, rounds: rounds.to_vec() });
            }
            Some(MetricFigure::Withheld { beyond, needed }) => {
                fewest = Some(fewest.unwrap_or((beyond, needed)).min((beyond, needed)));
            }
            Some(MetricFigure::Absent) | None => {}
        }
    }
    match fewest {
        Some((beyond, needed)) => GroupSamples::Withheld { beyond, needed },
        None => GroupSamples::Figures(samples),
    }
}

/// Returns all groups that have trials, in the order shapes × workloads × networks.
pub(crate) fn group_trials<'a>(
    plan: &Plan,
    trials: &[&'a Trial],
) -> Result<Vec<TrialGroup<'a>>, Error> {
    let mut by_place: BTreeMap<_, Vec<(&'a Trial, TrialEstimate)>> = BTreeMap::new();
    for trial in trials {
        if let Some(place @ (_, workload, _)) = plan.locate_trial(trial) {
            let said = estimate(trial, &plan.workloads[workload])?;
            by_place.entry(place).or_default().push((trial, said));
        }
    }
    let groups = by_place.into_iter().map(|((shape, workload, network), mut trials)| {
        trials.sort_by_key(|(trial, _)| trial.block);
        TrialGroup { shape, workload, network, trials }
    });
    Ok(groups.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, trial, workload};

    #[test]
    fn a_workload_that_stands_twice_is_told_by_its_parameters() {
        let with = |size: u64| {
            let mut workload = workload("tcp-stream", &[Metric::Throughput]);
            workload.parameters.insert("size".to_owned(), size.into());
            workload
        };
        let plan = plan(&["host"], vec![with(64), with(4096)]);
        let mut trial = trial("host", 0, &[1]);
        for (size, expected) in [(64u64, 0), (4096, 1), (9000, 0)] {
            trial.parameters.insert("size".to_owned(), size.into());
            trial.parameters.insert("port".to_owned(), 5201.into());
            assert_eq!(plan.locate_trial(&trial), Some((0, expected, 0)), "{size}");
        }
        trial.workload = "udp-rate".to_owned();
        assert_eq!(plan.locate_trial(&trial), None);
    }

    #[test]
    fn trials_stand_by_block_whatever_the_order_in_which_they_ran() {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = [trial("bridge", 1, &[8]), trial("host", 0, &[8]), trial("bridge", 0, &[])];
        let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(groups.iter().map(|group| group.network).collect::<Vec<_>>(), [0, 1]);
        let blocks: Vec<u32> = groups[1].trials.iter().map(|(trial, _)| trial.block).collect();
        assert_eq!(blocks, [0, 1]);
        // The trial without any interval is left out, and the figure of the other keeps its block.
        let samples = groups[1].samples_of_metric(Metric::Throughput);
        assert_eq!(samples.samples().iter().map(|sample| sample.block).collect::<Vec<_>>(), [1]);
    }
}
