//! Figures of a trial for every metric: over its steady part, and over the whole trial.

use crate::estimate::machine_usage::{
    busy_and_total_within, hardware_count_within, softirq_by_core,
};
use crate::estimate::metric_figure::MetricFigure;
use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use std::ops::Range;
use tare_record::{
    GIGABITS, GoalResult, HardwareEvent, HardwareEventCounts, HistogramError, LatencyHistogram,
    LatencyKind, LatencyStatistic, Metric, MetricFormula, Nanos, SearchGoal, SearchUnit,
    TrafficCount, Trial,
};

/// Fewest samples beyond a percentile for which a trial in one piece reports it.
const FEWEST_OF_ONE_PIECE: u64 = 100;

/// Fewest samples beyond a percentile for which a woven block, or a pool of blocks, reports it: its figure is one of
/// many, and what it errs is seen in their spread.
pub(crate) const FEWEST_OF_WOVEN_BLOCK: u64 = 30;

/// Computes the figures of one trial, or of a part of its traffic. The first `cut` intervals are its warm-up.
pub(crate) fn figures(
    trial: &Trial,
    traffic: &TrialTraffic<'_>,
    metrics: &[Metric],
    cut: usize,
) -> Result<BTreeMap<Metric, MetricFigure>, HistogramError> {
    let mut figures = FigureCalculator {
        trial,
        traffic,
        kept: cut..traffic.len(),
        whole: 0..traffic.len(),
        latencies: Vec::new(),
    };
    metrics.iter().map(|&metric| Ok((metric, figures.figure(metric)?))).collect()
}

/// Latencies of the steady part and of the whole trial.
type KeptAndWholeLatencies = (LatencyHistogram, LatencyHistogram);

struct FigureCalculator<'a> {
    trial: &'a Trial,
    traffic: &'a TrialTraffic<'a>,
    kept: Range<usize>,
    whole: Range<usize>,
    /// Histograms of each kind, merged once for all the metrics that use them; `None` if none were recorded.
    latencies: Vec<(LatencyKind, Option<KeptAndWholeLatencies>)>,
}

impl FigureCalculator<'_> {
    fn figure(&mut self, metric: Metric) -> Result<MetricFigure, HistogramError> {
        // A figure that a tool stated covers the whole trial: nothing of it can be cut.
        if let Some(value) = self.traffic.stated(metric) {
            return Ok(MetricFigure::Value { value, uncut: value });
        }
        Ok(match metric.formula() {
            MetricFormula::Rate { of, scale } => {
                self.over_kept_and_whole(|over| Some(self.traffic.rate(over, of) * scale))
            }
            MetricFormula::ShareOfReceived(of) => self.over_kept_and_whole(|over| {
                let received = self.traffic.sum(over.clone(), TrafficCount::Received);
                percent(self.traffic.sum(over, of), received)
            }),
            MetricFormula::LossRatio => self.over_kept_and_whole(|over| {
                let sent = self.traffic.sum(over.clone(), TrafficCount::Sent);
                let received = self.traffic.sum(over, TrafficCount::Received);
                percent(sent.saturating_sub(received), sent)
            }),
            MetricFormula::Jitter => self.over_kept_and_whole(|over| self.traffic.jitter(over)),
            MetricFormula::Search(goal, unit) => self.search_result(goal, unit),
            MetricFormula::Latency(which, point) => return self.latency(which, point),
            MetricFormula::CpuPer { of, each } => self.cpu_per(of, each),
            MetricFormula::EventsPer(event, of) => self.events_per(event, of),
            MetricFormula::CpuBusy => self.over_kept_and_whole(|over| {
                let (busy, all) =
                    busy_and_total_within(&self.trial.meanwhile.samples, self.traffic.span(over)?)?;
                (all > 0.0).then(|| 100.0 * busy / all)
            }),
            MetricFormula::SoftirqCore => self.over_kept_and_whole(|over| {
                let samples = &self.trial.meanwhile.samples;
                let shares = softirq_by_core(samples, &self.traffic.span(over)?);
                shares.into_iter().max_by(f64::total_cmp).map(|share| 100.0 * share)
            }),
            MetricFormula::StatedRate | MetricFormula::StatedMean | MetricFormula::Network(_) => {
                MetricFigure::Absent
            }
        })
    }

    /// Returns a figure over the steady part and over the whole trial, if both exist.
    fn over_kept_and_whole(&self, figure: impl Fn(Range<usize>) -> Option<f64>) -> MetricFigure {
        if self.kept.is_empty() {
            return MetricFigure::Absent;
        }
        match (figure(self.kept.clone()), figure(self.whole.clone())) {
            (Some(value), Some(uncut)) => MetricFigure::Value { value, uncut },
            _ => MetricFigure::Absent,
        }
    }

    /// Returns the CPU seconds of the whole machine for every `each` counts.
    fn cpu_per(&self, count: TrafficCount, each: f64) -> MetricFigure {
        self.over_kept_and_whole(|over| {
            let (busy, _) = busy_and_total_within(
                &self.trial.meanwhile.samples,
                self.traffic.span(over.clone())?,
            )?;
            let counted = self.traffic.sum(over, count);
            (counted > 0).then(|| busy / counted as f64 * each)
        })
    }

    /// Returns the counts of hardware counters for each count of traffic. The figure is absent if there are no hardware
    /// counters.
    fn events_per(&self, event: HardwareEvent, count: TrafficCount) -> MetricFigure {
        let kind: fn(&HardwareEventCounts) -> u64 = match event {
            HardwareEvent::Cycles => |work| work.cycles,
            HardwareEvent::Instructions => |work| work.instructions,
        };
        let Some(hardware) = &self.trial.meanwhile.hardware else {
            return MetricFigure::Absent;
        };
        self.over_kept_and_whole(|over| {
            let executed = hardware_count_within(hardware, self.traffic.span(over.clone())?, kind)?;
            let counted = self.traffic.sum(over, count);
            (counted > 0).then(|| executed / counted as f64)
        })
    }

    /// Merges all latencies of a kind.
    fn merge_latencies(
        &mut self,
        which: LatencyKind,
    ) -> Result<Option<&KeptAndWholeLatencies>, HistogramError> {
        let known = self.latencies.iter().position(|(kind, _)| *kind == which);
        let at = match known {
            Some(at) => at,
            None => {
                let kept = self.traffic.latencies(self.kept.clone(), which);
                let mut whole = self.traffic.latencies(0..self.kept.start, which);
                match (&mut whole, &kept) {
                    (Some(cut), Some(kept)) => cut.merge(kept)?,
                    (None, kept) => whole.clone_from(kept),
                    (Some(_), None) => {}
                }
                self.latencies.push((which, kept.zip(whole)));
                self.latencies.len() - 1
            }
        };
        Ok(self.latencies[at].1.as_ref())
    }

    /// Returns a latency, µs.
    fn latency(
        &mut self,
        which: LatencyKind,
        point: LatencyStatistic,
    ) -> Result<MetricFigure, HistogramError> {
        if self.kept.is_empty() {
            return Ok(MetricFigure::Absent);
        }
        let needed = match self.trial.slices {
            Some(_) => FEWEST_OF_WOVEN_BLOCK,
            None => FEWEST_OF_ONE_PIECE,
        };
        // If none were recorded there is no such latency; if all recorded histograms are empty, there are too few
        // samples.
        let Some((kept, whole)) = self.merge_latencies(which)? else {
            return Ok(MetricFigure::Absent);
        };
        let read = |histogram: &LatencyHistogram| {
            let nanos = match point {
                LatencyStatistic::Quantile(share) => histogram.quantile(share),
                LatencyStatistic::Max => histogram.max(),
            };
            nanos.map(|nanos| Nanos(nanos).as_micros_f64())
        };
        let beyond = match point {
            LatencyStatistic::Quantile(share) => Some(samples_beyond(kept.count(), share)),
            LatencyStatistic::Max => None,
        };
        Ok(match (beyond, read(kept), read(whole)) {
            (Some(beyond), ..) if beyond < needed => MetricFigure::Withheld { beyond, needed },
            (_, Some(value), Some(uncut)) => MetricFigure::Value { value, uncut },
            _ => MetricFigure::Absent,
        })
    }

    /// Returns the result of a search: the highest rate that kept the loss ratio.
    fn search_result(&self, goal: SearchGoal, unit: SearchUnit) -> MetricFigure {
        let Some(search) = &self.trial.search else {
            return MetricFigure::Absent;
        };
        let wanted = |bounds: &&GoalResult| match goal {
            SearchGoal::NoLoss => bounds.loss == 0.0,
            SearchGoal::PartialLoss => bounds.loss > 0.0,
        };
        // If the time was over before any rate kept the loss ratio, the result is unknown.
        let known = |bounds: &&GoalResult| bounds.lower > 0.0 || bounds.converged;
        let Some(bounds) = search.found.iter().find(wanted).filter(known) else {
            return MetricFigure::Absent;
        };
        let value = match unit {
            SearchUnit::Payload => bounds.conditional * search.size as f64 * GIGABITS,
            SearchUnit::Datagrams => bounds.conditional,
        };
        MetricFigure::Value { value, uncut: value }
    }
}

/// Returns a share in per cent. Returns `None` if the whole is 0.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// Returns the number of `count` samples that lie beyond the percentile with this share at or below it.
pub(crate) fn samples_beyond(count: u64, share: f64) -> u64 {
    // 1 − share is not exact in binary: of 1,000 samples 99.99… lie beyond the 90th percentile.
    const ROUNDING: f64 = 1e-6;
    (count as f64 * (1.0 - share) + ROUNDING) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::estimate;
    use crate::test_data::{trial, workload};
    use tare_record::{
        CounterScope, CpuUse, DatagramCounts, HardwareCounters, HardwareSample, MachineSample,
        RateSearch,
    };

    fn value(trial: &Trial, metric: Metric) -> f64 {
        match estimate(trial, &workload("w", &[metric])).unwrap().figures[&metric] {
            MetricFigure::Value { value, .. } => value,
            other => panic!("{metric}: {other:?}"),
        }
    }

    #[test]
    fn a_hundred_samples_beyond_are_enough_to_the_sample() {
        for (share, count) in
            [(0.5, 200), (0.9, 1_000), (0.95, 2_000), (0.99, 10_000), (0.999, 100_000)]
        {
            assert_eq!(samples_beyond(count, share), 100, "{share}");
            assert_eq!(samples_beyond(count - 1, share), 99, "{share}");
        }
    }

    #[test]
    fn what_became_of_datagrams_is_read_off_the_steady_part() {
        let mut trial = trial("bridge", 0, &[12_500; 10]);
        for (index, interval) in trial.series[0].intervals.iter_mut().enumerate() {
            // The first interval, which is cut, lost half of its datagrams.
            let received = if index == 0 { 50 } else { 99 };
            interval.datagrams = Some(DatagramCounts {
                sent: 100,
                sent_bytes: 12_500,
                received,
                duplicates: 2,
                reordered: 1,
                jitter: Nanos(3_000),
            });
        }
        assert!((value(&trial, Metric::Loss) - 1.0).abs() < 1e-9);
        assert!((value(&trial, Metric::Packets) - 990.0).abs() < 1e-9);
        assert!((value(&trial, Metric::Offered) - 0.001).abs() < 1e-12);
        assert!((value(&trial, Metric::Duplicates) - 200.0 / 99.0).abs() < 1e-9);
        assert!((value(&trial, Metric::Reordered) - 100.0 / 99.0).abs() < 1e-9);
        assert!((value(&trial, Metric::Jitter) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn cpu_is_that_of_the_steady_part() {
        // Ten intervals of 100 ms with 0.1 GB each; one core is busy except in the first interval, another is idle.
        let mut trial = trial("bridge", 0, &[100_000_000; 10]);
        let sample = |at: u64, busy: u64, idle: u64| MachineSample {
            at: Nanos(at * 1_000_000),
            cores: vec![
                CpuUse {
                    system: Nanos(busy * 1_000_000),
                    idle: Nanos(idle * 1_000_000),
                    ..CpuUse::default()
                },
                CpuUse { idle: Nanos(at * 1_000_000), ..CpuUse::default() },
            ],
        };
        trial.meanwhile.samples =
            vec![sample(0, 0, 0), sample(100, 0, 100), sample(1100, 1000, 100)];
        assert!((value(&trial, Metric::CpuPerGb) - 1.0).abs() < 1e-9);
        assert!((value(&trial, Metric::CpuBusy) - 50.0).abs() < 1e-9);
        // A second of CPU time over ten thousand operations is 100 µs each.
        for interval in &mut trial.series[0].intervals {
            interval.operations = 1_000;
        }
        assert!((value(&trial, Metric::CpuPerOp) - 100.0).abs() < 1e-6);
        trial.meanwhile.samples.clear();
        let found = estimate(&trial, &workload("w", &[Metric::CpuPerGb])).unwrap();
        assert_eq!(found.figures[&Metric::CpuPerGb], MetricFigure::Absent);
    }

    #[test]
    fn the_core_with_most_softirqs_is_that_of_the_steady_part() {
        // The first interval of 100 ms, which is cut, has its softirqs on the first core, the others on the second.
        let mut trial = trial("bridge", 0, &[1_000; 10]);
        let sample = |at: u64, softirqs: [u64; 2]| MachineSample {
            at: Nanos(at * 1_000_000),
            cores: softirqs
                .map(|softirq| CpuUse {
                    softirq: Nanos(softirq * 1_000_000),
                    idle: Nanos((at - softirq) * 1_000_000),
                    ..CpuUse::default()
                })
                .to_vec(),
        };
        trial.meanwhile.samples =
            vec![sample(0, [0, 0]), sample(100, [100, 0]), sample(1000, [190, 810])];
        let found = estimate(&trial, &workload("w", &[Metric::SoftirqCore])).unwrap();
        let MetricFigure::Value { value, uncut } = found.figures[&Metric::SoftirqCore] else {
            panic!()
        };
        assert!((value - 90.0).abs() < 1e-9 && (uncut - 81.0).abs() < 1e-9, "{value} {uncut}");
        trial.meanwhile.samples.clear();
        let found = estimate(&trial, &workload("w", &[Metric::SoftirqCore])).unwrap();
        assert_eq!(found.figures[&Metric::SoftirqCore], MetricFigure::Absent);
    }

    #[test]
    fn what_is_executed_is_that_of_the_steady_part() {
        // Ten intervals of 100 ms, of which the first is cut; one core executes nothing after it, the other does.
        let mut trial = trial("bridge", 0, &[1_000; 10]);
        for interval in &mut trial.series[0].intervals {
            interval.operations = 10;
            interval.datagrams = Some(DatagramCounts { received: 5, ..DatagramCounts::default() });
        }
        let work = |cycles, instructions| HardwareEventCounts { cycles, instructions };
        let sample = |at: u64, executed| HardwareSample { at: Nanos(at * 1_000_000), executed };
        trial.meanwhile.hardware = Some(HardwareCounters {
            counted: CounterScope::Machine,
            running: 1.0,
            samples: vec![
                sample(0, vec![work(0, 0), work(0, 0)]),
                sample(100, vec![work(777, 777), work(0, 0)]),
                sample(1000, vec![work(777, 777), work(9_000, 4_500)]),
            ],
        });
        for (metric, expected) in [
            (Metric::CyclesPerByte, 1.0),
            (Metric::InstructionsPerByte, 0.5),
            (Metric::CyclesPerOp, 100.0),
            (Metric::InstructionsPerOp, 50.0),
            (Metric::CyclesPerPacket, 200.0),
            (Metric::InstructionsPerPacket, 100.0),
        ] {
            assert!((value(&trial, metric) - expected).abs() < 1e-9, "{metric}");
        }
        trial.meanwhile.hardware = None;
        let found = estimate(&trial, &workload("w", &[Metric::CyclesPerByte])).unwrap();
        assert_eq!(found.figures[&Metric::CyclesPerByte], MetricFigure::Absent);
    }

    #[test]
    fn a_searchs_figures_are_what_it_found() {
        let mut trial = trial("bridge", 0, &[]);
        let bounds = |loss, conditional| GoalResult {
            loss,
            lower: conditional,
            upper: None,
            conditional,
            converged: true,
        };
        let found = vec![bounds(0.0, 1000.0), bounds(0.005, 2000.0)];
        trial.search = Some(RateSearch { size: 125, probes: Vec::new(), found });
        assert!((value(&trial, Metric::Ndr) - 0.001).abs() < 1e-12);
        assert!((value(&trial, Metric::NdrPackets) - 1000.0).abs() < 1e-9);
        assert!((value(&trial, Metric::PdrPackets) - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn a_search_whose_time_was_over_before_it_found_anything_has_no_figure() {
        let mut trial = trial("bridge", 0, &[]);
        let bounds = |converged| GoalResult {
            loss: 0.0,
            lower: 0.0,
            upper: Some(9.0),
            conditional: 0.0,
            converged,
        };
        let mut search = |found| {
            trial.search = Some(RateSearch { size: 125, probes: Vec::new(), found: vec![found] });
            estimate(&trial, &workload("w", &[Metric::Ndr])).unwrap().figures[&Metric::Ndr]
        };
        assert_eq!(search(bounds(false)), MetricFigure::Absent);
        let nothing_keeps_it = MetricFigure::Value { value: 0.0, uncut: 0.0 };
        assert_eq!(search(bounds(true)), nothing_keeps_it);
    }
}
