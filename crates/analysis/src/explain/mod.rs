//! Explanation: findings on a cell, with their evidence.

pub(crate) mod ablation;
pub(crate) mod cell_findings;
pub(crate) mod core_frequency;
pub(crate) mod core_waiting;
pub(crate) mod cost_causes;
pub(crate) mod counted_drops;
pub(crate) mod drift;
pub(crate) mod drop_reasons;
pub(crate) mod fragmentation;
pub(crate) mod loss_attribution;
pub(crate) mod mixed_congestion;
pub(crate) mod order_reversal;
pub(crate) mod packet_path;
pub(crate) mod unread_figures;
