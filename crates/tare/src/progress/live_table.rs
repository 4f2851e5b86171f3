//! Model of the table that is displayed during a run: a row for each network, a column for the main metric of each
//! workload, from the trials so far.
//!
//! The table decides nothing: the number of blocks is fixed before the main phase, or by a rule over all of whose
//! analyses the intervals hold.

use super::sparkline::trial_sparkline;
use std::collections::BTreeSet;
use tare_analysis::{InterimCell, InterimComparison, MetricFigure};
use tare_record::{
    ComparedBy, InterimAnalysis, Metric, NetworkEntry, NetworkFailure, Plan, RemainingPlan, Shape,
    Trial, Verdict, WorkloadPlan,
};

/// Table of a run so far.
pub(super) struct LiveTable {
    comparison: InterimComparison,
    standing: RemainingPlan,
    /// False if the machine is emulated: its figures are shown, and no network is compared.
    compares: bool,
    /// Index of the shape that is being measured.
    shape: usize,
    /// Index of the workload that is being measured.
    workload: Option<usize>,
    /// Indices of the networks that are being measured: one, or all that are woven.
    measured: BTreeSet<usize>,
    last_trial: String,
    /// Columns of the trials so far. `None` after a change, because a table that is not displayed is not computed.
    columns: Option<Vec<LiveColumn>>,
}

/// Column of a workload's main metric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LiveColumn {
    /// Index of the workload.
    pub(super) workload: usize,
    /// Name of the workload, with the parameters that distinguish it.
    pub(super) title: String,
    /// Metric and unit.
    pub(super) metric: String,
    /// Cell of each network, in the order of the plan.
    pub(super) cells: Vec<LiveCell>,
}

/// Cell of a network and a workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LiveCell {
    /// The plan does not measure the workload over the network.
    Unplanned,
    /// There is no figure yet.
    Pending,
    /// The network or the workload broke.
    Failed,
    /// Figure with the half width of its 95 % interval, and what follows from it.
    Figure(String, Option<CellMark>),
}

/// Word beside a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellMark {
    /// The figure is the baseline's own.
    Baseline,
    /// Verdict so far.
    Verdict(Verdict),
}

impl LiveTable {
    /// Creates the empty table of a plan.
    pub(super) fn new(plan: &Plan, compares: bool) -> Self {
        Self {
            comparison: InterimComparison::new(plan.clone()),
            standing: RemainingPlan::after_failures(plan, &[]),
            compares,
            shape: 0,
            workload: None,
            measured: BTreeSet::new(),
            last_trial: String::new(),
            columns: None,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        self.comparison.plan()
    }

    /// Marks the network and the workload of a trial that begins. Networks that are woven are measured together, so the
    /// marks of those before it stay.
    pub(super) fn start_trial(
        &mut self,
        entry: &NetworkEntry,
        workload: &WorkloadPlan,
        shape: &Shape,
    ) {
        let plan = self.comparison.plan();
        let network = plan.networks.iter().position(|one| one == entry);
        let index = plan.workloads.iter().position(|one| one == workload);
        let at = plan.shapes.iter().position(|one| one == shape).unwrap_or(self.shape);
        let is_together = workload.slices.is_some() && (self.workload, self.shape) == (index, at);
        if !is_together {
            self.measured.clear();
        }
        self.measured.extend(network);
        self.workload = index;
        if self.shape != at {
            self.shape = at;
            self.columns = None;
        }
    }

    /// Removes the marks: nothing is being measured.
    pub(super) fn clear_marks(&mut self) {
        self.measured.clear();
        self.workload = None;
    }

    /// Adds a trial.
    pub(super) fn add_trial(&mut self, trial: &Trial) {
        let metric =
            self.comparison.plan().locate_trial(trial).and_then(|(_, workload, _)| {
                main_metric(&self.comparison.plan().workloads[workload])
            });
        // A trial that cannot be estimated fails the run where its results are computed.
        let figures = self.comparison.add(trial).ok().flatten();
        let figure = metric.and_then(|metric| match figures?.get(&metric)? {
            MetricFigure::Value { value, .. } => {
                Some(format!("{} {}", four_digits(*value), metric.unit()))
            }
            MetricFigure::Withheld { .. } | MetricFigure::Absent => None,
        });
        let (line, figure) = (trial_sparkline(trial), figure.unwrap_or_default());
        self.last_trial = format!("{} over {} {line} {figure}", trial.workload, trial.label);
        self.columns = None;
    }

    /// Adds an interim analysis, which may have decided networks.
    pub(super) fn add_analysis(&mut self, analysis: &InterimAnalysis) {
        self.comparison.add_analysis(analysis.clone());
        self.columns = None;
    }

    /// Returns true if a network is decided in the shape that is being measured, by its index.
    pub(super) fn is_decided(&self, network: usize) -> bool {
        self.comparison.is_decided(network, self.shape)
    }

    /// Marks what a failure leaves out of the rest of the run.
    pub(super) fn add_failure(&mut self, failure: &NetworkFailure) {
        self.standing.remove_failed(self.comparison.plan(), failure);
        self.columns = None;
    }

    pub(super) fn shape(&self) -> usize {
        self.shape
    }

    pub(super) fn workload(&self) -> Option<usize> {
        self.workload
    }

    pub(super) fn measured(&self) -> &BTreeSet<usize> {
        &self.measured
    }

    /// Returns a line on the last trial; empty before the first.
    pub(super) fn last_trial(&self) -> &str {
        self.last_trial.trim_end()
    }

    /// Returns the index of the baseline.
    pub(super) fn baseline(&self) -> Option<usize> {
        let plan = self.comparison.plan();
        plan.networks.iter().position(|entry| entry.label == plan.baseline)
    }

    /// Computes the columns of the shape that is being measured. Computed again only after a change: with 8 networks,
    /// 3 workloads and 100 blocks this takes about a millisecond of the runner's thread, between trials.
    pub(super) fn columns(&mut self) -> &[LiveColumn] {
        let columns = self.columns.take().unwrap_or_else(|| self.compute_columns());
        self.columns.insert(columns)
    }

    fn compute_columns(&self) -> Vec<LiveColumn> {
        let plan = self.comparison.plan();
        let networks = 0..plan.networks.len();
        let is_planned = |workload: &usize| {
            networks.clone().any(|network| plan.measures(network, *workload, self.shape))
        };
        let column = |workload: usize| {
            let metric = main_metric(&plan.workloads[workload])?;
            Some(LiveColumn {
                workload,
                title: WorkloadPlan::distinct_name(&plan.workloads, workload),
                metric: format!("{metric}, {}", metric.unit()),
                cells: self.cells(workload, metric),
            })
        };
        (0..plan.workloads.len()).filter(is_planned).filter_map(column).collect()
    }

    fn cells(&self, workload: usize, metric: Metric) -> Vec<LiveCell> {
        let cells = self.comparison.cells(self.shape, workload, metric);
        let cell = |(network, cell): (usize, &InterimCell)| {
            if !self.comparison.plan().measures(network, workload, self.shape) {
                return LiveCell::Unplanned;
            }
            if !self.standing.has_trial(network, workload, self.shape) {
                return LiveCell::Failed;
            }
            self.figure_cell(network, cell, metric)
        };
        cells.iter().enumerate().map(cell).collect()
    }

    fn figure_cell(&self, network: usize, cell: &InterimCell, metric: Metric) -> LiveCell {
        let is_baseline = self.baseline() == Some(network);
        if let Some(ratio) = cell.ratio.filter(|_| self.compares) {
            let mark = ratio.decided.map(|(_, verdict)| CellMark::Verdict(verdict));
            let half = ratio.decided.map(|([low, high], _)| (high - low) / 2.0 / ratio.value);
            return LiveCell::Figure(format_ratio(ratio.value, half), mark);
        }
        if let Some(difference) = cell.difference.as_ref().filter(|_| self.compares) {
            let [low, high] = difference.ci95;
            let sign = if difference.value > 0.0 { "+" } else { "" };
            let (value, half) = (four_digits(difference.value), four_digits((high - low) / 2.0));
            return LiveCell::Figure(format!("{sign}{value} ± {half}"), None);
        }
        let mark = (is_baseline && self.compares).then_some(CellMark::Baseline);
        match cell.mean {
            Some(mean) => LiveCell::Figure(format_mean(mean, cell.ci95, metric), mark),
            None => LiveCell::Pending,
        }
    }
}

/// Returns the metric that is displayed: the first, or the loss of a workload whose rate is given, because it carries
/// that rate over every network.
fn main_metric(workload: &WorkloadPlan) -> Option<Metric> {
    let has_rate = workload.parameters.get("rate").is_some_and(|rate| !rate.is_null());
    let loss = workload.metrics.iter().find(|metric| has_rate && **metric == Metric::Loss);
    loss.or(workload.metrics.first()).copied()
}

/// Formats a mean: with a relative half width, or with an absolute one if the metric is often 0.
fn format_mean(mean: f64, interval: Option<[f64; 2]>, metric: Metric) -> String {
    let half = interval.map(|[low, high]| (high - low) / 2.0);
    match half {
        Some(half) if metric.compared_by() == ComparedBy::Difference || mean <= 0.0 => {
            format!("{} ± {}", four_digits(mean), four_digits(half))
        }
        Some(half) => format!("{} ± {}", four_digits(mean), percent(half / mean)),
        None => four_digits(mean),
    }
}

/// Formats a ratio, with its relative half width if there is one.
fn format_ratio(value: f64, half: Option<f64>) -> String {
    match half {
        Some(half) if half < 0.01 => format!("{value:.3}× ± {}", percent(half)),
        Some(half) => format!("{value:.2}× ± {}", percent(half)),
        None => format!("{value:.2}×"),
    }
}

/// Formats a share as a percentage of two digits.
fn percent(share: f64) -> String {
    match share * 100.0 {
        // Two blocks alone may give such an interval.
        percent if !(0.0..999.5).contains(&percent) => ">999 %".to_owned(),
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// Formats a number with four significant digits, or as an integer of more.
fn four_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::super::test_plan::{plan, transactions, trial};
    use super::*;
    use tare_record::{Nanos, Phase, SlicePlan};

    fn figure(table: &mut LiveTable, column: usize, network: usize) -> LiveCell {
        table.columns()[column].cells[network].clone()
    }

    #[test]
    fn intervals_shrink_and_verdicts_appear_as_blocks_come() {
        let mut table = LiveTable::new(&plan(&["host", "bridge"]), true);
        assert_eq!(figure(&mut table, 0, 1), LiveCell::Pending);
        let expected = [
            ("8.000", "0.80×", None),
            ("10.19", "0.81× ± 8.1 %", Some(CellMark::Verdict(Verdict::Slower))),
            ("9.996", "0.80× ± 3.1 %", Some(CellMark::Verdict(Verdict::Slower))),
        ];
        for (block, megabytes) in (0..).zip([(125, 100), (120, 98), (130, 102)]) {
            table.add_trial(&trial("host", block, Phase::Main, megabytes.0));
            table.add_trial(&trial("bridge", block, Phase::Main, megabytes.1));
            let (_, ratio, mark) = expected[block as usize];
            let LiveCell::Figure(text, found) = figure(&mut table, 0, 1) else { panic!() };
            assert!(text.starts_with(ratio) || block > 0, "{text}");
            assert_eq!(found.is_some(), mark.is_some(), "{text}");
        }
        let LiveCell::Figure(text, mark) = figure(&mut table, 0, 0) else { panic!() };
        assert_eq!((text.as_str(), mark), ("10.00 ± 9.9 %", Some(CellMark::Baseline)));
        assert_eq!(table.last_trial(), "tcp-stream over bridge ██████████ 8.160 Gbit/s");
    }

    #[test]
    fn what_broke_is_marked_where_it_broke() {
        let mut table = LiveTable::new(&plan(&["host", "bridge"]), true);
        table.add_failure(&NetworkFailure {
            network: "bridge".to_owned(),
            shape: Some(Shape::default()),
            workload: Some("tcp-rr".to_owned()),
            ..NetworkFailure::default()
        });
        assert_eq!(figure(&mut table, 0, 1), LiveCell::Pending);
        assert_eq!(figure(&mut table, 1, 1), LiveCell::Failed);
        assert_eq!(figure(&mut table, 1, 0), LiveCell::Pending);
    }

    #[test]
    fn woven_networks_are_marked_together_and_others_one_after_another() {
        let mut plan = plan(&["host", "bridge", "veth"]);
        plan.workloads[0].slices =
            Some(SlicePlan { rounds: 9, warm_up: 1, length: Nanos(20_000_000), skip: Nanos(0) });
        let mut table = LiveTable::new(&plan, true);
        let mut measured = |workload: usize, network: usize| {
            table.start_trial(&plan.networks[network], &plan.workloads[workload], &plan.shapes[0]);
            (table.workload(), table.measured().iter().copied().collect::<Vec<_>>())
        };
        assert_eq!(measured(0, 2), (Some(0), vec![2]));
        assert_eq!(measured(0, 1), (Some(0), vec![1, 2]));
        assert_eq!(measured(1, 1), (Some(1), vec![1]));
        assert_eq!(measured(1, 2), (Some(1), vec![2]));
        table.clear_marks();
        assert!(table.measured().is_empty() && table.workload().is_none());
    }

    #[test]
    fn on_an_emulated_machine_nothing_is_compared() {
        let mut table = LiveTable::new(&plan(&["host", "bridge"]), false);
        for block in 0..3 {
            table.add_trial(&trial("host", block, Phase::Main, 100));
            table.add_trial(&trial("bridge", block, Phase::Main, 50));
            table.add_trial(&transactions("bridge", block, 5_000));
        }
        let cell = figure(&mut table, 0, 1);
        assert_eq!(cell, LiveCell::Figure("4.000 ± 0.0 %".to_owned(), None));
        let cell = figure(&mut table, 1, 1);
        assert_eq!(cell, LiveCell::Figure("50000 ± 0.0 %".to_owned(), None));
    }

    #[test]
    fn a_given_rate_is_carried_everywhere_so_its_loss_is_displayed() {
        let mut plan = plan(&["host"]);
        let workload = &mut plan.workloads[0];
        workload.metrics = vec![Metric::Throughput, Metric::Loss];
        assert_eq!(main_metric(workload), Some(Metric::Throughput));
        workload.parameters.insert("rate".to_owned(), "500mbit".into());
        assert_eq!(main_metric(workload), Some(Metric::Loss));
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(format_ratio(0.8256, Some(0.0042)), "0.826× ± 0.4 %");
        assert_eq!(format_ratio(0.8256, Some(0.118)), "0.83× ± 12 %");
        assert_eq!(format_ratio(0.8256, Some(f64::INFINITY)), "0.83× ± >999 %");
        assert_eq!(format_mean(0.02, Some([0.0, 0.04]), Metric::Loss), "0.0200 ± 0.0200");
        assert_eq!(format_mean(51_234.4, None, Metric::Transactions), "51234");
    }
}
