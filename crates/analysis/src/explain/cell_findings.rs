//! Findings of a cell's trials, each reported once.

use crate::count::count;
use crate::estimate::TrialEstimate;
use crate::estimate::trial_group::{BlockSample, GroupSamples};
use crate::explain::{core_frequency, cost_causes, fragmentation, loss_attribution};
use std::cmp::Ordering;
use std::mem::discriminant;
use tare_record::finding::{
    FewSamples, HardwareCounterLimits, LevelSwitch, SilentTrials, TrialTrend, UnsettledTrials,
    WarmUpInfluence,
};
use tare_record::{ComparedBy, CounterScope, Finding, HardwareCounters, Metric, Trial};
use tare_stats::describe::{mean, mean_interval, median};
use tare_stats::shift::LevelShift;

/// Largest reported ratio of two levels, also for a level that fell to 0: JSON has no infinity.
const LARGEST_RATIO: f64 = 1000.0;

/// Share of the time above which a counter counts as one that was always scheduled.
const FULL_COUNTER_SHARE: f64 = 0.999;

/// Smallest change of a share by the warm-up that matters, points of per cent. A margin of a small share says nothing.
const LEAST_POINTS: f64 = 0.1;

/// Returns the findings of one cell.
pub(crate) fn cell_findings(
    trials: &[(&Trial, TrialEstimate)],
    metric: Metric,
    sampled: &GroupSamples,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        few_samples(metric, sampled),
        silent_trials(metric, sampled.samples()),
        warm_up_matters(metric, sampled.samples()),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(inside_trials(trials));
    let all: Vec<&Trial> = trials.iter().map(|(trial, _)| *trial).collect();
    let cut: Vec<Finding> =
        all.iter().filter_map(|trial| fragmentation::fragmentation_finding(trial)).collect();
    let mut told = keep_worst(all.iter().flat_map(|trial| &trial.findings).chain(&cut));
    if let Some(placed) = loss_attribution::attribute_loss(&all) {
        // This finding includes the drops at the socket.
        told.retain(|finding| !matches!(finding, Finding::SocketDrops(_)));
        findings.push(placed);
    }
    findings.extend(loss_attribution::attribute_retransmits(&all));
    findings.extend(cost_causes::find_causes(trials));
    findings.extend(core_frequency::frequency_change(&all));
    findings.extend(partial_counters(metric, &all));
    findings.extend(told);
    findings
}

/// Returns the findings that follow from the samples alone.
pub(crate) fn sample_findings(metric: Metric, sampled: &GroupSamples) -> Vec<Finding> {
    few_samples(metric, sampled)
        .into_iter()
        .chain(silent_trials(metric, sampled.samples()))
        .collect()
}

fn few_samples(metric: Metric, sampled: &GroupSamples) -> Option<Finding> {
    match *sampled {
        GroupSamples::Withheld { beyond, needed } => {
            Some(Finding::FewSamples(FewSamples { metric, beyond, needed }))
        }
        GroupSamples::Figures(_) | GroupSamples::NoInterval => None,
    }
}

/// Returns a finding if the hardware counters behind the metric did not see everything: the trial in which they saw
/// least.
fn partial_counters(metric: Metric, trials: &[&Trial]) -> Option<Finding> {
    let all = trials.iter().filter_map(|trial| trial.meanwhile.hardware.as_ref());
    let worst = all.filter(|_| metric.is_hardware_based()).min_by(|one, other| {
        let extent = |one: &HardwareCounters| (std::cmp::Reverse(one.counted), one.running);
        extent(one).partial_cmp(&extent(other)).unwrap_or(Ordering::Equal)
    })?;
    let (counted, running) = (worst.counted, worst.running);
    let all = counted == CounterScope::Machine && running > FULL_COUNTER_SHARE;
    (!all).then_some(Finding::HardwareCounterLimits(HardwareCounterLimits { counted, running }))
}

/// Returns a finding for figures of 0: they have no ratio, and a reader needs the reason.
fn silent_trials(metric: Metric, samples: &[BlockSample]) -> Option<Finding> {
    if metric.compared_by() == ComparedBy::Difference {
        return None;
    }
    let trials = samples.iter().filter(|sample| sample.value == 0.0).count();
    let of = count(samples.len());
    (trials > 0).then(|| Finding::SilentTrials(SilentTrials { trials: count(trials), of }))
}

/// Returns a finding if the cut moves the mean by more than the half width of its 95 % interval, and by more than the
/// margin within which the metric's differences do not matter: an interval may be narrower than that.
fn warm_up_matters(metric: Metric, samples: &[BlockSample]) -> Option<Finding> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let whole: Vec<f64> = samples.iter().map(|sample| sample.uncut).collect();
    let (cut, uncut) = (mean(&values)?, mean(&whole)?);
    let [low, high] = mean_interval(&values, 0.95)?;
    let points = if metric.unit() == "%" { LEAST_POINTS } else { 0.0 };
    let least = points.max(metric.default_margin() * cut.abs());
    ((uncut - cut).abs() > least.max((high - low) / 2.0))
        .then_some(Finding::WarmUpInfluence(WarmUpInfluence { uncut, cut }))
}

/// Returns the numbers of trials that never settled, switched or drifted, and the sizes of the changes.
fn inside_trials(trials: &[(&Trial, TrialEstimate)]) -> Vec<Finding> {
    let estimates = || trials.iter().map(|(_, estimate)| estimate);
    let of = count(trials.len());
    let mut findings = Vec::new();
    let unsettled = estimates().filter(|estimate| !estimate.settled).count();
    if unsettled > 0 {
        findings.push(Finding::UnsettledTrials(UnsettledTrials { trials: count(unsettled), of }));
    }
    let ratios: Vec<f64> = estimates().filter_map(switch_ratio).collect();
    if let Some(ratio) = median(&ratios) {
        findings.push(Finding::LevelSwitch(LevelSwitch { trials: count(ratios.len()), of, ratio }));
    }
    let changes: Vec<f64> = estimates().filter_map(trend_change).collect();
    if let Some(change) = median(&changes) {
        findings.push(Finding::TrialTrend(TrialTrend { trials: count(changes.len()), of, change }));
    }
    findings
}

/// Returns the larger level over the smaller if the trial switched.
fn switch_ratio(estimate: &TrialEstimate) -> Option<f64> {
    match estimate.shift {
        Some(LevelShift::ModeSwitch { before, after, .. }) => {
            let (large, small) = (before.max(after), before.min(after));
            Some(large / small.max(large / LARGEST_RATIO))
        }
        _ => None,
    }
}

/// Returns the change from the first value to the last over the mean if the trial drifted.
fn trend_change(estimate: &TrialEstimate) -> Option<f64> {
    match estimate.shift {
        Some(LevelShift::Trend { change }) => Some(change),
        _ => None,
    }
}

/// Returns the worst of the findings of each kind, in the order in which the kinds first appear.
pub(crate) fn keep_worst<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        match kept.iter_mut().find(|one| is_same_kind(one, finding)) {
            Some(one) if finding.kind().severity() > one.kind().severity() => {
                *one = finding.clone();
            }
            Some(_) => {}
            None => kept.push(finding.clone()),
        }
    }
    kept
}

fn is_same_kind(one: &Finding, other: &Finding) -> bool {
    discriminant(one) == discriminant(other) && one.kind().subject() == other.kind().subject()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use std::collections::BTreeMap;
    use tare_record::Nanos;
    use tare_record::finding::{ClientStall, OtherWork, SmallBuffer};

    fn estimate(settled: bool, shift: Option<LevelShift>) -> TrialEstimate {
        TrialEstimate {
            figures: BTreeMap::new(),
            rounds: BTreeMap::new(),
            clients: None,
            cut: 0,
            settled,
            shift,
        }
    }

    #[test]
    fn what_happened_inside_trials_is_counted_over_them() {
        let trial = trial("bridge", 0, &[]);
        let switch = |before, after| Some(LevelShift::ModeSwitch { at: 5, before, after });
        let trials = [
            (&trial, estimate(false, None)),
            (&trial, estimate(true, switch(50.0, 100.0))),
            (&trial, estimate(true, switch(10.0, 0.0))),
            (&trial, estimate(false, Some(LevelShift::Trend { change: -0.2 }))),
        ];
        assert_eq!(
            inside_trials(&trials),
            [
                Finding::UnsettledTrials(UnsettledTrials { trials: 2, of: 4 }),
                Finding::LevelSwitch(LevelSwitch { trials: 2, of: 4, ratio: 501.0 }),
                Finding::TrialTrend(TrialTrend { trials: 1, of: 4, change: -0.2 }),
            ]
        );
        assert_eq!(inside_trials(&trials[..0]), []);
    }

    #[test]
    fn of_many_findings_about_one_thing_the_worst_is_kept() {
        let small = |asked, granted| Finding::SmallBuffer(SmallBuffer { asked, granted });
        let busy = |share| Finding::OtherWork(OtherWork { share });
        let stall = |longest| Finding::ClientStall(ClientStall { longest: Nanos(longest) });
        let all = [busy(0.2), small(8, 4), small(9, 4), stall(5), small(8, 2), busy(0.5), stall(1)];
        assert_eq!(keep_worst(&all), [busy(0.5), small(8, 2), small(9, 4), stall(5)]);
    }

    #[test]
    fn counters_that_did_not_see_all_are_told_with_what_is_made_of_them() {
        let with = |counted, running| {
            let mut one = trial("bridge", 0, &[]);
            one.meanwhile.hardware =
                Some(HardwareCounters { counted, running, samples: Vec::new() });
            one
        };
        let all = [
            with(CounterScope::Machine, 0.5),
            with(CounterScope::Agents, 1.0),
            trial("bridge", 1, &[]),
        ];
        let all: Vec<&Trial> = all.iter().collect();
        let told = partial_counters(Metric::CyclesPerOp, &all).unwrap().to_string();
        assert!(told.contains("counted only tare's agents and"), "{told}");
        let told = partial_counters(Metric::CyclesPerOp, &all[..1]).unwrap().to_string();
        assert!(
            told.ends_with(
                "all cores; the counters were active for 50 % of the time, the rest is extrapolated"
            ),
            "{told}"
        );
        assert_eq!(partial_counters(Metric::Throughput, &all), None);
        assert_eq!(partial_counters(Metric::CyclesPerOp, &all[2..]), None);
        assert_eq!(
            partial_counters(Metric::CyclesPerOp, &[&with(CounterScope::Machine, 1.0)]),
            None
        );
    }

    #[test]
    fn a_warm_up_within_the_margin_does_not_matter() {
        let samples = |uncut: f64| {
            [100.0, 100.001].map(|value| BlockSample {
                block: 0,
                value,
                uncut: value * uncut,
                rounds: Vec::new(),
            })
        };
        for (metric, margin) in [(Metric::Throughput, 0.02), (Metric::LatencyP99, 0.10)] {
            assert_eq!(metric.default_margin(), margin);
            assert_eq!(warm_up_matters(metric, &samples(1.0 - 0.9 * margin)), None, "{metric}");
            assert!(warm_up_matters(metric, &samples(1.0 - 1.1 * margin)).is_some(), "{metric}");
        }
        let loss = |uncut| {
            [0.0, 0.0].map(|value| BlockSample { block: 0, value, uncut, rounds: Vec::new() })
        };
        assert_eq!(warm_up_matters(Metric::Loss, &loss(0.09)), None);
        assert!(warm_up_matters(Metric::Loss, &loss(0.11)).is_some());
    }

    #[test]
    fn the_warm_up_matters_when_it_moves_the_mean_out_of_its_interval() {
        let samples = |uncut: f64| {
            [99.0, 100.0, 101.0, 100.0].map(|value| BlockSample {
                block: 0,
                value,
                uncut: value * uncut,
                rounds: Vec::new(),
            })
        };
        let metric = Metric::Throughput;
        assert_eq!(warm_up_matters(metric, &samples(0.999)), None);
        let found = warm_up_matters(metric, &samples(0.9)).unwrap();
        assert!(
            matches!(found, Finding::WarmUpInfluence(WarmUpInfluence { cut, .. }) if cut == 100.0)
        );
    }
}
