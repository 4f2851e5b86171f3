//! Findings on the machine, its load and its nodes.

mod emulated_processor;
mod frequency_change;
mod hardware_counter_limits;
mod low_headroom;
mod node_pair_facts;
mod other_runs;
mod other_work;
mod quota_throttled_time;
mod shared_machine;
mod stolen_time;
mod throttling_events;

pub use emulated_processor::EmulatedProcessor;
pub use frequency_change::FrequencyChange;
pub use hardware_counter_limits::HardwareCounterLimits;
pub use low_headroom::LowHeadroom;
pub use node_pair_facts::NodePairFacts;
pub use other_runs::OtherRuns;
pub use other_work::OtherWork;
pub use quota_throttled_time::QuotaThrottledTime;
pub use shared_machine::SharedMachine;
pub use stolen_time::StolenTime;
pub use throttling_events::ThrottlingEvents;
