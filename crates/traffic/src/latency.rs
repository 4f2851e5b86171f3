//! The log of round-trip latencies on one thread: raw nanoseconds while the trial runs, histograms afterwards.
//!
//! The loop only writes a number into memory that was touched before. A long trial does not fit in that memory: then
//! what is logged is folded into histograms, by choice at the boundary of an interval, between two transactions, so
//! that no latency contains it (on a thread with several flows those outstanding at that moment do).

use crate::stall::Gaps;
use tare_record::{HistogramError, Interval, LatencyHistogram, Nanos};

/// Latencies of one thread's transactions. Times are ns after the beginning and never go back.
#[derive(Debug)]
pub(crate) struct LatencyLog {
    interval: u64,
    slots: usize,
    samples: Vec<u64>,
    /// Where in `samples` each interval that was closed since the last fold ends.
    marks: Vec<usize>,
    /// Intervals closed before the last fold.
    folded: usize,
    current_ends: u64,
    histograms: Vec<LatencyHistogram>,
    completed: u64,
    gaps: Gaps,
}

impl LatencyLog {
    /// More round trips a second than one core has been seen to make by socket calls.
    const MOST_PER_SECOND: u64 = 300_000;
    /// The most latencies kept raw: 8 MiB.
    const MOST: u64 = 1 << 20;
    /// The fewest kept raw.
    const LEAST: u64 = 1 << 12;

    /// A log for one of `sharing` threads on a core. All memory that the loop will use is allocated and touched here.
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
            samples: touched(capacity, u64::MAX),
            marks: touched(slots, usize::MAX),
            folded: 0,
            current_ends: interval,
            histograms: Vec::with_capacity(slots),
            completed: 0,
            gaps: Gaps::new(duration),
        }
    }

    /// Logs a transaction that completed at a time.
    pub(crate) fn add(&mut self, at: u64, latency: u64) -> Result<(), HistogramError> {
        self.completed += 1;
        self.gaps.progress(at);
        if at >= self.current_ends {
            self.close_until(at)?;
        }
        if self.open_interval() < self.slots {
            if self.samples.len() == self.samples.capacity() {
                self.fold()?;
            }
            self.samples.push(latency);
        }
        Ok(())
    }

    /// The interval now being filled.
    fn open_interval(&self) -> usize {
        self.folded + self.marks.len()
    }

    fn close_until(&mut self, at: u64) -> Result<(), HistogramError> {
        while at >= self.current_ends && self.open_interval() < self.slots {
            self.marks.push(self.samples.len());
            self.current_ends += self.interval;
        }
        if self.samples.len() > self.samples.capacity() / 2 {
            self.fold()?;
        }
        Ok(())
    }

    /// Empties the samples into histograms.
    fn fold(&mut self) -> Result<(), HistogramError> {
        let mut from = 0;
        let ends = self.marks.iter().copied().chain([self.samples.len()]);
        for (index, end) in (self.folded..self.slots).zip(ends) {
            while self.histograms.len() <= index {
                self.histograms.push(LatencyHistogram::new()?);
            }
            for &sample in &self.samples[from..end] {
                self.histograms[index].record(sample);
            }
            from = end;
        }
        self.folded += self.marks.len();
        self.marks.clear();
        self.samples.clear();
        Ok(())
    }

    /// All transactions, those outside the whole intervals too.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// The longest stretch without a completion.
    pub(crate) fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// The whole intervals of the trial.
    pub(crate) fn intervals(mut self) -> Result<Vec<Interval>, HistogramError> {
        self.fold()?;
        while self.histograms.len() < self.slots {
            self.histograms.push(LatencyHistogram::new()?);
        }
        let interval = self.interval;
        Ok((0u64..)
            .zip(self.histograms)
            .map(|(index, latency)| Interval {
                start: Nanos(index * interval),
                length: Nanos(interval),
                bytes: 0,
                operations: latency.count(),
                latency: Some(latency),
                ..Interval::default()
            })
            .collect())
    }
}

/// An empty vector whose memory has been written to, so that no page fault comes later.
fn touched<T: Copy>(capacity: usize, value: T) -> Vec<T> {
    let mut memory = vec![value; capacity];
    memory.clear();
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(log: LatencyLog) -> Vec<Vec<(u64, u64)>> {
        let intervals = log.intervals().unwrap();
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
