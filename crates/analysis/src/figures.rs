//! A trial's figure of every metric: over its steady part, and over the whole of it.

use crate::estimate::Figure;
use crate::machine::{busy, executed};
use crate::traffic::{Count, Traffic};
use std::collections::BTreeMap;
use std::ops::Range;
use tare_record::{
    Bounds, Executed, HistogramError, Latency, LatencyHistogram, Metric, Nanos, Point, Trial,
};

/// The fewest samples beyond a percentile for which it is given.
pub(crate) const FEWEST_BEYOND: u64 = 100;

/// Bits of a byte in units of 10⁹.
const GIGABITS: f64 = 8.0 / 1e9;

/// The figures of one trial whose first `cut` intervals are its warm-up, or of some of its traffic.
pub(crate) fn figures(
    trial: &Trial,
    traffic: &Traffic<'_>,
    metrics: &[Metric],
    cut: usize,
) -> Result<BTreeMap<Metric, Figure>, HistogramError> {
    let mut figures = Figures {
        trial,
        traffic,
        kept: cut..traffic.len(),
        whole: 0..traffic.len(),
        latencies: Vec::new(),
    };
    metrics.iter().map(|&metric| Ok((metric, figures.of(metric)?))).collect()
}

/// The latencies of the steady part and of the whole.
type Merged = (LatencyHistogram, LatencyHistogram);

struct Figures<'a> {
    trial: &'a Trial,
    traffic: &'a Traffic<'a>,
    kept: Range<usize>,
    whole: Range<usize>,
    /// Merged once for all the metrics that are read off them; nothing where none were kept.
    latencies: Vec<(Latency, Option<Merged>)>,
}

impl Figures<'_> {
    fn of(&mut self, metric: Metric) -> Result<Figure, HistogramError> {
        // What a tool stated is its figure of the whole trial: nothing of it can be cut.
        if let Some(value) = self.traffic.stated(metric) {
            return Ok(Figure::Value { value, uncut: value });
        }
        if let Some((which, point)) = metric.latency() {
            return self.latency(which, point);
        }
        Ok(match metric {
            Metric::Throughput => self.rate(Count::Bytes, GIGABITS),
            Metric::Offered => self.rate(Count::Offered, GIGABITS),
            Metric::Packets => self.rate(Count::Received, 1.0),
            Metric::Transactions | Metric::Tps | Metric::Connections => {
                self.rate(Count::Operations, 1.0)
            }
            Metric::Retransmits => self.rate(Count::Retransmits, 1.0),
            Metric::Loss => self.both(|over| {
                let sent = self.traffic.sum(over.clone(), Count::Sent);
                let received = self.traffic.sum(over, Count::Received);
                percent(sent.saturating_sub(received), sent)
            }),
            Metric::Reordered => self.share_of_received(Count::Reordered),
            Metric::Duplicates => self.share_of_received(Count::Duplicates),
            Metric::Jitter => self.both(|over| self.traffic.jitter(over)),
            Metric::Ndr | Metric::NdrPackets | Metric::Pdr | Metric::PdrPackets => {
                self.found(metric)
            }
            Metric::CpuPerGb => self.cpu_per(Count::Bytes, 1e9),
            Metric::CpuPerOp => self.cpu_per(Count::Operations, 1e6),
            Metric::CyclesPerPacket => self.executed_per(Count::Received, |work| work.cycles),
            Metric::CyclesPerByte => self.executed_per(Count::Bytes, |work| work.cycles),
            Metric::CyclesPerOp => self.executed_per(Count::Operations, |work| work.cycles),
            Metric::InstructionsPerPacket => {
                self.executed_per(Count::Received, |work| work.instructions)
            }
            Metric::InstructionsPerByte => {
                self.executed_per(Count::Bytes, |work| work.instructions)
            }
            Metric::InstructionsPerOp => {
                self.executed_per(Count::Operations, |work| work.instructions)
            }
            Metric::CpuBusy => self.both(|over| {
                let (busy, all) = busy(&self.trial.meanwhile.samples, self.traffic.span(over)?)?;
                (all > 0.0).then(|| 100.0 * busy / all)
            }),
            // Every other metric is a latency, or what only a tool states.
            _ => Figure::Absent,
        })
    }

    /// A figure over the steady part and over the whole, where both have one.
    fn both(&self, figure: impl Fn(Range<usize>) -> Option<f64>) -> Figure {
        if self.kept.is_empty() {
            return Figure::Absent;
        }
        match (figure(self.kept.clone()), figure(self.whole.clone())) {
            (Some(value), Some(uncut)) => Figure::Value { value, uncut },
            _ => Figure::Absent,
        }
    }

    /// A rate in a unit that is `unit` times as many per second.
    fn rate(&self, count: Count, unit: f64) -> Figure {
        self.both(|over| Some(self.traffic.rate(over, count) * unit))
    }

    fn share_of_received(&self, count: Count) -> Figure {
        self.both(|over| {
            let received = self.traffic.sum(over.clone(), Count::Received);
            percent(self.traffic.sum(over, count), received)
        })
    }

    /// CPU seconds of the whole machine for so many (`each`) that were counted.
    fn cpu_per(&self, count: Count, each: f64) -> Figure {
        self.both(|over| {
            let (busy, _) = busy(&self.trial.meanwhile.samples, self.traffic.span(over.clone())?)?;
            let counted = self.traffic.sum(over, count);
            (counted > 0).then(|| busy / counted as f64 * each)
        })
    }

    /// What hardware counters counted, for each of what was counted; nothing where they were not there.
    fn executed_per(&self, count: Count, kind: fn(&Executed) -> u64) -> Figure {
        let Some(hardware) = &self.trial.meanwhile.hardware else {
            return Figure::Absent;
        };
        self.both(|over| {
            let executed = executed(hardware, self.traffic.span(over.clone())?, kind)?;
            let counted = self.traffic.sum(over, count);
            (counted > 0).then(|| executed / counted as f64)
        })
    }

    /// All latencies of a kind.
    fn merged(&mut self, which: Latency) -> Result<Option<&Merged>, HistogramError> {
        let known = self.latencies.iter().position(|(kind, _)| *kind == which);
        let at = match known {
            Some(at) => at,
            None => {
                let kept = self.traffic.latencies(self.kept.clone(), which)?;
                let whole = self.traffic.latencies(self.whole.clone(), which)?;
                self.latencies.push((which, kept.zip(whole)));
                self.latencies.len() - 1
            }
        };
        Ok(self.latencies[at].1.as_ref())
    }

    /// A latency, µs.
    fn latency(&mut self, which: Latency, point: Point) -> Result<Figure, HistogramError> {
        if self.kept.is_empty() {
            return Ok(Figure::Absent);
        }
        // Where none was kept there is no such latency; where all that were kept are empty, there is too little.
        let Some((kept, whole)) = self.merged(which)? else {
            return Ok(Figure::Absent);
        };
        let read = |histogram: &LatencyHistogram| {
            let nanos = match point {
                Point::Quantile(share) => histogram.quantile(share),
                Point::Max => histogram.max(),
            };
            nanos.map(|nanos| Nanos(nanos).as_micros_f64())
        };
        let beyond = match point {
            Point::Quantile(share) => Some(samples_beyond(kept.count(), share)),
            Point::Max => None,
        };
        Ok(match (beyond, read(kept), read(whole)) {
            (Some(beyond), ..) if beyond < FEWEST_BEYOND => Figure::Withheld { beyond },
            (_, Some(value), Some(uncut)) => Figure::Value { value, uncut },
            _ => Figure::Absent,
        })
    }

    /// What a search found: the highest rate that kept the loss ratio.
    fn found(&self, metric: Metric) -> Figure {
        let Some(search) = &self.trial.search else {
            return Figure::Absent;
        };
        let wanted = |bounds: &&Bounds| match metric {
            Metric::Ndr | Metric::NdrPackets => bounds.loss == 0.0,
            _ => bounds.loss > 0.0,
        };
        // What kept it nobody knows where the time was over before anything did.
        let known = |bounds: &&Bounds| bounds.lower > 0.0 || bounds.converged;
        let Some(bounds) = search.found.iter().find(wanted).filter(known) else {
            return Figure::Absent;
        };
        let value = match metric {
            Metric::Ndr | Metric::Pdr => bounds.conditional * search.size as f64 * GIGABITS,
            _ => bounds.conditional,
        };
        Figure::Value { value, uncut: value }
    }
}

/// A share in per cent; nothing of nothing.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// How many of `count` samples lie beyond the percentile with this share at or below it.
fn samples_beyond(count: u64, share: f64) -> u64 {
    // 1 − share is not exact in binary: of 1,000 samples 99.99… lie beyond the 90th percentile.
    const ROUNDING: f64 = 1e-6;
    (count as f64 * (1.0 - share) + ROUNDING) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::estimate;
    use crate::made_up::{trial, workload};
    use tare_record::{
        Counting, CpuUse, Datagrams, Hardware, HardwareSample, MachineSample, Search,
    };

    fn value(trial: &Trial, metric: Metric) -> f64 {
        match estimate(trial, &workload("w", &[metric])).unwrap().figures[&metric] {
            Figure::Value { value, .. } => value,
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
            // The first interval, which is cut, lost half of them.
            let received = if index == 0 { 50 } else { 99 };
            interval.datagrams = Some(Datagrams {
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
        // Ten intervals of 100 ms, 0.1 GB each; a core that is busy but for the first of them, another that idles.
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
        assert_eq!(found.figures[&Metric::CpuPerGb], Figure::Absent);
    }

    #[test]
    fn what_is_executed_is_that_of_the_steady_part() {
        // Ten intervals of 100 ms, of which the first is cut; a core that executes nothing after it, and one that does.
        let mut trial = trial("bridge", 0, &[1_000; 10]);
        for interval in &mut trial.series[0].intervals {
            interval.operations = 10;
            interval.datagrams = Some(Datagrams { received: 5, ..Datagrams::default() });
        }
        let work = |cycles, instructions| Executed { cycles, instructions };
        let sample = |at: u64, executed| HardwareSample { at: Nanos(at * 1_000_000), executed };
        trial.meanwhile.hardware = Some(Hardware {
            counted: Counting::Machine,
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
        assert_eq!(found.figures[&Metric::CyclesPerByte], Figure::Absent);
    }

    #[test]
    fn a_searchs_figures_are_what_it_found() {
        let mut trial = trial("bridge", 0, &[]);
        let bounds = |loss, conditional| Bounds {
            loss,
            lower: conditional,
            upper: None,
            conditional,
            converged: true,
        };
        let found = vec![bounds(0.0, 1000.0), bounds(0.005, 2000.0)];
        trial.search = Some(Search { size: 125, probes: Vec::new(), found });
        assert!((value(&trial, Metric::Ndr) - 0.001).abs() < 1e-12);
        assert!((value(&trial, Metric::NdrPackets) - 1000.0).abs() < 1e-9);
        assert!((value(&trial, Metric::PdrPackets) - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn a_search_whose_time_was_over_before_it_found_anything_has_no_figure() {
        let mut trial = trial("bridge", 0, &[]);
        let bounds = |converged| Bounds {
            loss: 0.0,
            lower: 0.0,
            upper: Some(9.0),
            conditional: 0.0,
            converged,
        };
        let mut search = |found| {
            trial.search = Some(Search { size: 125, probes: Vec::new(), found: vec![found] });
            estimate(&trial, &workload("w", &[Metric::Ndr])).unwrap().figures[&Metric::Ndr]
        };
        assert_eq!(search(bounds(false)), Figure::Absent);
        let nothing_keeps_it = Figure::Value { value: 0.0, uncut: 0.0 };
        assert_eq!(search(bounds(true)), nothing_keeps_it);
    }
}
