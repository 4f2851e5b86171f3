//! CPU time of one thread by interval, read when the thread first notices that an interval is over.

use crate::clock;
use crate::slices::window::SliceWindow;
use crate::sys::thread_cpu_usage;
use std::sync::OnceLock;
use tare_record::{Nanos, ThreadCpu};

/// CPU time of a worker thread over a trial. Times are ns after the trial's beginning and never decrease.
///
/// A thread that sleeps through the end of an interval notices late: the CPU time it used since the last reading is
/// distributed evenly over the time since then.
#[derive(Clone, Debug)]
pub(crate) struct CpuLog {
    interval: u64,
    rows: Vec<ThreadCpu>,
    /// Time of the next reading.
    next: u64,
    last_at: u64,
    last: ThreadCpu,
    /// End of the slice that is being logged. `None` between two slices, and in a trial in one piece.
    slice_ends: Option<u64>,
}

impl CpuLog {
    /// Creates a log for a trial of this duration. Allocates all memory that it will use.
    pub(crate) fn new(duration: Nanos, interval: Nanos) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        Self {
            interval,
            rows: vec![ThreadCpu::default(); slots],
            next: interval,
            last_at: 0,
            last: ThreadCpu::default(),
            slice_ends: None,
        }
    }

    /// Takes the first reading, at this time. Call it once, on the thread itself.
    pub(crate) fn begin(&mut self, now: u64) {
        (self.last_at, self.last) = (now, thread_cpu_usage());
    }

    /// Takes the first reading on a thread whose time begins when something first arrives at any thread of its side.
    /// The first such thread sets the zero of all of them, ns of the monotonic clock. Returns that zero.
    #[cold]
    pub(crate) fn begin_at_shared_epoch(&mut self, shared_epoch: &OnceLock<u64>) -> u64 {
        let now = clock::now().0;
        let epoch = *shared_epoch.get_or_init(|| now);
        self.begin(now.saturating_sub(epoch));
        epoch
    }

    /// Records the current time: a comparison only, unless an interval is over.
    #[inline]
    pub(crate) fn record(&mut self, now: u64) {
        if now >= self.next {
            self.distribute(now, thread_cpu_usage());
        }
    }

    /// Records an event in a slice. The first one that counts begins the slice's CPU time; an event that does not count,
    /// or that is in another slice, ends it.
    #[inline]
    pub(crate) fn record_in_slice(&mut self, window: &SliceWindow, now: u64) {
        match window.slice_time(now) {
            Some(at) if self.slice_ends.is_some_and(|end| at < end) => {}
            Some(at) => {
                self.end_slice();
                self.begin(at);
                self.slice_ends = window.slice_time_at_end();
            }
            None => self.end_slice(),
        }
    }

    /// Ends the CPU time of the slice that is being logged.
    pub(crate) fn end_slice(&mut self) {
        if let Some(end) = self.slice_ends.take() {
            self.record(end);
        }
    }

    /// Returns the CPU time of every interval. Call it on the thread itself.
    pub(crate) fn rows(&self) -> &[ThreadCpu] {
        &self.rows
    }

    /// Distributes the CPU time used since the last reading over the intervals that have passed since.
    fn distribute(&mut self, now: u64, usage: ThreadCpu) {
        let span = now.saturating_sub(self.last_at).max(1);
        let used = |end: Nanos, start: Nanos| u128::from(end.0.saturating_sub(start.0));
        let user = used(usage.user, self.last.user);
        let system = used(usage.system, self.last.system);
        let waiting = used(usage.waiting, self.last.waiting);
        let mut from = self.last_at;
        while from < now {
            let slot = usize::try_from(from / self.interval).unwrap_or(usize::MAX);
            let Some(row) = self.rows.get_mut(slot) else { break };
            let to = now.min((from / self.interval + 1) * self.interval);
            let part = |used: u128| Nanos((used * u128::from(to - from) / u128::from(span)) as u64);
            row.user = row.user + part(user);
            row.system = row.system + part(system);
            row.waiting = row.waiting + part(waiting);
            from = to;
        }
        (self.last_at, self.last) = (now, usage);
        let over = self.rows.len() as u64 * self.interval;
        self.next = if now >= over { u64::MAX } else { (now / self.interval + 1) * self.interval };
    }
}

/// Adds the rows of another thread, up to the shorter of the two. Empty rows take over the length of the first thread
/// added.
pub(crate) fn add_rows(all: &mut Vec<ThreadCpu>, more: &[ThreadCpu]) {
    if all.is_empty() {
        all.extend_from_slice(more);
        return;
    }
    all.truncate(more.len());
    for (sum, one) in all.iter_mut().zip(more) {
        sum.user = sum.user + one.user;
        sum.system = sum.system + one.system;
        sum.waiting = sum.waiting + one.waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Waits as long as it works in the kernel.
    fn usage(user: u64, system: u64) -> ThreadCpu {
        ThreadCpu { user: Nanos(user), system: Nanos(system), waiting: Nanos(system) }
    }

    #[test]
    fn what_is_noticed_late_is_dealt_over_the_time_since() {
        let mut log = CpuLog::new(Nanos(40), Nanos(10));
        log.distribute(10, usage(10, 0));
        log.distribute(35, usage(10, 25));
        assert_eq!(log.rows(), [usage(10, 0), usage(0, 10), usage(0, 10), usage(0, 5)]);
        log.distribute(60, usage(35, 25));
        assert_eq!(log.rows()[3], usage(5, 5));
    }

    #[test]
    fn sides_add_up_as_far_as_all_go() {
        let mut all = Vec::new();
        add_rows(&mut all, &[usage(1, 2), usage(3, 4)]);
        add_rows(&mut all, &[usage(10, 20)]);
        assert_eq!(all, [usage(11, 22)]);
    }

    proptest! {
        #[test]
        fn no_more_is_dealt_than_was_used(
            steps in prop::collection::vec((0u64..50, 0u64..50, 0u64..50), 0..40),
            duration in 0u64..500,
            interval in 1u64..60,
        ) {
            let mut log = CpuLog::new(Nanos(duration), Nanos(interval));
            let (mut now, mut user, mut system) = (0, 0, 0);
            for (step, more_user, more_system) in steps {
                now += step;
                user += more_user;
                system += more_system;
                if now >= log.next {
                    log.distribute(now, usage(user, system));
                }
            }
            let sum = |part: fn(&ThreadCpu) -> Nanos| log.rows().iter().map(|row| part(row).0).sum::<u64>();
            prop_assert!(sum(|row| row.user) <= user && sum(|row| row.system) <= system);
        }
    }
}
