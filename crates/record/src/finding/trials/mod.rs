//! Findings on the trials of a cell, and on what is estimated from them.

mod core_waiting;
mod few_samples;
mod level_switch;
mod payload_mismatch;
mod pooled_blocks;
mod second_attempt;
mod silent_trials;
mod trial_trend;
mod unsettled_trials;
mod warm_up_influence;

pub use core_waiting::CoreWaiting;
pub use few_samples::FewSamples;
pub use level_switch::LevelSwitch;
pub use payload_mismatch::PayloadMismatch;
pub use pooled_blocks::PooledBlocks;
pub use second_attempt::SecondAttempt;
pub use silent_trials::SilentTrials;
pub use trial_trend::TrialTrend;
pub use unsettled_trials::UnsettledTrials;
pub use warm_up_influence::WarmUpInfluence;
