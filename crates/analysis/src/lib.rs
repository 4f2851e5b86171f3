//! Analysis of a run: records in, cells out.
//!
//! [`estimate()`] turns one trial into one figure for each metric; [`document()`] gathers all trials into cells with
//! intervals, ratios and verdicts; [`network_pairs`] compares every network with every other; [`chart_data()`] returns
//! the data beneath the figures; [`estimate_spreads`] estimates from a pilot how much the ratios vary; [`compare()`]
//! compares two sides of runs; [`InterimComparison`] compares the networks of a run before its end. Everything is
//! derived from the records alone, without randomness and I/O: the same
//! journal always gives the same document. `docs/METHOD-RATIONALE.md` gives the reasons for the methods.
#![forbid(unsafe_code)]

mod compare;
mod count;
mod document;
mod error;
mod estimate;
mod explain;
mod replication;
mod run_comparison;
mod select;

#[cfg(test)]
mod test_data;

pub use compare::block_pairs::network_pairs;
pub use compare::block_ratio::BlockRatio;
pub use compare::interim::{InterimCell, InterimComparison, InterimRatio};
pub use compare::ratio_spread::{RatioSpread, estimate_spreads, is_narrow_enough};
pub use compare::verdict::verdict;
pub use document::chart_data::chart_data;
pub use document::distribution::distributions;
pub use document::document;
pub use error::Error;
pub use estimate::client_figures::ClientFigures;
pub use estimate::metric_figure::MetricFigure;
pub use estimate::{TrialEstimate, estimate};
pub use run_comparison::{CompareOptions, NamedJournal, compare};
