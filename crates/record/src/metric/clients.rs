//! Rules by which a metric's figures are combined over clients.

use super::{Metric, MetricFormula};

impl Metric {
    /// Combines the figures of several clients, each reported by an external program. Rates are added. For percentiles
    /// and the maximum the worst figure is taken, which is never below that of all samples together. For other metrics
    /// the mean is taken. Returns `None` without any figures.
    #[must_use]
    pub fn combine_clients(self, figures: &[f64]) -> Option<f64> {
        let sum = || figures.iter().sum::<f64>();
        let largest = || figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.formula() {
            _ if figures.is_empty() => None,
            MetricFormula::Rate { .. } | MetricFormula::StatedRate => Some(sum()),
            MetricFormula::Latency(..) => Some(largest()),
            _ => Some(sum() / figures.len() as f64),
        }
    }
}
