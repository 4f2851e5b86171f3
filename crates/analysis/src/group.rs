//! A run's trials put in order: by shape, workload and network, each with its estimate.

use crate::Error;
use crate::estimate::{Estimate, Figure, estimate};
use std::collections::BTreeMap;
use tare_record::{Metric, Plan, Trial};

/// The trials of one network under one workload in one shape, by block.
pub(crate) struct Group<'a> {
    /// Which of the plan's shapes.
    pub(crate) shape: usize,
    /// Which of the plan's workloads.
    pub(crate) workload: usize,
    /// Which of the plan's networks.
    pub(crate) network: usize,
    /// The trials with what they say; never empty.
    pub(crate) trials: Vec<(&'a Trial, Estimate)>,
}

/// One trial's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The trial's block.
    pub(crate) block: u32,
    /// The figure over its steady part.
    pub(crate) value: f64,
    /// The figure over the whole of it.
    pub(crate) uncut: f64,
}

/// What a group's trials say of one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sampled {
    /// Their figures; a trial that recorded nothing is left out.
    Figures(Vec<Sample>),
    /// Some have too few samples beyond the percentile. All are withheld then, not only those: what is slow has few
    /// samples, and leaving out the slow ones would flatter the network.
    Withheld {
        /// The fewest samples beyond it in any trial.
        beyond: u64,
    },
}

impl Sampled {
    /// The figures; none where they are withheld.
    pub(crate) fn samples(&self) -> &[Sample] {
        match self {
            Self::Figures(samples) => samples,
            Self::Withheld { .. } => &[],
        }
    }
}

impl Group<'_> {
    /// What this group's trials say of a metric, over all clients.
    pub(crate) fn sampled(&self, metric: Metric) -> Sampled {
        self.sampled_by(|estimate| estimate.figures.get(&metric).copied())
    }

    /// What this group's trials say of whatever is read off their estimates.
    pub(crate) fn sampled_by(&self, read: impl Fn(&Estimate) -> Option<Figure>) -> Sampled {
        let mut samples = Vec::new();
        let mut fewest = None;
        for (trial, estimate) in &self.trials {
            match read(estimate) {
                Some(Figure::Value { value, uncut }) => {
                    samples.push(Sample { block: trial.block, value, uncut });
                }
                Some(Figure::Withheld { beyond }) => {
                    fewest = Some(fewest.unwrap_or(beyond).min(beyond));
                }
                Some(Figure::Absent) | None => {}
            }
        }
        fewest.map_or(Sampled::Figures(samples), |beyond| Sampled::Withheld { beyond })
    }
}

/// All groups that have trials, in the order shapes × workloads × networks.
pub(crate) fn groups<'a>(plan: &Plan, trials: &[&'a Trial]) -> Result<Vec<Group<'a>>, Error> {
    let mut by_place: BTreeMap<_, Vec<(&'a Trial, Estimate)>> = BTreeMap::new();
    for trial in trials {
        if let Some(place @ (_, workload, _)) = plan.place(trial) {
            let said = estimate(trial, &plan.workloads[workload])?;
            by_place.entry(place).or_default().push((trial, said));
        }
    }
    let groups = by_place.into_iter().map(|((shape, workload, network), mut trials)| {
        trials.sort_by_key(|(trial, _)| trial.block);
        Group { shape, workload, network, trials }
    });
    Ok(groups.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{plan, trial, workload};

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
            assert_eq!(plan.place(&trial), Some((0, expected, 0)), "{size}");
        }
        trial.workload = "udp-rate".to_owned();
        assert_eq!(plan.place(&trial), None);
    }

    #[test]
    fn trials_stand_by_block_whatever_the_order_in_which_they_ran() {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = [trial("bridge", 1, &[8]), trial("host", 0, &[8]), trial("bridge", 0, &[])];
        let groups = groups(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(groups.iter().map(|group| group.network).collect::<Vec<_>>(), [0, 1]);
        let blocks: Vec<u32> = groups[1].trials.iter().map(|(trial, _)| trial.block).collect();
        assert_eq!(blocks, [0, 1]);
        // The trial without any interval is left out, and the block of the other is kept with it.
        let samples = groups[1].sampled(Metric::Throughput);
        assert_eq!(samples.samples().iter().map(|sample| sample.block).collect::<Vec<_>>(), [1]);
    }
}
