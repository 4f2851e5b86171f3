//! Counters of requests and responses, by the interval in which the request was sent, for transports that lose some.

use tare_record::{DatagramCounts, Interval, Nanos};

/// Counters of one thread's requests. Times are ns after the beginning.
#[derive(Debug)]
pub(super) struct RequestCounts {
    interval: u64,
    /// Requests sent, and answered, by interval.
    rows: Vec<(u64, u64)>,
    /// Requests sent in total.
    pub(super) sent: u64,
    /// Requests answered in total.
    pub(super) answered: u64,
}

impl RequestCounts {
    /// Creates counters for a trial of this duration. Allocates and touches all memory that they will use.
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

    /// Counts a request sent at this time; `None` for a time that belongs to no interval.
    pub(super) fn count_sent(&mut self, at: Option<u64>) {
        self.sent += 1;
        if let Some((sent, _)) = at.and_then(|at| self.row(at)) {
            *sent += 1;
        }
    }

    /// Counts the answer to a request that was sent at this time; `None` as above.
    pub(super) fn count_answered(&mut self, at: Option<u64>) {
        self.answered += 1;
        if let Some((_, answered)) = at.and_then(|at| self.row(at)) {
            *answered += 1;
        }
    }

    /// Adds the counts to the intervals, for requests of `size` bytes.
    pub(super) fn add_to(&self, intervals: &mut [Interval], size: usize) {
        for (interval, &(sent, received)) in intervals.iter_mut().zip(&self.rows) {
            interval.datagrams = Some(DatagramCounts {
                sent,
                sent_bytes: sent * size as u64,
                received,
                ..DatagramCounts::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_where_its_request_was_sent() {
        let mut counts = RequestCounts::new(Nanos(20), Nanos(10));
        [1, 9, 10, 25].into_iter().for_each(|at| counts.count_sent(Some(at)));
        [9, 10, 25].into_iter().for_each(|at| counts.count_answered(Some(at)));
        assert_eq!((counts.sent, counts.answered), (4, 3));
        assert_eq!(counts.rows, [(2, 1), (1, 1)]);
    }
}
