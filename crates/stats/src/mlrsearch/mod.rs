//! MLRsearch (RFC 9971): search for the highest loads that a network carries at given loss ratios.
//!
//! A [`Search`] is the RFC's controller. It takes a few [`SearchGoal`]s and names the next [`TrialResult`] to run,
//! until the bounds of every goal are close enough, or the time is used up. It never sends traffic: the caller runs the
//! trials (the RFC's measurer, section 4.9.1) and reports each result, and every trial counts for all goals.
//!
//! The classification of loads ([`classify()`], section 6.1 and appendix A), the relevant bounds ([`RelevantBounds`],
//! section 4.8) and the conditional throughput (appendix B) follow the RFC to the letter, so that results compare with
//! those of other instruments. The RFC leaves the choice of the next load free (section 4.9.2); [`Search`] describes
//! the choice made here.

mod bounds;
mod classify;
mod goal;
mod goal_level;
mod limits;
mod search;
mod throughput;
mod trial_history;
mod trial_result;

#[cfg(test)]
mod simulated;

pub use bounds::RelevantBounds;
pub use classify::{LoadClass, classify};
pub use goal::{SearchError, SearchGoal};
pub use limits::SearchLimits;
pub use search::{RequestedTrial, Search, SearchEnding, SearchGoalResult, SearchStep};
pub use throughput::conditional_throughput;
pub use trial_result::TrialResult;
