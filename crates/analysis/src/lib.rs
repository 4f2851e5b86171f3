//! Analysis of a run: records in, cells out.
//!
//! [`estimate()`] turns one trial into one figure for each metric; [`document()`] gathers all trials into cells with
//! intervals, ratios and verdicts; [`network_pairs`] compares every network with every other; [`chart_data()`] returns
//! the data beneath the figures; [`estimate_spreads`] estimates from a pilot how much the ratios vary; [`compare()`]
//! compares two sides of runs. Everything is derived from the records alone, without randomness and I/O: the same
//! journal always gives the same document. `docs/METHOD.md` gives the reasons for the methods.
#![forbid(unsafe_code)]

mod ablation;
mod best_networks;
mod block_pairs;
mod cell_draft;
mod cell_findings;
mod chart_data;
mod client_cells;
mod client_figures;
mod compare;
mod comparison_drafts;
mod core_frequency;
mod cost_causes;
mod distribution;
mod document;
mod drift;
mod drop_reasons;
mod error;
mod estimate;
mod figures;
mod fragmentation;
mod loss_attribution;
mod machine_usage;
mod metric_figure;
mod order_reversal;
mod plan_lookup;
mod ratio_family;
mod ratio_spread;
mod replication;
mod setup_time;
mod trial_group;
mod trial_traffic;
mod verdict;
mod warm_up;
mod whole_blocks;

#[cfg(test)]
mod test_data;

pub use block_pairs::network_pairs;
pub use chart_data::chart_data;
pub use client_figures::ClientFigures;
pub use compare::{CompareOptions, NamedJournal, compare};
pub use distribution::distributions;
pub use document::document;
pub use error::Error;
pub use estimate::{TrialEstimate, estimate};
pub use metric_figure::MetricFigure;
pub use ratio_spread::{RatioSpread, estimate_spreads, is_narrow_enough};
pub use verdict::verdict;
