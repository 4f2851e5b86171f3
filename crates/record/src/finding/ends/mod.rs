//! Findings on the ends of the traffic: sockets, threads and senders.

mod client_stall;
mod count_shortfall;
mod pinning_failure;
mod port_exhaustion;
mod search_limited_by_sender;
mod slow_sender;
mod small_buffer;
mod spinning_threads;
mod time_wait_overflow;
mod unfinished_search;

pub use client_stall::ClientStall;
pub use count_shortfall::CountShortfall;
pub use pinning_failure::PinningFailure;
pub use port_exhaustion::PortExhaustion;
pub use search_limited_by_sender::SearchLimitedBySender;
pub use slow_sender::SlowSender;
pub use small_buffer::SmallBuffer;
pub use spinning_threads::SpinningThreads;
pub use time_wait_overflow::TimeWaitOverflow;
pub use unfinished_search::UnfinishedSearch;
