//! Absolute schedule of datagrams: a late datagram does not delay the next.

use crate::clock;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;

/// Schedule of datagrams at a constant rate. Times are ns after the trial's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendSchedule {
    /// Time from one datagram to the next, ns.
    period: f64,
    /// Due time of datagram 0, ns, moved by all delays that are not made up for.
    origin: f64,
    done: u64,
    /// Number of datagrams that are sent together.
    group: u64,
}

impl SendSchedule {
    /// Longest delay that is made up for, ns. A burst after a pause is never longer than this.
    const MAX_CATCH_UP: f64 = 1e6;

    /// Creates a schedule of groups of `group` datagrams, whose first datagram is due at `origin`.
    pub(crate) fn new(per_second: f64, group: u64, origin: f64) -> Self {
        Self { period: 1e9 / per_second, origin, done: 0, group: group.max(1) }
    }

    /// Returns the due time of the last datagram of the next group, ns.
    #[inline]
    pub(crate) fn next_due(&self) -> f64 {
        self.origin + (self.done + self.group - 1) as f64 * self.period
    }

    /// Returns the number of datagrams that are due now, in whole groups. Datagrams that are more than a millisecond
    /// late are not made up for.
    #[inline]
    pub(crate) fn due(&mut self, now: u64) -> u64 {
        let late = now as f64 - self.next_due();
        if late < 0.0 {
            return 0;
        }
        if late > Self::MAX_CATCH_UP {
            self.origin += late - Self::MAX_CATCH_UP;
        }
        let more = (late.min(Self::MAX_CATCH_UP) / self.period) as u64;
        self.group * (1 + more / self.group)
    }

    /// Counts datagrams that were sent.
    #[inline]
    pub(crate) fn record_sent(&mut self, datagrams: u64) {
        self.done += datagrams;
    }
}

/// Timer of a thread that waits precisely: it sleeps until shortly before the moment, then spins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreciseTimer {
    /// The monotonic clock at the trial's beginning, ns.
    epoch: u64,
}

impl PreciseTimer {
    /// Time before the moment at which the thread is woken, ns: the usual wake-up latency of a core that has gone to
    /// sleep.
    const WAKE_AHEAD: u64 = 25_000;

    /// Creates a timer for the calling thread, and reduces its timer slack to 1 ns (prctl(2), PR_SET_TIMERSLACK).
    pub(crate) fn new(epoch: u64) -> Self {
        // If this is refused, timers are up to 50 µs late: a little less than the time spent spinning.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Self { epoch }
    }

    /// Returns the time since the trial's beginning, ns.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        clock::now().0.saturating_sub(self.epoch)
    }

    /// Waits for a part of the time until a moment. To be called repeatedly until the moment has come.
    #[inline]
    pub(crate) fn approach(&self, moment: u64, now: u64) {
        if moment.saturating_sub(now) > 2 * Self::WAKE_AHEAD {
            self.sleep_until(moment - Self::WAKE_AHEAD);
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
        // If the thread wakes too early, the caller reads the clock again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_is_due_at_its_time_and_not_before() {
        let mut schedule = SendSchedule::new(1e6, 1, 0.0);
        assert_eq!(schedule.due(0), 1);
        schedule.record_sent(1);
        assert_eq!(schedule.due(999), 0);
        assert_eq!(schedule.due(1000), 1);
        assert_eq!(schedule.due(3999), 3);
        schedule.record_sent(3);
        assert_eq!((schedule.due(3999), schedule.next_due()), (0, 4000.0));
    }

    #[test]
    fn no_more_than_a_millisecond_is_made_up_for() {
        let mut schedule = SendSchedule::new(1e5, 1, 0.0);
        assert_eq!(schedule.due(50_000_000), 101);
        schedule.record_sent(101);
        assert_eq!(schedule.due(50_000_000), 0);
        assert!(schedule.next_due() <= 50_010_000.0);
        let mut slow = SendSchedule::new(10.0, 1, 0.0);
        assert_eq!(slow.due(999_000_000), 1);
        slow.record_sent(1);
        assert_eq!(slow.due(999_000_001), 0);
    }

    #[test]
    fn groups_go_whole_when_their_last_one_is_due() {
        let mut schedule = SendSchedule::new(1e6, 4, 0.0);
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
            let mut schedule = SendSchedule::new(rate, group, 0.0);
            let (mut now, mut sent) = (0, 0);
            while now < 100_000_000 {
                let due = schedule.due(now);
                schedule.record_sent(due);
                sent += due;
                now += step;
            }
            let expected = rate * (now - step) as f64 / 1e9 + 1.0;
            // Groups are sent whole: nothing is late while a group is incomplete.
            let slack = group as f64 + 1e-6;
            prop_assert!((sent as f64) <= expected + 1e-6 && sent as f64 > expected - slack - 1.0,
                "{sent} of {expected}");
        }
    }
}
