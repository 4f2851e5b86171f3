//! Figure of one metric of one trial.

/// Figure of one metric of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricFigure {
    /// Figure in the metric's unit.
    Value {
        /// Figure over the trial's steady part.
        value: f64,
        /// Figure over the whole trial, warm-up included.
        uncut: f64,
    },
    /// A percentile with too few samples beyond it.
    Withheld {
        /// Number of samples beyond the percentile.
        beyond: u64,
        /// Number that would be enough.
        needed: u64,
    },
    /// The trial recorded nothing from which this metric can be computed.
    Absent,
}
