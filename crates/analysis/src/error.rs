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
    #[error("--vary {asked}: runs do not differ by that; name one of {known}", known = .known.join(", "))]
    Vary {
        /// Requested name.
        asked: String,
        /// Names of all possible differences.
        known: Vec<String>,
    },
    /// A run under emulation was to be compared.
    #[error("{directory} was measured under emulation, whose figures are compared with nothing")]
    Emulated {
        /// Directory of the run.
        directory: String,
    },
    /// Histograms of a trial could not be added up.
    #[error(
        "the latencies of `{label}` in block {block} cannot be added up: {source}; the journal is damaged"
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
