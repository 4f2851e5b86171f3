//! Estimates during a run, for display: the last trial as a sparkline, and the estimate of its network, which tightens
//! block by block.
//!
//! The estimates decide nothing: the number of blocks is fixed before the main phase.

use std::collections::BTreeMap;
use tare_analysis::{MetricFigure, estimate};
use tare_record::{ComparedBy, Metric, Phase, Plan, Trial, WorkloadPlan};
use tare_stats::PairedRatio;
use tare_stats::describe::mean_interval;

/// Sparkline characters in eighths of a line, the lowest first.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Largest width of a sparkline, columns.
const COLUMNS: usize = 32;

/// Network label, workload index and shape index of a group of trials.
type EstimateKey = (String, usize, usize);

/// Figures of all trials so far.
pub(super) struct LiveEstimates {
    plan: Plan,
    /// Block number and figure of each trial.
    figures: BTreeMap<EstimateKey, Vec<(u32, f64)>>,
}

impl LiveEstimates {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), figures: BTreeMap::new() }
    }

    /// Returns a line on a trial that was just measured.
    pub(super) fn trial_line(&mut self, trial: &Trial) -> String {
        let row = sparkline(&rates(trial));
        let told = self.estimate(trial).unwrap_or_default();
        format!("{} {} {row} {told}", trial.workload, trial.label).trim_end().to_owned()
    }

    /// Returns the figure of the trial and the estimate over all blocks, or `None` if the trial gave no figure.
    fn estimate(&mut self, trial: &Trial) -> Option<String> {
        let workload =
            WorkloadPlan::find(&self.plan.workloads, &trial.workload, &trial.parameters)?;
        let shape = self.plan.shapes.iter().position(|shape| *shape == trial.shape)?;
        let plan = &self.plan.workloads[workload];
        let metric = *plan.metrics.first()?;
        let Some(MetricFigure::Value { value, .. }) =
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
        Some(match self.estimate_so_far(&key, metric) {
            Some(so_far) => format!("{now} · {so_far}"),
            None => now,
        })
    }

    /// Returns the ratio to the baseline, or the mean if there is none, with the half width of its 95 % confidence
    /// interval.
    fn estimate_so_far(&self, key: &EstimateKey, metric: Metric) -> Option<String> {
        let (label, workload, shape) = key;
        let own = self.figures.get(key)?;
        let base = (self.plan.baseline.clone(), *workload, *shape);
        if *label != base.0
            && metric.compared_by() == ComparedBy::Ratio
            && let Some(base) = self.figures.get(&base)
        {
            let pairs: Vec<(f64, f64)> = own
                .iter()
                .filter_map(|(block, value)| {
                    let beside = base.iter().find(|(other, _)| other == block)?;
                    Some((*value, beside.1))
                })
                .collect();
            let ratio = PairedRatio::from_pairs(&pairs)?;
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

/// Returns the operations completed by all clients in each interval, or the bytes received if there are no operations.
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

/// Draws values as a sparkline that starts at 0 and ends at the largest value. Neighbours are averaged if there are too
/// many values.
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
        AgentsCpu, BlockPolicy, CorrectionFamily, EndCounts, HostActivity, Interval, Nanos,
        NetworkEntry, Parameters, Series, Shape, WarmUpPolicy,
    };

    fn plan() -> Plan {
        let entry = |name: &str| NetworkEntry { label: name.to_owned(), network: name.to_owned() };
        Plan {
            study: "live".to_owned(),
            seed: 1,
            networks: vec![entry("host"), entry("bridge")],
            stands_for: Default::default(),
            baseline: "host".to_owned(),
            workloads: vec![WorkloadPlan {
                name: "tcp-stream".to_owned(),
                slices: None,
                stands_for: None,
                parameters: Parameters::new(),
                duration: Nanos(1_000_000_000),
                interval: Nanos(100_000_000),
                warm_up: WarmUpPolicy::Auto,
                metrics: vec![Metric::Throughput],
            }],
            raising: Vec::new(),
            shapes: vec![Shape::default()],
            margins: BTreeMap::new(),
            family: CorrectionFamily::Metric,
            blocks: BlockPolicy::Fixed { blocks: 3 },
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
            series: vec![Series::new(0, intervals)],
            ends: EndCounts::default(),
            agents: AgentsCpu::default(),
            search: None,
            slices: None,
            hops: Vec::new(),
            findings: Vec::new(),
            meanwhile: HostActivity::default(),
        }
    }

    #[test]
    fn a_trial_is_a_row_of_blocks_and_an_estimate_tightens() {
        let mut live = LiveEstimates::new(&plan());
        let even = |megabytes: u64| vec![megabytes * 1_000_000; 10];
        let pilot = live.trial_line(&trial("host", 0, Phase::Pilot, &even(125)));
        assert_eq!(pilot, "tcp-stream host ██████████ 10.00 Gbit/s");
        for (block, (host, bridge)) in (0..).zip([(125, 100), (120, 98), (130, 102)]) {
            live.trial_line(&trial("host", block, Phase::Main, &even(host)));
            let line = live.trial_line(&trial("bridge", block, Phase::Main, &even(bridge)));
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
