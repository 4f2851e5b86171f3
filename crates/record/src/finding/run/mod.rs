//! Findings on the run as a whole, and on what it left out or replaced.

mod block_drift;
mod inspection_failure;
mod kept_offloads;
mod program_stand_in;
mod rank_reversal;
mod scaled_study;
mod skipped_workload;
mod unread_lines;
mod workload_stand_in;

pub use block_drift::BlockDrift;
pub use inspection_failure::InspectionFailure;
pub use kept_offloads::KeptOffloads;
pub use program_stand_in::ProgramStandIn;
pub use rank_reversal::RankReversal;
pub use scaled_study::ScaledStudy;
pub use skipped_workload::SkippedWorkload;
pub use unread_lines::UnreadLines;
pub use workload_stand_in::WorkloadStandIn;
