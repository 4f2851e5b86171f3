//! What is known so far, for who watches a run: the last trial as a row of blocks, and its network's estimate, which
//! tightens block by block.
//!
//! It is for watching alone. Nothing is decided by it: the number of blocks is fixed before the main phase.

use std::collections::BTreeMap;
use tare_analysis::{Figure, estimate};
use tare_record::{Beside, Metric, Phase, Plan, Trial, WorkloadPlan};
use tare_stats::PairedRatio;
use tare_stats::describe::mean_interval;

/// Eighths of a line, the lowest first.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The widest row of blocks, columns.
const COLUMNS: usize = 32;

/// The trials of one network under one workload in one shape.
type Key = (String, usize, usize);

/// The figures so far.
pub(super) struct Live {
    plan: Plan,
    /// By block.
    figures: BTreeMap<Key, Vec<(u32, f64)>>,
}

impl Live {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), figures: BTreeMap::new() }
    }

    /// A line on a trial that was just measured.
    pub(super) fn line(&mut self, trial: &Trial) -> String {
        let row = sparkline(&rates(trial));
        let told = self.estimate(trial).unwrap_or_default();
        format!("{} {} {row} {told}", trial.workload, trial.label).trim_end().to_owned()
    }

    /// The figure of the trial, and the estimate over all blocks; nothing where it gave none.
    fn estimate(&mut self, trial: &Trial) -> Option<String> {
        let workload =
            WorkloadPlan::find(&self.plan.workloads, &trial.workload, &trial.parameters)?;
        let shape = self.plan.shapes.iter().position(|shape| *shape == trial.shape)?;
        let plan = &self.plan.workloads[workload];
        let metric = *plan.metrics.first()?;
        let Some(Figure::Value { value, .. }) =
            estimate(trial, plan).ok()?.figures.get(&metric).copied()
        else {
            return None;
        };
        let now = format!("{} {}", four_digits(value), metric.unit());
        if trial.phase == Phase::Pilot {
            return Some(now);
        }
        let key = (trial.label.clone(), workload, shape);
        self.figures.entry(key.clone()).or_default().push((trial.block, value));
        Some(match self.so_far(&key, metric) {
            Some(so_far) => format!("{now} · {so_far}"),
            None => now,
        })
    }

    /// The ratio to the baseline, or the mean where there is none, with the half width of its 95 % interval.
    fn so_far(&self, key: &Key, metric: Metric) -> Option<String> {
        let (label, workload, shape) = key;
        let own = self.figures.get(key)?;
        let base = (self.plan.baseline.clone(), *workload, *shape);
        if *label != base.0
            && metric.beside() == Beside::Ratio
            && let Some(base) = self.figures.get(&base)
        {
            let pairs: Vec<(f64, f64)> = own
                .iter()
                .filter_map(|(block, value)| {
                    let beside = base.iter().find(|(other, _)| other == block)?;
                    Some((*value, beside.1))
                })
                .collect();
            let ratio = PairedRatio::of(&pairs)?;
            let half = (ratio.ci95[1] - ratio.ci95[0]) / 2.0 / ratio.value;
            return Some(format!(
                "{:.2}× {} ± {:.1} %",
                ratio.value,
                self.plan.baseline,
                half * 100.0
            ));
        }
        let values: Vec<f64> = own.iter().map(|(_, value)| *value).collect();
        let [low, high] = mean_interval(&values, 0.95)?;
        let mean = (low + high) / 2.0;
        (mean > 0.0).then(|| {
            format!("mean {} ± {:.1} %", four_digits(mean), (high - low) / 2.0 / mean * 100.0)
        })
    }
}

/// What all clients completed or received in each interval.
fn rates(trial: &Trial) -> Vec<f64> {
    let intervals = trial.series.iter().map(|series| series.intervals.len()).min().unwrap_or(0);
    let sum = |of: fn(&tare_record::Interval) -> u64| -> Vec<f64> {
        let at =
            |at: usize| trial.series.iter().map(|series| of(&series.intervals[at])).sum::<u64>();
        (0..intervals).map(|n| at(n) as f64).collect()
    };
    let operations = sum(|interval| interval.operations);
    if operations.iter().any(|count| *count > 0.0) {
        operations
    } else {
        sum(|interval| interval.bytes)
    }
}

/// Values as blocks from nought, the largest as high as a line; neighbours are averaged where there are many.
fn sparkline(values: &[f64]) -> String {
    let together = values.len().div_ceil(COLUMNS).max(1);
    let means: Vec<f64> = values
        .chunks(together)
        .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let block = |value: &f64| {
        let eighths = if most > 0.0 { (value / most * 8.0).ceil() as usize } else { 0 };
        EIGHTHS[eighths.saturating_sub(1).min(EIGHTHS.len() - 1)]
    };
    means.iter().map(block).collect()
}

fn four_digits(value: f64) -> String {
    let places = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::{
        AgentsCpu, Blocks, Ends, Entry, FamilyScope, Interval, Meanwhile, Nanos, Parameters,
        Series, Shape, WarmUp,
    };

    fn plan() -> Plan {
        let entry = |name: &str| Entry { label: name.to_owned(), network: name.to_owned() };
        Plan {
            study: "live".to_owned(),
            seed: 1,
            networks: vec![entry("host"), entry("bridge")],
            stands_for: Default::default(),
            baseline: "host".to_owned(),
            workloads: vec![WorkloadPlan {
                name: "tcp-stream".to_owned(),
                stands_for: None,
                parameters: Parameters::new(),
                duration: Nanos(1_000_000_000),
                interval: Nanos(100_000_000),
                warm_up: WarmUp::Auto,
                metrics: vec![Metric::Throughput],
            }],
            raising: Vec::new(),
            shapes: vec![Shape::default()],
            margins: BTreeMap::new(),
            family: FamilyScope::Metric,
            blocks: Blocks::Fixed { blocks: 3 },
            budget: None,
            skipped: Vec::new(),
            refused: Vec::new(),
            ablations: Vec::new(),
            parts: Vec::new(),
            findings: Vec::new(),
            publication: None,
        }
    }

    fn trial(label: &str, block: u32, phase: Phase, bytes: &[u64]) -> Trial {
        let interval = |(at, bytes): (u64, &u64)| Interval {
            start: Nanos(at * 100_000_000),
            length: Nanos(100_000_000),
            bytes: *bytes,
            ..Interval::default()
        };
        let intervals = (0..).zip(bytes).map(interval).collect();
        Trial {
            block,
            phase,
            position: 0,
            label: label.to_owned(),
            network: label.to_owned(),
            workload: "tcp-stream".to_owned(),
            shape: Shape::default(),
            parameters: Parameters::new(),
            began: Nanos(0),
            took: Nanos(0),
            series: vec![Series::of(0, intervals)],
            ends: Ends::default(),
            agents: AgentsCpu::default(),
            search: None,
            hops: Vec::new(),
            findings: Vec::new(),
            meanwhile: Meanwhile::default(),
        }
    }

    #[test]
    fn a_trial_is_a_row_of_blocks_and_an_estimate_tightens() {
        let mut live = Live::new(&plan());
        let even = |megabytes: u64| vec![megabytes * 1_000_000; 10];
        let pilot = live.line(&trial("host", 0, Phase::Pilot, &even(125)));
        assert_eq!(pilot, "tcp-stream host ██████████ 10.00 Gbit/s");
        for (block, (host, bridge)) in (0..).zip([(125, 100), (120, 98), (130, 102)]) {
            live.line(&trial("host", block, Phase::Main, &even(host)));
            let line = live.line(&trial("bridge", block, Phase::Main, &even(bridge)));
            let half =
                |line: &str| line.rsplit("± ").next().unwrap().replace(" %", "").parse::<f64>();
            match block {
                0 => assert_eq!(line, "tcp-stream bridge ██████████ 8.000 Gbit/s"),
                1 => {
                    assert!(line.contains("0.81× host ± ") && half(&line).unwrap() > 5.0, "{line}");
                }
                _ => assert!(half(&line).unwrap() <= 5.0, "{line}"),
            }
        }
    }

    #[test]
    fn a_slow_start_is_seen() {
        let mut bytes = [80u64; 64];
        bytes[..8].fill(10);
        assert_eq!(
            sparkline(&bytes.map(|b| b as f64)),
            format!("{}{}", "▁".repeat(4), "█".repeat(28))
        );
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
