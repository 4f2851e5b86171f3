//! Progress of a server through the slices of its trial.
//!
//! The client's slice begins by an order. The server's begins with the first thing that arrives in it, as its clock may
//! be another; it ends once everything that the client sent has arrived ([`SliceProgress::settle`]).

use crate::slices::window::SliceWindow;
use crate::{Error, TrialTask};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_record::SlicePlan;

/// Progress of a server through the slices of its trial, shared by its worker threads and the thread that executes
/// orders.
#[derive(Debug)]
pub(crate) struct SliceProgress {
    plan: SlicePlan,
    /// Index of the slice whose traffic arrives now.
    index: AtomicU32,
    /// Time of the first arrival in this slice, by the monotonic clock, ns; 0 before it.
    begins: AtomicU64,
    /// Payload bytes, or datagrams, that have arrived so far.
    received: AtomicU64,
    /// Datagrams of earlier slices that were lost.
    lost: AtomicU64,
}

impl SliceProgress {
    /// Time within which everything that was sent in a slice must arrive.
    const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
    /// Time without an arrival after which datagrams that are missing are lost.
    const QUIET: Duration = Duration::from_millis(5);
    /// Pause between two looks at what has arrived.
    const SETTLE_PAUSE: Duration = Duration::from_micros(30);

    /// Creates the progress of a trial whose first slice is awaited.
    pub(crate) fn new(plan: SlicePlan) -> Self {
        Self {
            plan,
            index: AtomicU32::new(0),
            begins: AtomicU64::new(0),
            received: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Creates the progress of a task's trial. Returns `None` if it runs in one piece.
    pub(crate) fn for_task(task: &TrialTask) -> Option<Arc<Self>> {
        task.slices.map(|plan| Arc::new(Self::new(plan)))
    }

    /// Returns the slices of the trial.
    pub(crate) fn plan(&self) -> &SlicePlan {
        &self.plan
    }

    /// Returns the window of the present slice, for something that arrived at `now`. The first arrival begins it.
    #[inline]
    pub(crate) fn window(&self, now: u64) -> SliceWindow {
        let begun = self.begins.load(Ordering::Acquire);
        let begins = if begun == 0 { self.begin(now) } else { begun };
        SliceWindow::slice(&self.plan, self.index.load(Ordering::Acquire), begins)
    }

    #[cold]
    fn begin(&self, now: u64) -> u64 {
        match self.begins.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => now,
            Err(other) => other,
        }
    }

    /// Counts payload bytes, or datagrams, that have arrived.
    #[inline]
    pub(crate) fn count_received(&self, count: u64) {
        self.received.fetch_add(count, Ordering::Release);
    }

    /// Waits until all datagrams that the clients sent so far have arrived, or none arrives any more, then awaits the next
    /// slice. What is missing then is lost.
    pub(crate) fn settle_datagrams(&self, sent: u64) {
        let mut last = (self.received.load(Ordering::Acquire), Instant::now());
        loop {
            let received = self.received.load(Ordering::Acquire);
            let lost = self.lost.load(Ordering::Acquire);
            if received != last.0 {
                last = (received, Instant::now());
            }
            let quiet = last.1.elapsed() >= Self::QUIET;
            if received + lost >= sent || quiet {
                self.lost.store(sent.saturating_sub(received), Ordering::Release);
                return self.await_next();
            }
            thread::sleep(Self::SETTLE_PAUSE);
        }
    }

    /// Awaits the next slice.
    fn await_next(&self) {
        self.index.fetch_add(1, Ordering::AcqRel);
        self.begins.store(0, Ordering::Release);
    }

    /// Waits until all bytes that the clients sent so far have arrived, then awaits the next slice.
    ///
    /// # Errors
    /// Fails if they do not arrive in time.
    pub(crate) fn settle(&self, sent: u64) -> Result<(), Error> {
        let deadline = Instant::now() + Self::SETTLE_TIMEOUT;
        loop {
            let received = self.received.load(Ordering::Acquire);
            if received >= sent {
                self.await_next();
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Error::Job(format!(
                    "cannot end a slice: {} of {sent} bytes did not arrive within {} s: use --slice off",
                    sent - received,
                    Self::SETTLE_TIMEOUT.as_secs()
                )));
            }
            thread::sleep(Self::SETTLE_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::Nanos;

    const PLAN: SlicePlan =
        SlicePlan { rounds: 3, warm_up: 1, length: Nanos(1_000), skip: Nanos(100) };

    #[test]
    fn datagrams_that_are_lost_are_not_awaited_again() {
        let progress = SliceProgress::new(PLAN);
        progress.count_received(7);
        progress.settle_datagrams(10);
        progress.count_received(10);
        let before = Instant::now();
        progress.settle_datagrams(20);
        assert_eq!(progress.window(9_000).begins, 9_000);
        assert_eq!(progress.lost.load(Ordering::Acquire), 3, "after {:?}", before.elapsed());
    }

    #[test]
    fn a_server_s_slice_begins_with_the_first_arrival_and_ends_when_all_is_there() {
        let progress = SliceProgress::new(PLAN);
        assert_eq!(progress.window(7_000).begins, 7_000);
        assert_eq!(progress.window(7_500).begins, 7_000);
        progress.count_received(10);
        progress.settle(10).unwrap();
        let next = progress.window(9_000);
        assert_eq!((next.begins, next.slice_time(9_100)), (9_000, Some(0)));
    }
}
