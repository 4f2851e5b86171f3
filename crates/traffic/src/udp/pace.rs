//! When each datagram is due: an absolute schedule, so that what is a little late does not make the next one late.

use crate::clock;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;

/// A schedule of so many datagrams per second. Times are ns after the trial's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// From one datagram to the next, ns.
    period: f64,
    /// When number 0 would be due, had nothing been forgiven.
    origin: f64,
    done: u64,
    /// How many go together.
    group: u64,
}

impl Schedule {
    /// What is later than this is forgiven, ns: no burst longer than this makes up for a pause.
    const LATEST: f64 = 1e6;

    /// Datagrams `group` by `group`, the first one due at `origin`.
    pub(crate) fn new(per_second: f64, group: u64, origin: f64) -> Self {
        Self { period: 1e9 / per_second, origin, done: 0, group: group.max(1) }
    }

    /// When the last one of the next group is due.
    #[inline]
    pub(crate) fn next(&self) -> f64 {
        self.origin + (self.done + self.group - 1) as f64 * self.period
    }

    /// How many are due now: whole groups. What is more than a millisecond late is due no more.
    #[inline]
    pub(crate) fn due(&mut self, now: u64) -> u64 {
        let late = now as f64 - self.next();
        if late < 0.0 {
            return 0;
        }
        if late > Self::LATEST {
            self.origin += late - Self::LATEST;
        }
        let more = (late.min(Self::LATEST) / self.period) as u64;
        self.group * (1 + more / self.group)
    }

    /// Notes how many of them were sent.
    #[inline]
    pub(crate) fn sent(&mut self, datagrams: u64) {
        self.done += datagrams;
    }
}

/// A thread's way to wait for a moment: asleep while it is far, looking at the clock when it is near.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// The monotonic clock at the trial's beginning, ns.
    epoch: u64,
}

impl Waiter {
    /// How long before the moment the thread is woken, ns: as long as that takes, usually, on a core that has gone to
    /// sleep.
    const NEAR: u64 = 25_000;

    /// For the calling thread, whose timers shall not be late for the sake of others (prctl(2), PR_SET_TIMERSLACK).
    pub(crate) fn new(epoch: u64) -> Self {
        // Refused, timers are up to 50 µs late: a little less than what is spun.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Self { epoch }
    }

    /// The time after the trial's beginning, ns.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        clock::now().0.saturating_sub(self.epoch)
    }

    /// Goes some way towards a moment: it may be called again and again until the moment is there.
    #[inline]
    pub(crate) fn approach(&self, moment: u64, now: u64) {
        if moment.saturating_sub(now) > 2 * Self::NEAR {
            self.sleep_until(moment - Self::NEAR);
        } else {
            std::hint::spin_loop();
        }
    }

    /// Sleeps until a moment, unless a signal wakes the thread.
    pub(crate) fn sleep_until(&self, moment: u64) {
        let until = self.epoch + moment;
        let time = Timespec {
            tv_sec: (until / 1_000_000_000) as i64,
            tv_nsec: (until % 1_000_000_000) as _,
        };
        // Woken too early, the caller looks at the clock again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_is_due_at_its_time_and_not_before() {
        let mut schedule = Schedule::new(1e6, 1, 0.0);
        assert_eq!(schedule.due(0), 1);
        schedule.sent(1);
        assert_eq!(schedule.due(999), 0);
        assert_eq!(schedule.due(1000), 1);
        assert_eq!(schedule.due(3999), 3);
        schedule.sent(3);
        assert_eq!((schedule.due(3999), schedule.next()), (0, 4000.0));
    }

    #[test]
    fn no_more_than_a_millisecond_is_made_up_for() {
        let mut schedule = Schedule::new(1e5, 1, 0.0);
        assert_eq!(schedule.due(50_000_000), 101);
        schedule.sent(101);
        assert_eq!(schedule.due(50_000_000), 0);
        assert!(schedule.next() <= 50_010_000.0);
        let mut slow = Schedule::new(10.0, 1, 0.0);
        assert_eq!(slow.due(999_000_000), 1);
        slow.sent(1);
        assert_eq!(slow.due(999_000_001), 0);
    }

    #[test]
    fn groups_go_whole_when_their_last_one_is_due() {
        let mut schedule = Schedule::new(1e6, 4, 0.0);
        assert_eq!(schedule.due(2999), 0);
        assert_eq!(schedule.due(3000), 4);
        assert_eq!(schedule.due(9000), 8);
    }

    proptest! {
        #[test]
        fn who_looks_often_enough_sends_exactly_the_rate(
            rate in 1.0e3f64..1.0e6,
            step in 1u64..500_000,
            group in 1u64..8,
        ) {
            let mut schedule = Schedule::new(rate, group, 0.0);
            let (mut now, mut sent) = (0, 0);
            while now < 100_000_000 {
                let due = schedule.due(now);
                schedule.sent(due);
                sent += due;
                now += step;
            }
            let expected = rate * (now - step) as f64 / 1e9 + 1.0;
            // Groups are whole; while one is waited for nothing is late.
            let slack = group as f64 + 1e-6;
            prop_assert!((sent as f64) <= expected + 1e-6 && sent as f64 > expected - slack - 1.0,
                "{sent} of {expected}");
        }
    }
}
