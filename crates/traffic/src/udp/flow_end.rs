//! End of a flow: the number of datagrams that its sender has reported.

use crate::clock;
use std::sync::atomic::{AtomicU64, Ordering};

/// End of a flow, as its sender has reported it.
#[derive(Debug)]
pub(crate) struct FlowEnd {
    /// Number of datagrams sent. [`FlowEnd::UNKNOWN`] before the sender has reported it, or if it never will.
    sent: AtomicU64,
    /// Time of the report, by the monotonic clock, ns, after which only datagrams on the path can arrive. 0 before the
    /// report.
    ended: AtomicU64,
}

impl FlowEnd {
    const UNKNOWN: u64 = u64::MAX;

    /// Creates the end of a flow that is still sending.
    pub(crate) fn new() -> Self {
        Self { sent: AtomicU64::new(Self::UNKNOWN), ended: AtomicU64::new(0) }
    }

    /// Sets the number of datagrams that were sent, and with it the end of the flow.
    pub(crate) fn set_sent(&self, sent: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.ended.store(clock::now().0, Ordering::Release);
    }

    /// Marks the flow as ended because its sender is gone.
    pub(crate) fn set_lost(&self) {
        if !self.has_ended() {
            self.ended.store(clock::now().0, Ordering::Release);
        }
    }

    /// Returns whether the sender has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended_at().is_some()
    }

    /// Returns the time of the sender's report, by the monotonic clock, ns. Returns `None` before it.
    pub(crate) fn ended_at(&self) -> Option<u64> {
        Some(self.ended.load(Ordering::Acquire)).filter(|ended| *ended != 0)
    }

    /// Returns the number of datagrams sent. Returns `None` if it is not known.
    pub(crate) fn sent(&self) -> Option<u64> {
        Some(self.sent.load(Ordering::Relaxed)).filter(|sent| *sent != Self::UNKNOWN)
    }
}
