//! Stall detection: the longest stretch without progress.

use tare_record::finding::ClientStall;
use tare_record::{Finding, Nanos};

/// Tracker of stretches without progress among the flows of one thread. Times are ns after the first payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StallTracker {
    duration: u64,
    last: u64,
    longest: u64,
}

impl StallTracker {
    /// Shortest stretch that is reported whatever the interval, ns: shorter ones are due to scheduling.
    const LEAST: u64 = 100_000_000;

    /// Creates a tracker for a trial of this duration; later events do not count.
    pub(crate) fn new(duration: Nanos) -> Self {
        Self { duration: duration.0, last: 0, longest: 0 }
    }

    /// Records progress at this time.
    pub(crate) fn note_progress(&mut self, at: u64) {
        let at = at.min(self.duration);
        self.longest = self.longest.max(at.saturating_sub(self.last));
        self.last = self.last.max(at);
    }

    /// Returns the tracker of a trial that ended at this time, before its duration was over: nothing was due afterwards.
    pub(crate) fn ended_at(self, end: u64) -> Self {
        Self { duration: self.duration.min(end.max(self.last)), ..self }
    }

    /// Merges another thread's longest stretch.
    pub(crate) fn merge(&mut self, other: Self) {
        self.longest = self.longest().max(other.longest());
        self.last = self.duration;
    }

    /// Returns the longest stretch, including the one up to the end of the trial.
    fn longest(self) -> u64 {
        self.longest.max(self.duration - self.last)
    }

    /// Returns a finding if a stretch was longer than an interval and than scheduling explains.
    pub(crate) fn finding(self, interval: Nanos) -> Option<Finding> {
        let longest = self.longest();
        (longest > interval.0.max(Self::LEAST))
            .then_some(Finding::ClientStall(ClientStall { longest: Nanos(longest) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn gaps(times: &[u64]) -> StallTracker {
        let mut gaps = StallTracker::new(Nanos(1000 * MS));
        times.iter().for_each(|at| gaps.note_progress(at * MS));
        gaps
    }

    #[test]
    fn the_longest_stretch_may_be_anywhere() {
        let steady: Vec<u64> = (0..=10).map(|n| n * 90).chain([995]).collect();
        assert_eq!(gaps(&steady).finding(Nanos(10 * MS)), None);
        for (times, longest) in [
            (vec![300, 400, 500, 600, 700, 800, 900, 1000], 300),
            (vec![100, 200, 600, 700, 800, 900, 1000], 400),
            (vec![100, 200, 300, 400, 500], 500),
            (vec![], 1000),
        ] {
            let found = gaps(&times).finding(Nanos(10 * MS));
            assert_eq!(
                found,
                Some(Finding::ClientStall(ClientStall { longest: Nanos(longest * MS) })),
                "{times:?}"
            );
        }
    }

    #[test]
    fn a_stretch_within_an_interval_or_after_the_end_is_none() {
        let times: Vec<u64> = (1..=5).map(|n| n * 200).chain([3000]).collect();
        assert_eq!(gaps(&times).finding(Nanos(250 * MS)), None);
        assert!(gaps(&times).finding(Nanos(100 * MS)).is_some());
    }

    #[test]
    fn nothing_is_due_after_the_end_of_a_trial_that_a_count_ended() {
        let counted = gaps(&[50, 100, 350]);
        assert_eq!(
            counted.ended_at(350 * MS).finding(Nanos(10 * MS)),
            Some(Finding::ClientStall(ClientStall { longest: Nanos(250 * MS) }))
        );
        assert_eq!(gaps(&[50, 100]).ended_at(100 * MS).finding(Nanos(10 * MS)), None);
    }

    #[test]
    fn threads_are_merged_to_the_worst() {
        let mut one = gaps(&[100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
        one.merge(gaps(&[500, 1000]));
        assert_eq!(
            one.finding(Nanos(MS)),
            Some(Finding::ClientStall(ClientStall { longest: Nanos(500 * MS) }))
        );
    }
}
