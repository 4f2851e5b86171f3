//! Log of latencies on one thread: raw nanoseconds while the trial runs, histograms afterwards.
//!
//! The event loop only writes a number into memory that was touched before. A long trial does not fit in that memory:
//! once the memory is nearly full, every new latency moves the oldest one into its histogram, some nanoseconds each
//! time; with the last latency of an interval the histogram is packed, some ten microseconds, while the next request is
//! on its way.

use crate::stall::StallTracker;
use tare_record::{HistogramError, Interval, LatencyHistogram, Nanos};

/// Latencies of one thread's transactions. Times are ns after the beginning and never decrease.
#[derive(Debug)]
pub(crate) struct LatencyLog {
    interval: u64,
    slots: usize,
    /// Ring: the n-th latency is at n modulo its length, which is a power of two.
    ring: Box<[u64]>,
    /// Number of latencies added (`head`), and of those moved to histograms (`tail`).
    head: u64,
    tail: u64,
    /// Value of `head` at the end of each interval.
    marks: Vec<u64>,
    current_ends: u64,
    /// Histogram of the interval whose latencies leave the ring now (`open`); those of earlier intervals (`packed`).
    open: LatencyHistogram,
    packed: Vec<LatencyHistogram>,
    completed: u64,
    gaps: StallTracker,
}

impl LatencyLog {
    /// Upper bound of round trips per second of one core, more than has been observed with socket calls.
    const MOST_PER_SECOND: u64 = 300_000;
    /// Most latencies kept raw: 8 MiB.
    const MOST: u64 = 1 << 20;
    /// Fewest latencies kept raw.
    const LEAST: u64 = 1 << 12;

    /// Creates a log for one of `sharing` threads that share a core. Allocates and touches all memory that the event
    /// loop will use.
    pub(crate) fn new(duration: Nanos, interval: Nanos, sharing: u64) -> Self {
        let expected = duration.0 / 1_000_000_000 * Self::MOST_PER_SECOND + Self::MOST_PER_SECOND;
        let capacity = (expected / sharing.max(1)).clamp(Self::LEAST, Self::MOST);
        Self::with_capacity(duration, interval, usize::try_from(capacity).unwrap_or(usize::MAX))
    }

    fn with_capacity(duration: Nanos, interval: Nanos, capacity: usize) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        Self {
            interval,
            slots,
            // The kernel maps memory of zeros only when it is first written to.
            ring: vec![u64::MAX; capacity.next_power_of_two()].into_boxed_slice(),
            head: 0,
            tail: 0,
            marks: prefaulted_vec(slots, u64::MAX),
            current_ends: interval,
            open: LatencyHistogram::empty(),
            packed: Vec::with_capacity(slots),
            completed: 0,
            gaps: StallTracker::new(duration),
        }
    }

    /// Logs a transaction that completed at this time.
    #[inline]
    pub(crate) fn add(&mut self, at: u64, latency: u64) -> Result<(), HistogramError> {
        self.completed += 1;
        self.gaps.note_progress(at);
        while at >= self.current_ends && self.marks.len() < self.slots {
            self.marks.push(self.head);
            self.current_ends += self.interval;
        }
        if self.marks.len() < self.slots {
            if self.head - self.tail == self.ring.len() as u64 {
                self.fold_oldest()?;
            }
            let at = self.slot_of(self.head);
            self.ring[at] = latency;
            self.head += 1;
        }
        Ok(())
    }

    /// Counts a transaction that belongs to no interval: at the beginning or the end of a slice.
    pub(crate) fn add_outside(&mut self) {
        self.completed += 1;
    }

    fn slot_of(&self, nth: u64) -> usize {
        (nth & (self.ring.len() as u64 - 1)) as usize
    }

    /// Moves the oldest latency into the histogram of its interval.
    fn fold_oldest(&mut self) -> Result<(), HistogramError> {
        if self.tail == 0 {
            self.open = LatencyHistogram::new()?;
        }
        while self.marks.get(self.packed.len()).is_some_and(|&mark| mark <= self.tail) {
            self.packed.push(self.open.drain());
        }
        self.open.record(self.ring[self.slot_of(self.tail)]);
        self.tail += 1;
        Ok(())
    }

    /// Returns the number of all transactions, including those outside the whole intervals.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// Returns the tracker of the longest stretch without a completion.
    pub(crate) fn gaps(&self) -> StallTracker {
        self.gaps
    }

    /// Returns a histogram for every whole interval of the trial.
    pub(crate) fn histograms(mut self) -> Result<Vec<LatencyHistogram>, HistogramError> {
        while self.tail < self.head {
            self.fold_oldest()?;
        }
        self.packed.push(self.open.drain());
        self.packed.resize(self.slots, LatencyHistogram::empty());
        Ok(self.packed)
    }

    /// Returns the whole intervals of the trial, each filled from its histogram by `fill`.
    pub(crate) fn intervals(
        self,
        fill: fn(&mut Interval, LatencyHistogram),
    ) -> Result<Vec<Interval>, HistogramError> {
        let length = self.interval;
        let mut intervals = empty_intervals(self.slots, Nanos(length));
        for (interval, histogram) in intervals.iter_mut().zip(self.histograms()?) {
            fill(interval, histogram);
        }
        Ok(intervals)
    }
}

/// Returns this many intervals of this length, with nothing counted.
pub(crate) fn empty_intervals(slots: usize, length: Nanos) -> Vec<Interval> {
    (0u64..)
        .take(slots)
        .map(|index| Interval { start: Nanos(index * length.0), length, ..Interval::default() })
        .collect()
}

/// Sets the operations and latency of an interval from a histogram of round trips.
pub(crate) fn set_round_trips(interval: &mut Interval, histogram: LatencyHistogram) {
    interval.operations = histogram.count();
    interval.latency = Some(histogram);
}

/// Returns an empty vector whose memory has been written to, so that no page fault comes later.
fn prefaulted_vec<T: Copy>(capacity: usize, value: T) -> Vec<T> {
    let mut memory = vec![value; capacity];
    memory.clear();
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(log: LatencyLog) -> Vec<Vec<(u64, u64)>> {
        let intervals = log.intervals(set_round_trips).unwrap();
        intervals
            .iter()
            .map(|interval| interval.latency.as_ref().unwrap().iter().collect())
            .collect()
    }

    #[test]
    fn latencies_belong_to_the_interval_in_which_they_completed() {
        let mut log = LatencyLog::with_capacity(Nanos(30), Nanos(10), 8);
        for (at, latency) in [(1, 5), (9, 5), (10, 7), (29, 9), (30, 11)] {
            log.add(at, latency).unwrap();
        }
        assert_eq!(log.completed(), 5);
        assert_eq!(counts(log), [vec![(5, 2)], vec![(7, 1)], vec![(9, 1)]]);
    }

    proptest! {
        #[test]
        fn threads_merged_are_one_log(
            steps in prop::collection::vec((0u64..12, 1u64..2_000_000, 0usize..3), 0..200),
            duration in 1u64..400,
            interval in 1u64..40,
        ) {
            let log = || LatencyLog::with_capacity(Nanos(duration), Nanos(interval), 16);
            let (mut one, mut threads) = (log(), [log(), log(), log()]);
            let mut now = 0;
            for (step, latency, thread) in steps {
                now += step;
                one.add(now, latency).unwrap();
                threads[thread].add(now, latency).unwrap();
            }
            let mut merged = Vec::new();
            for thread in threads {
                crate::merge::add_intervals(&mut merged, thread.intervals(set_round_trips).unwrap()).unwrap();
            }
            prop_assert_eq!(merged, one.intervals(set_round_trips).unwrap());
        }

        #[test]
        fn folding_early_changes_nothing(
            steps in prop::collection::vec((0u64..12, 1u64..2000), 0..200),
            duration in 1u64..400,
            interval in 1u64..40,
        ) {
            let log = |capacity| {
                let mut log = LatencyLog::with_capacity(Nanos(duration), Nanos(interval), capacity);
                let mut now = 0;
                for &(step, latency) in &steps {
                    now += step;
                    log.add(now, latency).unwrap();
                }
                log
            };
            let roomy = log(1000);
            prop_assert_eq!(roomy.completed(), steps.len() as u64);
            let expected = counts(roomy);
            prop_assert_eq!(expected.len() as u64, duration / interval);
            prop_assert_eq!(&counts(log(2)), &expected);
            prop_assert_eq!(counts(log(7)), expected);
        }
    }
}
