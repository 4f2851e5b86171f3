//! Byte meter: counts received bytes by interval, from timestamps.
//!
//! Intervals lie on a grid that begins with the first payload byte; a byte counts in the interval in which the kernel
//! handed it over. Bytes outside the whole intervals are the tail: they are in no record, but in the total.

use crate::stall::StallTracker;
use tare_record::{Interval, Nanos};

/// Meter of the bytes of one client's flows on one thread. Times are ns after the client's first payload byte and never
/// decrease.
#[derive(Clone, Debug)]
pub(crate) struct ByteMeter {
    interval: u64,
    /// Bytes of every interval of the trial's duration.
    counts: Vec<u64>,
    current: usize,
    current_ends: u64,
    total: u64,
    first_end: Option<u64>,
    gaps: StallTracker,
}

impl ByteMeter {
    /// Creates a meter for a trial of this duration. Allocates and touches all memory that it will use.
    pub(crate) fn new(duration: Nanos, interval: Nanos) -> Self {
        let slots = usize::try_from(duration.0 / interval.0.max(1)).unwrap_or(usize::MAX);
        // The kernel maps memory of zeros only when it is first written to.
        let mut counts = vec![u64::MAX; slots];
        counts.fill(0);
        Self {
            interval: interval.0.max(1),
            counts,
            current: 0,
            current_ends: interval.0.max(1),
            total: 0,
            first_end: None,
            gaps: StallTracker::new(duration),
        }
    }

    /// Counts bytes received at this time.
    pub(crate) fn add(&mut self, at: u64, bytes: u64) {
        while at >= self.current_ends && self.current < self.counts.len() {
            self.current += 1;
            self.current_ends += self.interval;
        }
        if let Some(count) = self.counts.get_mut(self.current) {
            *count += bytes;
        }
        self.total += bytes;
        self.gaps.note_progress(at);
    }

    /// Counts bytes that belong to no interval: the beginning or the end of a slice.
    pub(crate) fn add_outside(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// Records the end of a flow at this time. Intervals after the first end are not whole.
    pub(crate) fn note_end(&mut self, at: u64) {
        self.first_end = Some(self.first_end.map_or(at, |first| first.min(at)));
    }

    /// Adds another thread's counts of the same client.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        if let Some(end) = other.first_end {
            self.note_end(end);
        }
        self.gaps.merge(other.gaps);
    }

    /// Returns all bytes, including those outside the whole intervals.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the tracker of the longest stretch without progress.
    pub(crate) fn gaps(&self) -> StallTracker {
        self.gaps
    }

    /// Returns the whole intervals.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let whole = self.first_end.map_or(u64::MAX, |end| end / self.interval);
        (0u64..)
            .zip(&self.counts)
            .take_while(|(index, _)| *index < whole)
            .map(|(index, &bytes)| Interval {
                start: Nanos(index * self.interval),
                length: Nanos(self.interval),
                bytes,
                ..Interval::default()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn meter(duration: u64, interval: u64) -> ByteMeter {
        ByteMeter::new(Nanos(duration), Nanos(interval))
    }

    fn bytes(meter: &ByteMeter) -> Vec<u64> {
        meter.intervals().iter().map(|interval| interval.bytes).collect()
    }

    #[test]
    fn bytes_fall_into_the_interval_in_which_they_came() {
        let mut meter = meter(40, 10);
        for (at, count) in [(0, 1), (9, 2), (10, 4), (35, 8), (39, 16), (40, 32), (90, 64)] {
            meter.add(at, count);
        }
        meter.note_end(95);
        assert_eq!(bytes(&meter), [3, 4, 0, 24]);
        assert_eq!(meter.total(), 127);
    }

    #[test]
    fn an_interval_in_which_a_flow_ended_is_not_whole() {
        let mut meter = meter(40, 10);
        meter.add(5, 1);
        meter.add(25, 2);
        meter.note_end(29);
        meter.add(35, 4);
        meter.note_end(36);
        assert_eq!(bytes(&meter), [1, 0]);
        assert_eq!(meter.total(), 7);
    }

    #[test]
    fn silence_is_zeros_not_absence() {
        assert_eq!(bytes(&meter(30, 10)), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_threads_add_up(
            steps in prop::collection::vec((0u64..30, 0u64..1000, any::<bool>()), 0..100),
            duration in 1u64..300,
            interval in 1u64..50,
        ) {
            let (mut all, mut one, mut two) =
                (meter(duration, interval), meter(duration, interval), meter(duration, interval));
            let mut now = 0;
            let mut tail = 0;
            let whole = duration / interval * interval;
            for (step, count, first) in steps {
                now += step;
                all.add(now, count);
                if first { one.add(now, count) } else { two.add(now, count) }
                if now >= whole {
                    tail += count;
                }
            }
            one.merge(&two);
            prop_assert_eq!(bytes(&one), bytes(&all));
            prop_assert_eq!(one.total(), all.total());
            prop_assert_eq!(bytes(&all).iter().sum::<u64>() + tail, all.total());
        }
    }
}
