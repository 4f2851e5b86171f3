//! CPU time of one thread, interval by interval: read when the thread first notices that an interval is over.

use crate::clock;
use crate::sys::thread_usage;
use std::sync::OnceLock;
use tare_record::{Nanos, ThreadCpu};

/// The CPU time of a lane's thread over a trial. Times are ns after the trial's beginning and never go back.
///
/// A thread that sleeps through the end of an interval notices late: what it used up to then is dealt evenly over the
/// time since the last reading.
#[derive(Clone, Debug)]
pub(crate) struct CpuLog {
    interval: u64,
    rows: Vec<ThreadCpu>,
    /// When to read again.
    next: u64,
    last_at: u64,
    last: ThreadCpu,
}

impl CpuLog {
    /// A log for a trial of this duration. All memory it will use is allocated here.
    pub(crate) fn new(duration: Nanos, interval: Nanos) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        Self {
            interval,
            rows: vec![ThreadCpu::default(); slots],
            next: interval,
            last_at: 0,
            last: ThreadCpu::default(),
        }
    }

    /// To be called once on the thread itself, at this time.
    pub(crate) fn begin(&mut self, now: u64) {
        (self.last_at, self.last) = (now, thread_usage());
    }

    /// The same for a thread whose time begins when something first comes to any thread of its side: the zero of all of
    /// them, by the monotonic clock, ns, which the first of them sets.
    #[cold]
    pub(crate) fn begin_by(&mut self, shared_epoch: &OnceLock<u64>) -> u64 {
        let now = clock::now().0;
        let epoch = *shared_epoch.get_or_init(|| now);
        self.begin(now.saturating_sub(epoch));
        epoch
    }

    /// Notes the time: a comparison, unless an interval is over.
    #[inline]
    pub(crate) fn at(&mut self, now: u64) {
        if now >= self.next {
            self.read(now, thread_usage());
        }
    }

    /// Every interval's CPU time. To be called on the thread itself.
    pub(crate) fn rows(&self) -> &[ThreadCpu] {
        &self.rows
    }

    /// Deals what was used since the last reading over the intervals that have passed since.
    fn read(&mut self, now: u64, usage: ThreadCpu) {
        let span = now.saturating_sub(self.last_at).max(1);
        let used = |end: Nanos, start: Nanos| u128::from(end.0.saturating_sub(start.0));
        let user = used(usage.user, self.last.user);
        let system = used(usage.system, self.last.system);
        let mut from = self.last_at;
        while from < now {
            let slot = usize::try_from(from / self.interval).unwrap_or(usize::MAX);
            let Some(row) = self.rows.get_mut(slot) else { break };
            let to = now.min((from / self.interval + 1) * self.interval);
            let part = |used: u128| Nanos((used * u128::from(to - from) / u128::from(span)) as u64);
            row.user = row.user + part(user);
            row.system = row.system + part(system);
            from = to;
        }
        (self.last_at, self.last) = (now, usage);
        let over = self.rows.len() as u64 * self.interval;
        self.next = if now >= over { u64::MAX } else { (now / self.interval + 1) * self.interval };
    }
}

/// Adds another thread's rows, as far as both go; the first of a side goes as far as it does.
pub(crate) fn add(all: &mut Vec<ThreadCpu>, more: &[ThreadCpu]) {
    if all.is_empty() {
        all.extend_from_slice(more);
        return;
    }
    all.truncate(more.len());
    for (sum, one) in all.iter_mut().zip(more) {
        sum.user = sum.user + one.user;
        sum.system = sum.system + one.system;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usage(user: u64, system: u64) -> ThreadCpu {
        ThreadCpu { user: Nanos(user), system: Nanos(system) }
    }

    #[test]
    fn what_is_noticed_late_is_dealt_over_the_time_since() {
        let mut log = CpuLog::new(Nanos(40), Nanos(10));
        log.read(10, usage(10, 0));
        log.read(35, usage(10, 25));
        assert_eq!(log.rows(), [usage(10, 0), usage(0, 10), usage(0, 10), usage(0, 5)]);
        log.read(60, usage(35, 25));
        assert_eq!(log.rows()[3], usage(5, 5));
    }

    #[test]
    fn sides_add_up_as_far_as_all_go() {
        let mut all = Vec::new();
        add(&mut all, &[usage(1, 2), usage(3, 4)]);
        add(&mut all, &[usage(10, 20)]);
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
                    log.read(now, usage(user, system));
                }
            }
            let sum = |part: fn(&ThreadCpu) -> Nanos| log.rows().iter().map(|row| part(row).0).sum::<u64>();
            prop_assert!(sum(|row| row.user) <= user && sum(|row| row.system) <= system);
        }
    }
}
