//! Progress of a side through the slices of its trial, as far as the other side decides it.
//!
//! A client's slice begins by an order. A server's begins with the first thing that arrives in it, as its clock may be
//! another; so does that of a client's flows that receive. It ends once everything that the other side sent has arrived,
//! and all flows on which a server sends are at rest ([`SliceProgress::settle`]).

use crate::slices::window::SliceWindow;
use crate::{Error, SentBytes, TrialTask};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tare_record::SlicePlan;

/// Progress of a side through the slices of its trial, shared by its worker threads and the thread that executes
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
    /// Number of flows on which a server sends.
    senders: u32,
    /// Number of these flows that are at rest after they have sent in this slice.
    resting: AtomicU32,
    /// Bytes sent on these flows.
    sent: Mutex<SentBytes>,
}

impl SliceProgress {
    /// Time within which everything that was sent in a slice must arrive.
    const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
    /// Time without an arrival after which datagrams that are missing are lost.
    const QUIET: Duration = Duration::from_millis(5);
    /// Pause between two looks at what has arrived.
    const SETTLE_PAUSE: Duration = Duration::from_micros(30);

    /// Creates the progress of a side that sends on this many flows when it is told to. The trial's first slice is
    /// awaited.
    fn with_senders(plan: SlicePlan, senders: u32) -> Self {
        Self {
            plan,
            senders,
            resting: AtomicU32::new(0),
            sent: Mutex::default(),
            index: AtomicU32::new(0),
            begins: AtomicU64::new(0),
            received: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Creates the progress of a side that sends only when it is asked, or by its own clock. Returns `None` if the
    /// task's trial runs in one piece.
    pub(crate) fn for_task(task: &TrialTask) -> Option<Arc<Self>> {
        Self::for_sending_task(task, 0)
    }

    /// Creates the progress of a side that sends on this many flows when it is told to. Returns `None` if the task's
    /// trial runs in one piece.
    pub(crate) fn for_sending_task(task: &TrialTask, senders: u32) -> Option<Arc<Self>> {
        task.slices.map(|plan| Arc::new(Self::with_senders(plan, senders)))
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

    /// Returns true if nothing has arrived in the present slice.
    pub(crate) fn awaits_slice(&self) -> bool {
        self.begins.load(Ordering::Acquire) == 0
    }

    /// Returns true if the present slice has begun and, at `now`, is over.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        let begun = self.begins.load(Ordering::Acquire);
        begun != 0 && now >= begun.saturating_add(self.plan.slice_time().0)
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

    /// Rests a flow that has sent this many bytes to a client process in the present slice.
    pub(crate) fn rest_sender(&self, process: u32, sent: u64) {
        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(process).or_default() += sent;
        self.resting.fetch_add(1, Ordering::Release);
    }

    /// Awaits the next slice.
    fn await_next(&self) {
        self.resting.store(0, Ordering::Release);
        self.index.fetch_add(1, Ordering::AcqRel);
        self.begins.store(0, Ordering::Release);
    }

    /// Waits until all bytes that the other side sent so far have arrived and all flows on which this side sends are at
    /// rest, then awaits the next slice. Worker threads receive the bytes. Returns what this side has sent so far.
    ///
    /// # Errors
    /// Fails if that takes too long.
    pub(crate) fn settle(&self, sent: u64) -> Result<SentBytes, Error> {
        self.settle_receiving(sent, || Ok(()))?;
        Ok(self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Settles as [`Self::settle`] does; `receive` receives what has arrived.
    ///
    /// # Errors
    /// Fails if that takes too long, or if `receive` fails.
    pub(crate) fn settle_receiving(
        &self,
        sent: u64,
        mut receive: impl FnMut() -> io::Result<()>,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + Self::SETTLE_TIMEOUT;
        loop {
            receive().map_err(|error| Error::io("receive the rest of a slice", error))?;
            let received = self.received.load(Ordering::Acquire);
            let resting = self.resting.load(Ordering::Acquire);
            if received >= sent && resting >= self.senders {
                self.await_next();
                return Ok(());
            }
            if Instant::now() >= deadline {
                let what = if received < sent {
                    format!("{} of {sent} bytes did not arrive", sent - received)
                } else {
                    format!("{} of {} flows did not stop", self.senders - resting, self.senders)
                };
                return Err(Error::Job(format!(
                    "cannot end a slice: {what} within {} s: use --slice off",
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
        let progress = SliceProgress::with_senders(PLAN, 0);
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
        let progress = SliceProgress::with_senders(PLAN, 0);
        assert_eq!(progress.window(7_000).begins, 7_000);
        assert_eq!(progress.window(7_500).begins, 7_000);
        progress.count_received(10);
        progress.settle(10).unwrap();
        let next = progress.window(9_000);
        assert_eq!((next.begins, next.slice_time(9_100)), (9_000, Some(0)));
    }

    #[test]
    fn a_slice_is_settled_once_all_senders_are_at_rest() {
        let progress = Arc::new(SliceProgress::with_senders(PLAN, 2));
        let sender = Arc::clone(&progress);
        progress.rest_sender(4, 10);
        let settling = thread::spawn(move || progress.settle(0));
        sender.rest_sender(7, 20);
        assert_eq!(settling.join().unwrap().unwrap(), SentBytes::from([(4, 10), (7, 20)]));
        assert!(sender.awaits_slice() && !sender.is_over(u64::MAX));
        assert_eq!(sender.window(500).ends, 1_600);
        assert!(!sender.is_over(1_599) && sender.is_over(1_600));
    }
}
