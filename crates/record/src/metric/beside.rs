//! What is made of a metric's figures: how they are set beside others, add up and decide how long a run is.

use super::Metric;

/// How a network's figure is put beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// As a ratio, on the log scale.
    Ratio,
    /// As a difference in the metric's own unit: nought is a usual figure of it.
    Difference,
}

impl Metric {
    /// How a network's figure is put beside the baseline's.
    #[must_use]
    pub fn beside(self) -> Beside {
        match self {
            Self::Loss
            | Self::Reordered
            | Self::Duplicates
            | Self::Retransmits
            | Self::Errors
            | Self::CpuBusy => Beside::Difference,
            _ => Beside::Ratio,
        }
    }

    /// Whether a run is made as long as this metric's precision needs. The others take what precision they get: tails,
    /// jitter and CPU time vary by so much that they would decide alone.
    #[must_use]
    pub fn sizes_runs(self) -> bool {
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

    /// What several clients' figures are together, each a tool's own statement: rates add up, of percentiles and of the
    /// largest the worst stands for all (it is never below that of all samples), of other figures the mean. Nothing of
    /// none.
    #[must_use]
    pub fn together(self, figures: &[f64]) -> Option<f64> {
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
