//! Rules by which a metric's figures are compared, combined over clients, and used to decide the number of blocks.

use super::Metric;

/// Scale on which a network's figure is compared with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedBy {
    /// Ratio, on the logarithmic scale.
    Ratio,
    /// Difference in the metric's own unit, for metrics that are often 0.
    Difference,
}

impl Metric {
    /// Returns the scale on which a network's figure is compared with the baseline's.
    #[must_use]
    pub fn compared_by(self) -> ComparedBy {
        match self {
            Self::Loss
            | Self::Reordered
            | Self::Duplicates
            | Self::Retransmits
            | Self::Errors
            | Self::CpuBusy => ComparedBy::Difference,
            _ => ComparedBy::Ratio,
        }
    }

    /// Returns true if the precision of this metric decides the number of blocks of a run. Other metrics take the
    /// precision that results: tails, jitter and CPU time vary so much that they alone would decide.
    #[must_use]
    pub fn decides_block_count(self) -> bool {
        matches!(
            self,
            Self::Throughput
                | Self::Packets
                | Self::Ndr
                | Self::NdrPackets
                | Self::Pdr
                | Self::PdrPackets
                | Self::Transactions
                | Self::Tps
                | Self::Connections
                | Self::LatencyP50
                | Self::OneWayP50
                | Self::ConnectP50
        )
    }

    /// Combines the figures of several clients, each reported by an external program. Rates are added. For percentiles
    /// and the maximum the worst figure is taken, which is never below that of all samples together. For other metrics
    /// the mean is taken. Returns `None` without any figures.
    #[must_use]
    pub fn combine_clients(self, figures: &[f64]) -> Option<f64> {
        let sum = || figures.iter().sum::<f64>();
        let largest = || figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            _ if figures.is_empty() => None,
            Self::Throughput
            | Self::Offered
            | Self::Packets
            | Self::Transactions
            | Self::Tps
            | Self::Errors
            | Self::Connections
            | Self::Retransmits => Some(sum()),
            _ if self.latency().is_some() => Some(largest()),
            _ => Some(sum() / figures.len() as f64),
        }
    }
}
