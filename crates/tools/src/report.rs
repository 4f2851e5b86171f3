//! Result of a tool, as parsed from its output.

use std::collections::BTreeMap;
use tare_record::{Finding, Interval, LatencyHistogram, Metric, Parameters};

/// Result that was parsed from a tool's output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolReport {
    /// Figures of the tool, each in its metric's unit.
    pub(crate) stated: BTreeMap<Metric, f64>,
    /// Interval records. Empty if the tool states only totals.
    pub(crate) intervals: Vec<Interval>,
    /// Total payload bytes. 0 if the tool does not count them.
    pub(crate) bytes: u64,
    /// Total transactions. 0 if the tool does not count them.
    pub(crate) operations: u64,
    /// Latencies of the transactions, if the tool was asked for their histogram.
    pub(crate) latencies: Option<LatencyHistogram>,
    /// Further parameters that the tool reports as in force.
    pub(crate) parameters: Parameters,
    /// Findings about the trial.
    pub(crate) findings: Vec<Finding>,
}

impl ToolReport {
    /// Adds a figure, if there is one and it is finite.
    pub(crate) fn add_figure(&mut self, metric: Metric, figure: Option<f64>) {
        if let Some(figure) = figure.filter(|figure| figure.is_finite()) {
            self.stated.insert(metric, figure);
        }
    }
}
