//! Selection: the trials of a cell, and what their records say of traffic.

pub(crate) mod plan_lookup;
pub(crate) mod trial_traffic;
pub(crate) mod whole_blocks;
