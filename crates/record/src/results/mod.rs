//! Results of runs: cells, the document, comparisons of runs, and the data beneath figures.

pub(crate) mod cell;
pub(crate) mod chart_data;
pub(crate) mod comparison;
pub(crate) mod distribution;
pub(crate) mod document;
pub(crate) mod replication;
pub(crate) mod skipped_network;
pub(crate) mod stopped_by;
