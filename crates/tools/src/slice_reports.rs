//! Reports of a client program that is run anew in every slice of a trial, put together.

use crate::report::ToolReport;
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{Interval, LatencyStatistic, Metric, MetricFormula, Nanos, SlicePlan};

/// Reports of the slices of a trial so far.
#[derive(Debug)]
pub(crate) struct SliceReports {
    plan: SlicePlan,
    /// Number of slices so far, those of the warm-up included.
    slices: u32,
    /// Reports of the slices that count.
    counted: Vec<ToolReport>,
}

impl SliceReports {
    /// Creates the reports of a trial of which no slice has run.
    pub(crate) fn new(plan: SlicePlan) -> Self {
        Self { plan, slices: 0, counted: Vec::new() }
    }

    /// Adds the report of the next slice. Returns true if the slice counts.
    pub(crate) fn add(&mut self, report: ToolReport) -> bool {
        let counts = (self.plan.warm_up..self.plan.slice_count()).contains(&self.slices);
        self.slices += 1;
        if counts {
            self.counted.push(report);
        }
        counts
    }

    /// Returns the report of all slices that count, with an interval for each, in slice time.
    pub(crate) fn into_report(self) -> ToolReport {
        let Self { plan, counted, .. } = self;
        let mut all = ToolReport { stated: combined_figures(&counted), ..ToolReport::default() };
        for (nth, report) in (0..).zip(counted) {
            all.bytes = all.bytes.saturating_add(report.bytes);
            all.operations = all.operations.saturating_add(report.operations);
            all.intervals.push(Interval {
                start: Nanos(plan.length.0.saturating_mul(nth)),
                length: plan.length,
                bytes: report.bytes,
                operations: operations_within(&report, plan.length),
                latency: report.latencies,
                ..Interval::default()
            });
            all.parameters.extend(report.parameters);
            for finding in report.findings {
                if !all.findings.contains(&finding) {
                    all.findings.push(finding);
                }
            }
        }
        all
    }
}

/// Returns the transactions of a slice of this length. A program that states their rate may have run a little longer.
fn operations_within(report: &ToolReport, length: Nanos) -> u64 {
    let rate = report.stated.get(&Metric::Tps);
    rate.map_or(report.operations, |rate| (rate * length.as_secs_f64()).round() as u64)
}

/// Returns the figures of all slices together, in every metric that they state.
fn combined_figures(reports: &[ToolReport]) -> BTreeMap<Metric, f64> {
    let metrics: BTreeSet<Metric> =
        reports.iter().flat_map(|report| report.stated.keys().copied()).collect();
    let figure = |metric: Metric| Some((metric, combined_figure(metric, reports)?));
    metrics.into_iter().filter_map(figure).collect()
}

/// Returns a figure of all slices together. Returns `None` for percentiles, which follow from the merged histograms, and
/// for a rate that some slice did not state.
fn combined_figure(metric: Metric, reports: &[ToolReport]) -> Option<f64> {
    let stated =
        || reports.iter().filter_map(|report| Some((report, *report.stated.get(&metric)?)));
    let largest = || stated().map(|(_, figure)| figure).fold(f64::NEG_INFINITY, f64::max);
    match metric.formula() {
        MetricFormula::Latency(_, LatencyStatistic::Quantile(_)) => None,
        MetricFormula::Latency(_, LatencyStatistic::Max) => Some(largest()),
        // A mean over transactions: slices with more of them count more.
        MetricFormula::StatedMean => {
            weighted_mean(stated().map(|(report, figure)| (figure, report.operations as f64)))
        }
        // All slices have the same length.
        _ if stated().count() == reports.len() => {
            weighted_mean(stated().map(|(_, figure)| (figure, 1.0)))
        }
        _ => None,
    }
}

/// Returns the mean of figures with these weights. Returns `None` if all weights are 0.
fn weighted_mean(figures: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weights) = figures
        .fold((0.0, 0.0), |(sum, all), (figure, weight)| (sum + figure * weight, all + weight));
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::finding::SharedMachine;
    use tare_record::{Finding, LatencyHistogram};

    const PLAN: SlicePlan =
        SlicePlan { rounds: 2, warm_up: 1, length: Nanos(2_000_000_000), skip: Nanos(0) };

    /// Returns a report of a slice of two seconds, in which every transaction took this long, µs.
    fn report(operations: u64, micros: u64) -> ToolReport {
        let stated = [
            (Metric::Tps, operations as f64 / 2.0),
            (Metric::LatencyMean, micros as f64),
            (Metric::LatencyP95, micros as f64),
            (Metric::LatencyMax, micros as f64),
        ];
        ToolReport {
            stated: stated.into(),
            operations,
            latencies: LatencyHistogram::from_counts([(micros * 1_000, operations)]).ok(),
            findings: vec![Finding::SharedMachine(SharedMachine { cores: 2 })],
            ..ToolReport::default()
        }
    }

    fn put_together(reports: impl IntoIterator<Item = ToolReport>) -> (Vec<bool>, ToolReport) {
        let mut all = SliceReports::new(PLAN);
        let counted = reports.into_iter().map(|report| all.add(report)).collect();
        (counted, all.into_report())
    }

    #[test]
    fn slices_that_count_are_one_report_with_an_interval_for_each() {
        let slices = [report(7, 9_000), report(100, 200), report(300, 100), report(9, 1)];
        let (counted, all) = put_together(slices);
        assert_eq!(counted, [false, true, true, false], "one of warm-up, and one too many");
        assert_eq!(all.stated[&Metric::Tps], 100.0);
        assert_eq!(all.stated[&Metric::LatencyMean], 125.0, "a mean over transactions");
        assert_eq!(all.stated[&Metric::LatencyMax], 200.0);
        assert!(!all.stated.contains_key(&Metric::LatencyP95), "it follows from the histograms");
        let times: Vec<_> = all.intervals.iter().map(|one| (one.start.0, one.length.0)).collect();
        assert_eq!(times, [(0, 2_000_000_000), (2_000_000_000, 2_000_000_000)]);
        let count = |one: &Interval| one.latency.as_ref().map(LatencyHistogram::count);
        let counts: Vec<_> = all.intervals.iter().map(|one| (one.operations, count(one))).collect();
        assert_eq!(counts, [(100, Some(100)), (300, Some(300))]);
        assert_eq!((all.operations, all.findings.len()), (400, 1));
    }

    #[test]
    fn a_program_that_ran_longer_than_its_slice_is_counted_for_the_slice() {
        let longer = ToolReport { operations: 110, ..report(100, 200) };
        let (_, all) = put_together([report(1, 1), longer]);
        assert_eq!(all.intervals[0].operations, 100);
    }

    #[test]
    fn a_slice_without_transactions_is_part_of_the_rate_and_not_of_the_mean() {
        let nothing = ToolReport { stated: [(Metric::Tps, 0.0)].into(), ..ToolReport::default() };
        let (_, all) = put_together([report(1, 1), nothing.clone(), report(100, 200)]);
        assert_eq!(all.stated[&Metric::Tps], 25.0);
        assert_eq!(all.stated[&Metric::LatencyMean], 200.0);
        let (_, all) = put_together([report(1, 1), nothing.clone(), nothing]);
        assert!(!all.stated.contains_key(&Metric::LatencyMean));
        assert_eq!(put_together([]).1, ToolReport::default());
    }

    proptest! {
        #[test]
        fn the_figures_lie_among_those_of_the_slices(
            slices in prop::collection::vec((1u64..1_000_000, 1u64..1_000_000), 2),
        ) {
            let reports = slices.iter().map(|&(operations, micros)| report(operations, micros));
            let (_, all) = put_together(std::iter::once(report(1, 1)).chain(reports));
            let micros = || slices.iter().map(|slice| slice.1 as f64);
            let (least, most) = (micros().fold(f64::MAX, f64::min), micros().fold(0.0, f64::max));
            let mean = all.stated[&Metric::LatencyMean];
            prop_assert!(mean >= least * (1.0 - 1e-9) && mean <= most * (1.0 + 1e-9));
            prop_assert_eq!(all.stated[&Metric::LatencyMax], most);
        }
    }
}
