//! The books: datagrams by the interval of the sender's clock in which they were sent.

use super::track::Arrival;
use tare_record::{Datagrams, Interval, Nanos};

/// What was counted in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    bytes: u64,
    datagrams: Datagrams,
    /// The sum of the jitter after every datagram that came, ns.
    jitter: u64,
}

impl Row {
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

/// The books of one client's flows on one thread, on either side.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    interval: u64,
    rows: Vec<Row>,
    /// The row in use, and from when to when it goes.
    row: usize,
    from: u64,
    to: u64,
    /// Datagrams outside the whole intervals, which belong to no record, yet to the total.
    outside: Row,
}

impl Tally {
    /// Books for a trial of this duration. All memory they will use is allocated and touched here.
    pub(crate) fn new(duration: Nanos, interval: Nanos) -> Self {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        let mut rows = vec![Row { bytes: 1, ..Row::default() }; slots];
        rows.fill(Row::default());
        Self { interval, rows, row: 0, from: 0, to: interval, outside: Row::default() }
    }

    /// The row of what was sent at this time.
    #[inline]
    fn row(&mut self, sent: u64) -> &mut Row {
        if sent < self.from || sent >= self.to {
            let row = sent / self.interval;
            self.row = usize::try_from(row).unwrap_or(usize::MAX);
            self.from = row * self.interval;
            self.to = self.from.saturating_add(self.interval);
        }
        self.rows.get_mut(self.row).unwrap_or(&mut self.outside)
    }

    /// Counts datagrams of this size, sent at this time.
    #[inline]
    pub(crate) fn sent(&mut self, at: u64, datagrams: u64, size: u64) {
        let row = self.row(at);
        row.datagrams.sent += datagrams;
        row.datagrams.sent_bytes += datagrams * size;
    }

    /// Counts a datagram that came and was sent at this time; the jitter after it, ns.
    #[inline]
    pub(crate) fn received(&mut self, sent: u64, arrival: Arrival, bytes: u64, jitter: u64) {
        let row = self.row(sent);
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

    /// Adds another thread's books of the same client.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.add(more);
        }
        self.outside.add(&other.outside);
    }

    /// Everything, also outside the whole intervals.
    pub(crate) fn total(&self) -> Datagrams {
        let mut total = self.outside;
        self.rows.iter().for_each(|row| total.add(row));
        total.datagrams
    }

    /// The whole intervals of the trial.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        (0u64..)
            .zip(&self.rows)
            .map(|(index, row)| Interval {
                start: Nanos(index * self.interval),
                length: Nanos(self.interval),
                bytes: row.bytes,
                datagrams: Some(Datagrams {
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
        let mut tally = Tally::new(Nanos(30), Nanos(10));
        tally.sent(0, 2, 100);
        tally.sent(29, 3, 100);
        tally.received(29, Arrival::InOrder, 100, 4);
        tally.received(0, Arrival::Reordered, 100, 8);
        tally.received(29, Arrival::InOrder, 100, 8);
        tally.received(29, Arrival::Duplicate, 100, 50);
        tally.received(30, Arrival::InOrder, 100, 0);
        let found = tally.intervals();
        let datagrams: Vec<Datagrams> = found.iter().filter_map(|one| one.datagrams).collect();
        assert_eq!(found.iter().map(|one| one.bytes).collect::<Vec<_>>(), [100, 0, 200]);
        assert_eq!(
            (datagrams[0].sent, datagrams[0].sent_bytes, datagrams[0].reordered),
            (2, 200, 1)
        );
        assert_eq!(datagrams[1], Datagrams::default());
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
            let tally = || Tally::new(Nanos(duration), Nanos(interval));
            let (mut all, mut one, mut two) = (tally(), tally(), tally());
            for (at, bytes, sent, first) in events {
                for into in [&mut all, if first { &mut one } else { &mut two }] {
                    if sent { into.sent(at, 1, bytes) } else { into.received(at, Arrival::InOrder, bytes, 3) }
                }
            }
            one.merge(&two);
            prop_assert_eq!(one.intervals(), all.intervals());
            prop_assert_eq!(one.total(), all.total());
        }
    }
}
