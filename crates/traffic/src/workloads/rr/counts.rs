//! Requests sent and answered by the interval in which they were sent, where some may be lost.

use tare_record::{Datagrams, Interval, Nanos};

/// The requests of one thread. Times are ns after the beginning.
#[derive(Debug)]
pub(super) struct Counts {
    interval: u64,
    /// Sent, and answered, in every interval.
    rows: Vec<(u64, u64)>,
    /// Sent in all.
    pub(super) sent: u64,
    /// Answered in all.
    pub(super) answered: u64,
}

impl Counts {
    /// For a trial of this duration. All memory that it will use is allocated and touched here.
    pub(super) fn new(duration: Nanos, interval: Nanos) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        let mut rows = vec![(1, 1); slots];
        rows.fill((0, 0));
        Self { interval, rows, sent: 0, answered: 0 }
    }

    fn row(&mut self, at: u64) -> Option<&mut (u64, u64)> {
        self.rows.get_mut(usize::try_from(at / self.interval).unwrap_or(usize::MAX))
    }

    /// A request was sent at a time.
    pub(super) fn sent(&mut self, at: u64) {
        self.sent += 1;
        if let Some((sent, _)) = self.row(at) {
            *sent += 1;
        }
    }

    /// A request that was sent at a time has been answered.
    pub(super) fn answered(&mut self, at: u64) {
        self.answered += 1;
        if let Some((_, answered)) = self.row(at) {
            *answered += 1;
        }
    }

    /// Adds them to the intervals, with requests of so many bytes.
    pub(super) fn add_to(&self, intervals: &mut [Interval], size: usize) {
        for (interval, &(sent, received)) in intervals.iter_mut().zip(&self.rows) {
            interval.datagrams = Some(Datagrams {
                sent,
                sent_bytes: sent * size as u64,
                received,
                ..Datagrams::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_where_its_request_was_sent() {
        let mut counts = Counts::new(Nanos(20), Nanos(10));
        [1, 9, 10, 25].into_iter().for_each(|at| counts.sent(at));
        [9, 10, 25].into_iter().for_each(|at| counts.answered(at));
        assert_eq!((counts.sent, counts.answered), (4, 3));
        assert_eq!(counts.rows, [(2, 1), (1, 1)]);
    }
}
