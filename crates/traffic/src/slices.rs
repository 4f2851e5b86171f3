//! Slices of a woven trial on one side: when a slice begins and ends, and where it lies in slice time.
//!
//! The client's slice begins by an order. The server's begins with the first thing that arrives in it, as its clock may
//! be another; it ends once everything that the client sent has arrived ([`SliceProgress::settle`]).

use crate::{Error, TrialTask};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_record::SlicePlan;

/// One stretch of traffic: a slice, or a whole trial. Times are by the monotonic clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SliceWindow {
    /// Beginning of the traffic.
    pub(crate) begins: u64,
    /// End of the traffic: nothing is begun from here on.
    pub(crate) ends: u64,
    /// Time from which on events count, and the slice time of that moment. `None` in a slice of the warm-up.
    counted: Option<(u64, u64)>,
    /// Time until which events count.
    closes: u64,
}

impl SliceWindow {
    /// Returns the window of a trial in one piece, in which everything counts that comes after its beginning.
    pub(crate) fn whole_trial(begins: u64, duration: u64) -> Self {
        let ends = begins.saturating_add(duration);
        Self { begins, ends, counted: Some((begins, 0)), closes: u64::MAX }
    }

    /// Returns the window of a slice, by its index among all slices, that begins at this time.
    pub(crate) fn slice(plan: &SlicePlan, index: u32, begins: u64) -> Self {
        let opens = begins.saturating_add(plan.skip.0);
        let ends = opens.saturating_add(plan.length.0);
        let slice_time = |nth: u32| u64::from(nth) * plan.length.0;
        let counted = index.checked_sub(plan.warm_up).map(|nth| (opens, slice_time(nth)));
        Self { begins, ends, counted, closes: ends }
    }

    /// Returns the slice time of an event. Returns `None` if it does not count: it is at the slice's beginning, after
    /// its end, or in a slice of the warm-up.
    #[inline]
    pub(crate) fn slice_time(&self, now: u64) -> Option<u64> {
        let (opens, at) = self.counted?;
        (now >= opens && now < self.closes).then(|| at + (now - opens))
    }

    /// Returns the slice time at the end of the window. Returns `None` if nothing in it counts.
    pub(crate) fn slice_time_at_end(&self) -> Option<u64> {
        self.counted.map(|(opens, at)| at + (self.ends - opens))
    }
}

/// Place of a moment of *sending time* in a trial in slices. Sending time stands still between two slices, and has their
/// uncounted parts in it: it is what a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlicePlace {
    /// Index of the slice among all slices.
    pub(crate) index: u64,
    /// Slice time of the moment. `None` if it does not count.
    pub(crate) slice_time: Option<u64>,
}

impl SlicePlace {
    /// Finds the place of a moment, ns of sending time.
    #[inline]
    pub(crate) fn find(plan: &SlicePlan, sending_time: u64) -> Self {
        let slice = plan.slice_time().0.max(1);
        let (index, within) = (sending_time / slice, sending_time % slice);
        let counted =
            index.checked_sub(u64::from(plan.warm_up)).zip(within.checked_sub(plan.skip.0));
        Self { index, slice_time: counted.map(|(nth, at)| nth * plan.length.0 + at) }
    }
}

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
    fn counted_parts_follow_one_another_in_slice_time() {
        let second = SliceWindow::slice(&PLAN, 2, 50_000);
        assert_eq!(second.ends, 51_100);
        let at: Vec<_> =
            [50_099, 50_100, 51_099, 51_100].map(|now| second.slice_time(now)).to_vec();
        assert_eq!(at, [None, Some(1_000), Some(1_999), None]);
        assert_eq!(second.slice_time_at_end(), Some(2_000));
    }

    #[test]
    fn a_slice_of_the_warm_up_does_not_count() {
        let first = SliceWindow::slice(&PLAN, 0, 0);
        assert_eq!((first.slice_time(500), first.slice_time_at_end()), (None, None));
    }

    #[test]
    fn a_trial_in_one_piece_counts_from_its_beginning_on() {
        let whole = SliceWindow::whole_trial(1_000, 500);
        assert_eq!((whole.begins, whole.ends), (1_000, 1_500));
        assert_eq!((whole.slice_time(999), whole.slice_time(1_700)), (None, Some(700)));
    }

    #[test]
    fn sending_time_has_the_uncounted_parts_in_it() {
        let place = |at| {
            let place = SlicePlace::find(&PLAN, at);
            (place.index, place.slice_time)
        };
        assert_eq!((place(500), place(1_150)), ((0, None), (1, None)));
        assert_eq!((place(1_200), place(3_299)), ((1, Some(0)), (2, Some(1_999))));
    }

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
