//! Counters of datagrams, by the interval of the sender's clock in which they were sent.

use super::sequence_tracker::Arrival;
use tare_record::{DatagramCounts, Interval, Nanos};

/// Counters of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IntervalRow {
    bytes: u64,
    datagrams: DatagramCounts,
    /// Sum of the jitter after every received datagram, ns.
    jitter: u64,
}

impl IntervalRow {
    fn add(&mut self, other: &Self) {
        let (into, more) = (&mut self.datagrams, &other.datagrams);
        into.sent += more.sent;
        into.sent_bytes += more.sent_bytes;
        into.received += more.received;
        into.duplicates += more.duplicates;
        into.reordered += more.reordered;
        self.bytes += other.bytes;
        self.jitter = self.jitter.saturating_add(other.jitter);
    }
}

/// Counters of one client's flows on one thread, on either side.
#[derive(Clone, Debug)]
pub(crate) struct IntervalCounters {
    interval: u64,
    rows: Vec<IntervalRow>,
    /// Index of the current row. It covers the time from `from` to `to`, ns.
    row: usize,
    from: u64,
    to: u64,
    /// Datagrams outside the whole intervals. They belong to the total, but to no interval record.
    outside: IntervalRow,
}

impl IntervalCounters {
    /// Creates counters for a trial of this duration. Allocates and touches all memory that they use.
    pub(crate) fn new(duration: Nanos, interval: Nanos) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        let mut rows = vec![IntervalRow { bytes: 1, ..IntervalRow::default() }; slots];
        rows.fill(IntervalRow::default());
        Self { interval, rows, row: 0, from: 0, to: interval, outside: IntervalRow::default() }
    }

    /// Returns the row of a sending time.
    #[inline]
    fn row_at(&mut self, sent: u64) -> &mut IntervalRow {
        if sent < self.from || sent >= self.to {
            let row = sent / self.interval;
            self.row = usize::try_from(row).unwrap_or(usize::MAX);
            self.from = row * self.interval;
            self.to = self.from.saturating_add(self.interval);
        }
        self.rows.get_mut(self.row).unwrap_or(&mut self.outside)
    }

    /// Time of datagrams that belong to no interval: those of a slice's beginning.
    pub(crate) const OUTSIDE: u64 = u64::MAX;

    /// Counts `datagrams` datagrams of `size` bytes, sent at time `at`.
    #[inline]
    pub(crate) fn count_sent(&mut self, at: u64, datagrams: u64, size: u64) {
        let row = self.row_at(at);
        row.datagrams.sent += datagrams;
        row.datagrams.sent_bytes += datagrams * size;
    }

    /// Counts a received datagram that was sent at time `sent`. `jitter` is the jitter after it, ns.
    #[inline]
    pub(crate) fn count_received(&mut self, sent: u64, arrival: Arrival, bytes: u64, jitter: u64) {
        let row = self.row_at(sent);
        match arrival {
            Arrival::Duplicate => {
                row.datagrams.duplicates += 1;
                return;
            }
            Arrival::Reordered => row.datagrams.reordered += 1,
            Arrival::InOrder => {}
        }
        row.datagrams.received += 1;
        row.bytes += bytes;
        row.jitter = row.jitter.saturating_add(jitter);
    }

    /// Adds another thread's counters of the same client.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.add(more);
        }
        self.outside.add(&other.outside);
    }

    /// Returns the total, including datagrams outside the whole intervals.
    pub(crate) fn total(&self) -> DatagramCounts {
        let mut total = self.outside;
        self.rows.iter().for_each(|row| total.add(row));
        total.datagrams
    }

    /// Returns the records of the trial's whole intervals.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        (0u64..)
            .zip(&self.rows)
            .map(|(index, row)| Interval {
                start: Nanos(index * self.interval),
                length: Nanos(self.interval),
                bytes: row.bytes,
                datagrams: Some(DatagramCounts {
                    jitter: Nanos(row.jitter.checked_div(row.datagrams.received).unwrap_or(0)),
                    ..row.datagrams
                }),
                ..Interval::default()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_is_booked_where_it_was_sent() {
        let mut tally = IntervalCounters::new(Nanos(30), Nanos(10));
        tally.count_sent(0, 2, 100);
        tally.count_sent(29, 3, 100);
        tally.count_received(29, Arrival::InOrder, 100, 4);
        tally.count_received(0, Arrival::Reordered, 100, 8);
        tally.count_received(29, Arrival::InOrder, 100, 8);
        tally.count_received(29, Arrival::Duplicate, 100, 50);
        tally.count_received(30, Arrival::InOrder, 100, 0);
        let found = tally.intervals();
        let datagrams: Vec<DatagramCounts> = found.iter().filter_map(|one| one.datagrams).collect();
        assert_eq!(found.iter().map(|one| one.bytes).collect::<Vec<_>>(), [100, 0, 200]);
        assert_eq!(
            (datagrams[0].sent, datagrams[0].sent_bytes, datagrams[0].reordered),
            (2, 200, 1)
        );
        assert_eq!(datagrams[1], DatagramCounts::default());
        assert_eq!((datagrams[2].received, datagrams[2].duplicates), (2, 1));
        assert_eq!((datagrams[2].jitter, datagrams[0].jitter), (Nanos(6), Nanos(8)));
        assert_eq!((tally.total().received, tally.total().sent), (4, 5));
    }

    proptest! {
        #[test]
        fn threads_add_up(
            events in prop::collection::vec((0u64..400, 0u64..1000, any::<bool>(), any::<bool>()), 0..100),
            duration in 1u64..300,
            interval in 1u64..50,
        ) {
            let tally = || IntervalCounters::new(Nanos(duration), Nanos(interval));
            let (mut all, mut one, mut two) = (tally(), tally(), tally());
            for (at, bytes, sent, first) in events {
                for into in [&mut all, if first { &mut one } else { &mut two }] {
                    if sent { into.count_sent(at, 1, bytes) } else { into.count_received(at, Arrival::InOrder, bytes, 3) }
                }
            }
            one.merge(&two);
            prop_assert_eq!(one.intervals(), all.intervals());
            prop_assert_eq!(one.total(), all.total());
        }
    }
}
