//! What was noticed in a cell's trials, said once.

use crate::causes;
use crate::estimate::Estimate;
use crate::fragments;
use crate::frequency;
use crate::group::{Sample, Sampled};
use crate::placed;
use std::cmp::Ordering;
use tare_record::{Beside, Counting, Finding, Hardware, Metric, Trial};
use tare_stats::describe::{mean, mean_interval, median};
use tare_stats::shift::Shift;

/// A level that fell to nothing counts as this many times smaller: JSON has no infinity.
const LARGEST_RATIO: f64 = 1000.0;

/// The share of the time from which on a counter counts as one that always counted.
const ALL_THE_TIME: f64 = 0.999;

/// The findings of one cell.
pub(crate) fn of_cell(
    trials: &[(&Trial, Estimate)],
    metric: Metric,
    sampled: &Sampled,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        few_samples(metric, sampled),
        silent(metric, sampled.samples()),
        warm_up_matters(sampled.samples()),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(inside_trials(trials));
    let all: Vec<&Trial> = trials.iter().map(|(trial, _)| *trial).collect();
    let cut: Vec<Finding> = all.iter().filter_map(|trial| fragments::of_trial(trial)).collect();
    let mut told = worst(all.iter().flat_map(|trial| &trial.findings).chain(&cut));
    if let Some(placed) = placed::loss(&all) {
        // Which says it all, and with the rest.
        told.retain(|finding| !matches!(finding, Finding::DroppedAtSocket { .. }));
        findings.push(placed);
    }
    findings.extend(placed::retransmits(&all));
    findings.extend(causes::of_trials(trials));
    findings.extend(frequency::changed(&all));
    findings.extend(hardware(metric, &all));
    findings.extend(told);
    findings
}

/// The findings that samples show by themselves.
pub(crate) fn of_samples(metric: Metric, sampled: &Sampled) -> Vec<Finding> {
    few_samples(metric, sampled).into_iter().chain(silent(metric, sampled.samples())).collect()
}

fn few_samples(metric: Metric, sampled: &Sampled) -> Option<Finding> {
    match *sampled {
        Sampled::Withheld { beyond } => Some(Finding::FewSamples { metric, beyond }),
        Sampled::Figures(_) => None,
    }
}

/// Where hardware counters, which the metric is made of, did not see all: the least of what they saw.
fn hardware(metric: Metric, trials: &[&Trial]) -> Option<Finding> {
    let all = trials.iter().filter_map(|trial| trial.meanwhile.hardware.as_ref());
    let worst = all.filter(|_| metric.of_hardware()).min_by(|one, other| {
        let extent = |one: &Hardware| (std::cmp::Reverse(one.counted), one.running);
        extent(one).partial_cmp(&extent(other)).unwrap_or(Ordering::Equal)
    })?;
    let (counted, running) = (worst.counted, worst.running);
    let all = counted == Counting::Machine && running > ALL_THE_TIME;
    (!all).then_some(Finding::HardwareCounted { counted, running })
}

/// A figure of 0 has no ratio, and a reader should know why there is none.
fn silent(metric: Metric, samples: &[Sample]) -> Option<Finding> {
    if metric.beside() == Beside::Difference {
        return None;
    }
    let trials = samples.iter().filter(|sample| sample.value == 0.0).count();
    let of = count(samples.len());
    (trials > 0).then(|| Finding::Silent { trials: count(trials), of })
}

/// The cut matters where it moves the mean by more than the half width of its 95 % interval.
fn warm_up_matters(samples: &[Sample]) -> Option<Finding> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let whole: Vec<f64> = samples.iter().map(|sample| sample.uncut).collect();
    let (cut, uncut) = (mean(&values)?, mean(&whole)?);
    let [low, high] = mean_interval(&values, 0.95)?;
    ((uncut - cut).abs() > (high - low) / 2.0).then_some(Finding::WarmUpMatters { uncut, cut })
}

/// Trials that never settled, switched or drifted: how many, and by how much.
fn inside_trials(trials: &[(&Trial, Estimate)]) -> Vec<Finding> {
    let estimates = || trials.iter().map(|(_, estimate)| estimate);
    let of = count(trials.len());
    let mut findings = Vec::new();
    let unsettled = estimates().filter(|estimate| !estimate.settled).count();
    if unsettled > 0 {
        findings.push(Finding::NeverSettled { trials: count(unsettled), of });
    }
    let ratios: Vec<f64> = estimates().filter_map(switched).collect();
    if let Some(ratio) = median(&ratios) {
        findings.push(Finding::ModeSwitch { trials: count(ratios.len()), of, ratio });
    }
    let changes: Vec<f64> = estimates().filter_map(drifted).collect();
    if let Some(change) = median(&changes) {
        findings.push(Finding::Trend { trials: count(changes.len()), of, change });
    }
    findings
}

/// The larger level over the smaller, where a trial switched.
fn switched(estimate: &Estimate) -> Option<f64> {
    match estimate.shift {
        Some(Shift::ModeSwitch { before, after, .. }) => {
            let (large, small) = (before.max(after), before.min(after));
            Some(large / small.max(large / LARGEST_RATIO))
        }
        _ => None,
    }
}

/// The change from begin to end over the mean, where a trial drifted.
fn drifted(estimate: &Estimate) -> Option<f64> {
    match estimate.shift {
        Some(Shift::Trend { change }) => Some(change),
        _ => None,
    }
}

fn count(trials: usize) -> u32 {
    u32::try_from(trials).unwrap_or(u32::MAX)
}

/// Of findings about the same thing the worst one, in the order in which each thing was first noticed.
pub(crate) fn worst<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        match kept.iter_mut().find(|one| about_the_same(one, finding)) {
            Some(one) if weight(finding) > weight(one) => *one = finding.clone(),
            Some(_) => {}
            None => kept.push(finding.clone()),
        }
    }
    kept
}

fn about_the_same(one: &Finding, other: &Finding) -> bool {
    use Finding::{
        BusyMachine, DroppedAtSocket, EndsDisagree, Fragmented, LowHeadroom, OtherRun, OverQuota,
        PortsExhausted, SearchAtSendersLimit, SearchUnfinished, SenderTooSlow, SmallBuffer, Stall,
        Stolen, Throttled, TimeWaitOverflow,
    };
    match (one, other) {
        (EndsDisagree { .. }, EndsDisagree { .. })
        | (BusyMachine { .. }, BusyMachine { .. })
        | (Stolen { .. }, Stolen { .. })
        | (Throttled { .. }, Throttled { .. })
        | (OverQuota { .. }, OverQuota { .. })
        | (Fragmented { .. }, Fragmented { .. })
        | (OtherRun { .. }, OtherRun { .. })
        | (Stall { .. }, Stall { .. })
        | (DroppedAtSocket { .. }, DroppedAtSocket { .. })
        | (PortsExhausted { .. }, PortsExhausted { .. })
        | (TimeWaitOverflow { .. }, TimeWaitOverflow { .. })
        | (SearchAtSendersLimit { .. }, SearchAtSendersLimit { .. })
        | (SearchUnfinished { .. }, SearchUnfinished { .. })
        | (SenderTooSlow { .. }, SenderTooSlow { .. }) => true,
        (LowHeadroom { resource: one, .. }, LowHeadroom { resource: other, .. }) => one == other,
        (SmallBuffer { asked: one, .. }, SmallBuffer { asked: other, .. }) => one == other,
        _ => one == other,
    }
}

/// How bad a finding is among those about the same thing.
fn weight(finding: &Finding) -> f64 {
    match finding {
        Finding::EndsDisagree { sent, received } => sent.abs_diff(*received) as f64,
        Finding::BusyMachine { share } | Finding::Stolen { share } => *share,
        Finding::OverQuota { waited } => waited.0 as f64,
        Finding::Fragmented { packets, refused, .. } => *packets as f64 + *refused as f64,
        Finding::OtherRun { others } => f64::from(*others),
        Finding::Stall { longest } => longest.0 as f64,
        Finding::LowHeadroom { used, .. } => *used as f64,
        Finding::SmallBuffer { granted, .. } => -(*granted as f64),
        Finding::SenderTooSlow { asked, offered } => 1.0 - offered / asked,
        Finding::DroppedAtSocket { dropped, of } => *dropped as f64 / (*of).max(1) as f64,
        Finding::Throttled { times } | Finding::PortsExhausted { times } => *times as f64,
        Finding::TimeWaitOverflow { overflowed } => *overflowed as f64,
        Finding::SearchAtSendersLimit { rate } => -rate,
        Finding::SearchUnfinished { width } => *width,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;
    use std::collections::BTreeMap;
    use tare_record::Nanos;

    fn estimate(settled: bool, shift: Option<Shift>) -> Estimate {
        Estimate { figures: BTreeMap::new(), clients: None, cut: 0, settled, shift }
    }

    #[test]
    fn what_happened_inside_trials_is_counted_over_them() {
        let trial = trial("bridge", 0, &[]);
        let switch = |before, after| Some(Shift::ModeSwitch { at: 5, before, after });
        let trials = [
            (&trial, estimate(false, None)),
            (&trial, estimate(true, switch(50.0, 100.0))),
            (&trial, estimate(true, switch(10.0, 0.0))),
            (&trial, estimate(false, Some(Shift::Trend { change: -0.2 }))),
        ];
        assert_eq!(
            inside_trials(&trials),
            [
                Finding::NeverSettled { trials: 2, of: 4 },
                Finding::ModeSwitch { trials: 2, of: 4, ratio: 501.0 },
                Finding::Trend { trials: 1, of: 4, change: -0.2 },
            ]
        );
        assert_eq!(inside_trials(&trials[..0]), []);
    }

    #[test]
    fn of_many_findings_about_one_thing_the_worst_is_kept() {
        let small = |asked, granted| Finding::SmallBuffer { asked, granted };
        let busy = |share| Finding::BusyMachine { share };
        let stall = |longest| Finding::Stall { longest: Nanos(longest) };
        let all = [busy(0.2), small(8, 4), small(9, 4), stall(5), small(8, 2), busy(0.5), stall(1)];
        assert_eq!(worst(&all), [busy(0.5), small(8, 2), small(9, 4), stall(5)]);
    }

    #[test]
    fn counters_that_did_not_see_all_are_told_with_what_is_made_of_them() {
        let with = |counted, running| {
            let mut one = trial("bridge", 0, &[]);
            one.meanwhile.hardware = Some(Hardware { counted, running, samples: Vec::new() });
            one
        };
        let all =
            [with(Counting::Machine, 0.5), with(Counting::Agents, 1.0), trial("bridge", 1, &[])];
        let all: Vec<&Trial> = all.iter().collect();
        let told = hardware(Metric::CyclesPerOp, &all).unwrap().to_string();
        assert!(told.contains("tare's agents alone"), "{told}");
        let told = hardware(Metric::CyclesPerOp, &all[..1]).unwrap().to_string();
        assert!(
            told.ends_with("all cores, for 50 % of the time; the rest is extrapolated"),
            "{told}"
        );
        assert_eq!(hardware(Metric::Throughput, &all), None);
        assert_eq!(hardware(Metric::CyclesPerOp, &all[2..]), None);
        assert_eq!(hardware(Metric::CyclesPerOp, &[&with(Counting::Machine, 1.0)]), None);
    }

    #[test]
    fn the_warm_up_matters_when_it_moves_the_mean_out_of_its_interval() {
        let samples = |uncut: f64| {
            [99.0, 100.0, 101.0, 100.0].map(|value| Sample {
                block: 0,
                value,
                uncut: value * uncut,
            })
        };
        assert_eq!(warm_up_matters(&samples(0.999)), None);
        let found = warm_up_matters(&samples(0.9)).unwrap();
        assert!(matches!(found, Finding::WarmUpMatters { cut, .. } if cut == 100.0));
    }
}
