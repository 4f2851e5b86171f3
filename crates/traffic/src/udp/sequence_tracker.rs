//! Order, jitter and queueing of the datagrams of one flow, from their numbers and times.

/// Class of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// New datagram with a higher number than all before.
    InOrder,
    /// New datagram with a lower number than one before: it came late (RFC 4737, Type-P-Reordered).
    Reordered,
    /// Datagram that came before (RFC 5560).
    Duplicate,
}

/// Sequence numbers that were received of one flow.
///
/// The last [`SequenceTracker::WINDOW`] numbers are remembered. For an older number it is not known whether it came
/// before, and it counts as reordered.
#[derive(Clone, Debug)]
pub(crate) struct SequenceTracker {
    /// Highest number received so far plus one (RFC 4737, NextExp).
    next: u64,
    /// One bit for every number of the window.
    came: Box<[u64]>,
}

impl SequenceTracker {
    /// Size of the window, numbers: 2 KiB per flow, and 16 ms at a million datagrams per second.
    pub(crate) const WINDOW: u64 = 1 << 14;

    /// Creates a tracker of a flow without datagrams.
    pub(crate) fn new() -> Self {
        Self { next: 0, came: vec![0; (Self::WINDOW / 64) as usize].into_boxed_slice() }
    }

    /// Records a datagram and returns its class.
    #[inline]
    pub(crate) fn record(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            self.advance(number);
            return Arrival::InOrder;
        }
        if self.next - number > Self::WINDOW {
            return Arrival::Reordered;
        }
        let (word, bit) = Self::bit_position(number);
        if self.came[word] & bit != 0 {
            return Arrival::Duplicate;
        }
        self.came[word] |= bit;
        Arrival::Reordered
    }

    /// Records this number, the highest so far, and that those between have not come yet.
    #[inline]
    fn advance(&mut self, number: u64) {
        let skipped = number - self.next;
        if skipped >= Self::WINDOW {
            self.came.fill(0);
        } else {
            for missing in self.next..number {
                let (word, bit) = Self::bit_position(missing);
                self.came[word] &= !bit;
            }
        }
        let (word, bit) = Self::bit_position(number);
        self.came[word] |= bit;
        self.next = number.saturating_add(1);
    }

    #[inline]
    fn bit_position(number: u64) -> (usize, u64) {
        let slot = number % Self::WINDOW;
        ((slot / 64) as usize, 1 << (slot % 64))
    }
}

/// Interarrival jitter (RFC 3550, section 6.4.1), by the integer algorithm of its appendix A.8, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    /// Transit time of the last datagram, up to a constant, ns.
    transit: Option<i64>,
    /// Sixteen times the jitter, ns.
    scaled: u64,
}

impl Jitter {
    /// Takes the next datagram as one whose predecessor is not known.
    pub(crate) fn begin_anew(&mut self) {
        self.transit = None;
    }

    /// Records a datagram with its sending and arrival time, each by its own clock. Returns the jitter after it, ns.
    #[inline]
    pub(crate) fn record(&mut self, sent: u64, came: u64) -> u64 {
        let transit = came.wrapping_sub(sent) as i64;
        if let Some(before) = self.transit {
            let difference = transit.wrapping_sub(before).unsigned_abs();
            let step = self.scaled.saturating_add(8) >> 4;
            self.scaled = self.scaled.saturating_add(difference).saturating_sub(step);
        }
        self.transit = Some(transit);
        self.scaled >> 4
    }
}

/// Growth of the transit time. Datagrams that take ever longer fill a queue on the path, and a short trial ends before
/// that queue overflows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    /// Shortest transit time so far, by two clocks whose difference does not matter, ns.
    shortest: Option<u64>,
    /// Sending time of the last datagram, ns after the sender's beginning, and its transit time.
    last: (u64, u64),
}

impl Backlog {
    /// Constant part of the tolerated growth, ns: a time slice of the scheduler.
    const SCHEDULER_SLACK: u64 = 2_000_000;
    /// Divisor of the sending time that gives the other part of the tolerated growth: as close as the bounds of a
    /// search.
    const SLACK_DIVISOR: u64 = 50;

    /// Records a datagram with its sending and arrival time.
    #[inline]
    pub(crate) fn record(&mut self, sent: u64, came: u64) {
        let way = came.wrapping_sub(sent);
        self.shortest = Some(self.shortest.map_or(way, |shortest| shortest.min(way)));
        if sent >= self.last.0 {
            self.last = (sent, way);
        }
    }

    /// Returns how much longer the last datagram took than the fastest one, ns.
    fn growth(&self) -> u64 {
        let (_, way) = self.last;
        way.saturating_sub(self.shortest.unwrap_or(way))
    }

    /// Returns how many of `received` datagrams were still in the queue when the sender ended.
    pub(crate) fn late_datagrams(&self, received: u64) -> u64 {
        let (grown, sent) = (self.growth(), self.last.0);
        let share = u128::from(received) * u128::from(grown) / u128::from((sent + grown).max(1));
        u64::try_from(share).unwrap_or(received)
    }

    /// Returns the same number if the queue has grown by more than a search tolerates, and else 0.
    pub(crate) fn excess_datagrams(&self, received: u64) -> u64 {
        let tolerated = Self::SCHEDULER_SLACK + self.last.0 / Self::SLACK_DIVISOR;
        if self.growth() <= tolerated { 0 } else { self.late_datagrams(received) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_ever_later_fills_a_queue() {
        const MS: u64 = 1_000_000;
        let trial = |stretch: u64, hiccup: u64| {
            let mut backlog = Backlog::default();
            for nth in 0..1000u64 {
                let sent = nth * MS / 5;
                let stalled = if nth == 500 { hiccup } else { 0 };
                backlog.record(sent, 77 * MS + sent * stretch / 100 + stalled);
            }
            [backlog.excess_datagrams(1000), backlog.late_datagrams(1000)]
        };
        assert_eq!(trial(100, 0), [0, 0]);
        assert_eq!(trial(100, 30 * MS), [0, 0], "one stall is no queue");
        // No more than the bounds are apart; but the path has carried 2 % less than was sent.
        assert_eq!(trial(102, 0), [0, 19]);
        // At five quarters of the path's capacity, a fifth is still to come at the end.
        let [excess, late] = trial(125, 0);
        assert!(excess == late && (195..=201).contains(&late), "{late}");
        assert_eq!(Backlog::default().late_datagrams(0), 0);
    }
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arrivals(numbers: &[u64]) -> Vec<Arrival> {
        let mut track = SequenceTracker::new();
        numbers.iter().map(|&number| track.record(number)).collect()
    }

    #[test]
    fn late_and_twice_are_told_apart() {
        use Arrival::{Duplicate, InOrder, Reordered};
        assert_eq!(
            arrivals(&[0, 1, 4, 3, 3, 4, 2, 5, 0]),
            [
                InOrder, InOrder, InOrder, Reordered, Duplicate, Duplicate, Reordered, InOrder,
                Duplicate
            ]
        );
    }

    #[test]
    fn beyond_the_window_nobody_knows() {
        let last = SequenceTracker::WINDOW;
        assert_eq!(
            arrivals(&[0, last, 0, 1, 1]),
            [
                Arrival::InOrder,
                Arrival::InOrder,
                Arrival::Reordered,
                Arrival::Reordered,
                Arrival::Duplicate
            ]
        );
    }

    #[test]
    fn a_steady_flow_has_no_jitter_and_an_unsteady_one_what_the_rfc_says() {
        let mut jitter = Jitter::default();
        let steady = (0..1000u64).map(|n| jitter.record(n * 1000, n * 1000 + 77)).max();
        assert_eq!(steady, Some(0));
        // Alternately 0 and 1 µs late: every difference is 1 µs, to which the mean converges.
        let mut jitter = Jitter::default();
        let last = (0..1000u64).map(|n| jitter.record(n * 9000, n * 9000 + n % 2 * 1000)).last();
        assert!(last.is_some_and(|last| (995..=1000).contains(&last)), "{last:?}");
    }

    proptest! {
        #[test]
        fn all_within_the_window_are_known_as_a_set_knows_them(
            numbers in prop::collection::vec(0..SequenceTracker::WINDOW, 0..400),
        ) {
            let mut seen = BTreeSet::new();
            let mut track = SequenceTracker::new();
            for number in numbers {
                let highest = seen.last().is_none_or(|last| number > *last);
                let expected = match (seen.insert(number), highest) {
                    (false, _) => Arrival::Duplicate,
                    (true, true) => Arrival::InOrder,
                    (true, false) => Arrival::Reordered,
                };
                prop_assert_eq!(track.record(number), expected);
            }
        }

        #[test]
        fn no_number_breaks_it(numbers in prop::collection::vec(any::<u64>(), 0..40)) {
            let mut track = SequenceTracker::new();
            let mut jitter = Jitter::default();
            for number in numbers {
                track.record(number);
                jitter.record(number, number.rotate_left(7));
            }
        }
    }
}
