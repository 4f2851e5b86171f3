//! Errors of the analysis.

/// Reason why a journal cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The requested baseline is not among the run's networks.
    #[error("the baseline `{asked}` is not in this run: choose one of {labels}", labels = .labels.join(", "))]
    Baseline {
        /// Requested label.
        asked: String,
        /// Labels of the run's networks.
        labels: Vec<String>,
    },
    /// An intended change is nothing by which runs could differ.
    #[error("--vary: unknown difference `{asked}`: expected one of {known}", known = .known.join(", "))]
    Vary {
        /// Requested name.
        asked: String,
        /// Names of all possible differences.
        known: Vec<String>,
    },
    /// A run under emulation was to be compared.
    #[error(
        "cannot compare {directory}: the run was measured under emulation (TCG), whose figures show no speed: name runs of real processors"
    )]
    Emulated {
        /// Directory of the run.
        directory: String,
    },
    /// Histograms of a trial could not be added up.
    #[error(
        "cannot add up the latencies of `{label}` in block {block}: {source}: the journal is damaged; measure again"
    )]
    Latencies {
        /// Label of the network.
        label: String,
        /// Number of the block.
        block: u32,
        /// Error of the histogram.
        source: tare_record::HistogramError,
    },
}
