//! Percentiles of woven networks over several blocks each, where one block has too few samples beyond them.
//!
//! A woven block is short. Its histograms are merged with those of the blocks that follow, the same number for all
//! networks of a comparison, until every sample is one of enough round trips; the unit of intervals and tests is then
//! such a pool of blocks.

use crate::Error;
use crate::count::count;
use crate::estimate::figures::{FEWEST_OF_WOVEN_BLOCK, samples_beyond};
use crate::estimate::trial_group::{BlockSample, GroupSamples, TrialGroup};
use crate::select::trial_traffic::TrialTraffic;
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{
    HistogramError, LatencyHistogram, LatencyKind, LatencyStatistic, Metric, Nanos,
    SaturatingSum as _, Trial,
};

/// Figures of the networks of a comparison, in the order of its groups, and the number of blocks of each figure.
pub(crate) struct ComparisonSamples {
    pub(crate) sampled: Vec<GroupSamples>,
    pub(crate) blocks_per_sample: u32,
}

/// Returns the figures of a metric for all groups of a comparison.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub(crate) fn comparison_samples(
    together: &[TrialGroup<'_>],
    metric: Metric,
) -> Result<ComparisonSamples, Error> {
    let sampled: Vec<GroupSamples> =
        together.iter().map(|group| group.samples_of_metric(metric)).collect();
    Ok(match pool(together, metric, &sampled)? {
        Some(pooled) => pooled,
        None => ComparisonSamples { sampled, blocks_per_sample: 1 },
    })
}

/// Pools blocks if a percentile is withheld somewhere. Returns `None` if it is not, if the networks were not woven, or
/// if there would be fewer than two pools.
fn pool(
    together: &[TrialGroup<'_>],
    metric: Metric,
    sampled: &[GroupSamples],
) -> Result<Option<ComparisonSamples>, Error> {
    let Some((kind, LatencyStatistic::Quantile(share))) = metric.latency() else {
        return Ok(None);
    };
    let is_withheld =
        sampled.iter().any(|sampled| matches!(sampled, GroupSamples::Withheld { .. }));
    if !is_withheld || !is_woven(together) {
        return Ok(None);
    }
    let blocks = all_blocks(together);
    let groups =
        together.iter().map(|group| block_latencies(group, kind)).collect::<Option<Vec<_>>>();
    let Some(groups) = groups else { return Ok(None) };
    let Some(size) = smallest_pool(&groups, &blocks, share) else { return Ok(None) };
    let sampled = groups
        .iter()
        .map(|latencies| pooled_samples(latencies, &blocks, size, share))
        .collect::<Result<Option<Vec<_>>, Error>>()?;
    let blocks_per_sample = count(size);
    Ok(sampled.map(|sampled| ComparisonSamples { sampled, blocks_per_sample }))
}

/// Returns the blocks of which any network has a trial, in order.
fn all_blocks(together: &[TrialGroup<'_>]) -> Vec<u32> {
    let trials = together.iter().flat_map(|group| &group.trials);
    let blocks: BTreeSet<u32> = trials.map(|(trial, _)| trial.block).collect();
    blocks.into_iter().collect()
}

fn is_woven(together: &[TrialGroup<'_>]) -> bool {
    together.iter().flat_map(|group| &group.trials).all(|(trial, _)| trial.slices.is_some())
}

/// Latencies of one network's trial in a block.
struct BlockLatencies<'a> {
    trial: &'a Trial,
    histogram: LatencyHistogram,
}

/// Latencies of one network, by block.
type NetworkLatencies<'a> = BTreeMap<u32, BlockLatencies<'a>>;

/// Returns a group's latencies over all slices of each of its blocks. Returns `None` if a trial has none.
fn block_latencies<'a>(group: &TrialGroup<'a>, kind: LatencyKind) -> Option<NetworkLatencies<'a>> {
    let latencies = group.trials.iter().map(|&(trial, _)| {
        let traffic = TrialTraffic::from_trial(trial);
        let histogram = traffic.latencies(0..traffic.len(), kind)?;
        Some((trial.block, BlockLatencies { trial, histogram }))
    });
    latencies.collect()
}

/// Returns the pools of so many successive blocks each in which a network has all trials, each with its first block. A
/// network that failed or was decided has no part in later pools.
fn complete_pools<'p, 'a>(
    latencies: &'p NetworkLatencies<'a>,
    blocks: &'p [u32],
    size: usize,
) -> impl Iterator<Item = (u32, Vec<&'p BlockLatencies<'a>>)> + 'p {
    blocks.chunks_exact(size).filter_map(|pool| {
        let all: Option<Vec<_>> = pool.iter().map(|block| latencies.get(block)).collect();
        Some((pool[0], all?))
    })
}

/// Returns the smallest number of blocks of which every network has at least two pools, and enough samples beyond the
/// percentile in each. Returns `None` if there is none.
fn smallest_pool(groups: &[NetworkLatencies<'_>], blocks: &[u32], share: f64) -> Option<usize> {
    let is_enough = |pool: &[&BlockLatencies<'_>]| {
        let count = pool.iter().map(|block| block.histogram.count()).saturating_sum();
        samples_beyond(count, share) >= FEWEST_OF_WOVEN_BLOCK
    };
    let suffices = |size: usize, latencies: &NetworkLatencies<'_>| {
        let pools: Vec<_> = complete_pools(latencies, blocks, size).collect();
        pools.len() >= 2 && pools.iter().all(|(_, pool)| is_enough(pool))
    };
    (2..=blocks.len() / 2).find(|&size| groups.iter().all(|one| suffices(size, one)))
}

/// Returns a group's figure of every pool, each under the number of its first block. Returns `None` if a pool has none.
fn pooled_samples(
    latencies: &NetworkLatencies<'_>,
    blocks: &[u32],
    size: usize,
    share: f64,
) -> Result<Option<GroupSamples>, Error> {
    let samples = complete_pools(latencies, blocks, size).map(|(first, pool)| {
        let value = merged(&pool)?.and_then(|all| all.quantile(share));
        Ok(value.map(|value| BlockSample::whole(first, Nanos(value).as_micros_f64())))
    });
    let samples = samples.collect::<Result<Option<Vec<_>>, Error>>()?;
    Ok(samples.map(GroupSamples::Figures))
}

fn merged(pool: &[&BlockLatencies<'_>]) -> Result<Option<LatencyHistogram>, Error> {
    let Some((first, rest)) = pool.split_first() else { return Ok(None) };
    let mut all = first.histogram.clone();
    for BlockLatencies { trial, histogram } in rest {
        all.merge(histogram).map_err(|source| unreadable(trial, source))?;
    }
    Ok(Some(all))
}

fn unreadable(trial: &Trial, source: HistogramError) -> Error {
    Error::Latencies { label: trial.label.clone(), block: trial.block, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::trial_group::group_trials;
    use crate::test_data::{plan, trial, workload};
    use tare_record::{SlicePlan, TrialSlices};

    /// Returns a trial in slices whose only interval has this many round trips of 1 to 100 µs.
    fn woven(label: &str, block: u32, round_trips: u64) -> Trial {
        let mut trial = trial(label, block, &[0]);
        trial.workload = "tcp-rr".to_owned();
        let nanos = (0..round_trips).map(|nth| (nth % 100 + 1) * 1_000);
        trial.series[0].intervals[0].latency = Some(LatencyHistogram::from_nanos(nanos).unwrap());
        let length = trial.series[0].intervals[0].length;
        let plan = SlicePlan { rounds: 1, warm_up: 0, length, skip: Nanos(0) };
        trial.slices = Some(TrialSlices { plan, began: vec![Nanos(0)] });
        trial
    }

    fn samples(trials: &[Trial]) -> (Vec<GroupSamples>, u32) {
        let mut workload = workload("tcp-rr", &[Metric::LatencyP99]);
        workload.warm_up = tare_record::WarmUpPolicy::Fixed(Nanos(0));
        let plan = plan(&["host", "bridge"], vec![workload]);
        let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        let found = comparison_samples(&groups, Metric::LatencyP99).unwrap();
        (found.sampled, found.blocks_per_sample)
    }

    #[test]
    fn blocks_are_pooled_until_a_percentile_has_its_samples_in_every_network() {
        let trials: Vec<Trial> = (0..7)
            .flat_map(|block| [woven("host", block, 3_000), woven("bridge", block, 1_200)])
            .collect();
        let (sampled, size) = samples(&trials);
        assert_eq!(size, 3);
        for sampled in sampled {
            let blocks: Vec<u32> = sampled.samples().iter().map(|sample| sample.block).collect();
            assert_eq!(blocks, [0, 3], "the seventh block is no pool of its own");
            assert!((sampled.samples()[0].value - 99.0).abs() < 0.5);
        }
    }

    #[test]
    fn a_network_that_left_the_run_has_the_pools_of_its_blocks() {
        let trials: Vec<Trial> = (0..8)
            .flat_map(|block| [woven("host", block, 3_000), woven("bridge", block, 1_500)])
            .filter(|trial| trial.label == "host" || trial.block < 5)
            .collect();
        let (sampled, size) = samples(&trials);
        let first = |sampled: &GroupSamples| -> Vec<u32> {
            sampled.samples().iter().map(|sample| sample.block).collect()
        };
        assert_eq!(
            (size, first(&sampled[0]), first(&sampled[1])),
            (2, vec![0, 2, 4, 6], vec![0, 2])
        );
    }

    #[test]
    fn what_one_block_can_say_is_said_by_each() {
        let trials: Vec<Trial> = (0..4)
            .flat_map(|block| [woven("host", block, 3_000), woven("bridge", block, 3_000)])
            .collect();
        assert_eq!(samples(&trials).1, 1);
    }

    #[test]
    fn trials_in_one_piece_and_too_few_blocks_stay_withheld() {
        let few: Vec<Trial> = (0..3)
            .flat_map(|block| [woven("host", block, 1_500), woven("bridge", block, 1_500)])
            .collect();
        let (sampled, size) = samples(&few);
        assert_eq!((size, &sampled[0]), (1, &GroupSamples::Withheld { beyond: 15, needed: 30 }));
        let mut pieces: Vec<Trial> = (0..8)
            .flat_map(|block| [woven("host", block, 1_500), woven("bridge", block, 1_500)])
            .collect();
        pieces.iter_mut().for_each(|trial| trial.slices = None);
        assert_eq!(samples(&pieces).0[1], GroupSamples::Withheld { beyond: 15, needed: 100 });
    }
}
