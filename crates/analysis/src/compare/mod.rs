//! Comparison of networks within a run: pairs by block, ratios, verdicts.

pub(crate) mod analysed_ratio;
pub(crate) mod analysis_history;
pub(crate) mod best_networks;
pub(crate) mod block_pairs;
pub(crate) mod block_ratio;
pub(crate) mod cell_draft;
pub(crate) mod decision;
pub(crate) mod interim;
pub(crate) mod ratio_family;
pub(crate) mod ratio_spread;
pub(crate) mod verdict;
