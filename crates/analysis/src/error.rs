//! What keeps a journal from being analysed.

/// Why there is no analysis.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The baseline asked for is none of the run's networks.
    #[error("the baseline `{asked}` is not in this run: choose one of {labels}", labels = .labels.join(", "))]
    Baseline {
        /// What was asked for.
        asked: String,
        /// The labels that there are.
        labels: Vec<String>,
    },
    /// An intended change that is nothing by which runs could differ.
    #[error("--vary {asked}: runs do not differ by that; name one of {known}", known = .known.join(", "))]
    Vary {
        /// What was named.
        asked: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A run under emulation beside others.
    #[error("{directory} was measured under emulation, whose figures are compared with nothing")]
    Emulated {
        /// The run's directory.
        directory: String,
    },
    /// Histograms of a trial could not be added up.
    #[error(
        "the latencies of `{label}` in block {block} cannot be added up: {source}; the journal is damaged"
    )]
    Latencies {
        /// The network's label.
        label: String,
        /// The block.
        block: u32,
        /// Why.
        source: tare_record::HistogramError,
    },
}
