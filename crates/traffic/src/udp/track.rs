//! What became of the datagrams of one flow, by their numbers and by when they came.

/// What a datagram that came is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// New, and its number higher than all before.
    InOrder,
    /// New, and its number lower than one before: it came late (RFC 4737, Type-P-Reordered).
    Reordered,
    /// One that came before (RFC 5560).
    Duplicate,
}

/// The numbers that came of one flow.
///
/// Of the last [`Track::WINDOW`] numbers each is remembered; whether an older one comes again cannot be told, and it
/// counts as reordered.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    /// One more than the highest number that came (RFC 4737, NextExp).
    next: u64,
    /// A bit for every number of the window.
    came: Box<[u64]>,
}

impl Track {
    /// How many numbers are remembered: 2 KiB a flow, and 16 ms at a million datagrams per second.
    pub(crate) const WINDOW: u64 = 1 << 14;

    /// A flow of which nothing has come.
    pub(crate) fn new() -> Self {
        Self { next: 0, came: vec![0; (Self::WINDOW / 64) as usize].into_boxed_slice() }
    }

    /// Notes a datagram.
    #[inline]
    pub(crate) fn arrived(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            self.advance(number);
            return Arrival::InOrder;
        }
        if self.next - number > Self::WINDOW {
            return Arrival::Reordered;
        }
        let (word, bit) = Self::place(number);
        if self.came[word] & bit != 0 {
            return Arrival::Duplicate;
        }
        self.came[word] |= bit;
        Arrival::Reordered
    }

    /// Notes this number, the highest so far, and that those between did not come yet.
    #[inline]
    fn advance(&mut self, number: u64) {
        let skipped = number - self.next;
        if skipped >= Self::WINDOW {
            self.came.fill(0);
        } else {
            for missing in self.next..number {
                let (word, bit) = Self::place(missing);
                self.came[word] &= !bit;
            }
        }
        let (word, bit) = Self::place(number);
        self.came[word] |= bit;
        self.next = number.saturating_add(1);
    }

    #[inline]
    fn place(number: u64) -> (usize, u64) {
        let slot = number % Self::WINDOW;
        ((slot / 64) as usize, 1 << (slot % 64))
    }
}

/// Interarrival jitter (RFC 3550, section 6.4.1), by the integer algorithm of its appendix A.8, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    /// How long the last datagram was on its way, up to a constant, ns.
    transit: Option<i64>,
    /// Sixteen times the jitter.
    scaled: u64,
}

impl Jitter {
    /// Notes a datagram that was sent and came at these times, each by one clock of its own. Returns the jitter now.
    #[inline]
    pub(crate) fn arrived(&mut self, sent: u64, came: u64) -> u64 {
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

/// Whether datagrams come as fast as they are sent, or ever later: then they fill a queue somewhere, which a short trial
/// does not live to see overflow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    /// The shortest way that a datagram had, by two clocks whose difference does not matter, ns.
    shortest: Option<u64>,
    /// When the last one was sent, ns after the sender's beginning, and the way that it had.
    last: (u64, u64),
}

impl Backlog {
    /// What the last datagram may be late beyond the quickest, ns: a scheduler's turn.
    const TURN: u64 = 2_000_000;
    /// And one part in so many of the time that was sent: how close a search's bounds are.
    const PART: u64 = 50;

    /// Notes a datagram that was sent and came at these times.
    #[inline]
    pub(crate) fn arrived(&mut self, sent: u64, came: u64) {
        let way = came.wrapping_sub(sent);
        self.shortest = Some(self.shortest.map_or(way, |shortest| shortest.min(way)));
        if sent >= self.last.0 {
            self.last = (sent, way);
        }
    }

    /// How many of so many that came would still have been in the queue when the sender ended.
    pub(crate) fn late(&self, received: u64) -> u64 {
        let (sent, way) = self.last;
        let grown = way.saturating_sub(self.shortest.unwrap_or(way));
        if grown <= Self::TURN + sent / Self::PART {
            return 0;
        }
        let share = u128::from(received) * u128::from(grown) / u128::from(sent + grown);
        u64::try_from(share).unwrap_or(received)
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
                backlog.arrived(sent, 77 * MS + sent * stretch / 100 + stalled);
            }
            backlog.late(1000)
        };
        assert_eq!(trial(100, 0), 0);
        assert_eq!(trial(100, 30 * MS), 0, "one stall is no queue");
        assert_eq!(trial(102, 0), 0, "no more than the bounds are apart");
        // At five quarters of what the path carries, a fifth is still to come at the end.
        assert!((195..=201).contains(&trial(125, 0)), "{}", trial(125, 0));
        assert_eq!(Backlog::default().late(0), 0);
    }
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arrivals(numbers: &[u64]) -> Vec<Arrival> {
        let mut track = Track::new();
        numbers.iter().map(|&number| track.arrived(number)).collect()
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
        let last = Track::WINDOW;
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
        let steady = (0..1000u64).map(|n| jitter.arrived(n * 1000, n * 1000 + 77)).max();
        assert_eq!(steady, Some(0));
        // Alternately 0 and 1 µs late: every difference is 1 µs, to which the mean goes.
        let mut jitter = Jitter::default();
        let last = (0..1000u64).map(|n| jitter.arrived(n * 9000, n * 9000 + n % 2 * 1000)).last();
        assert!(last.is_some_and(|last| (995..=1000).contains(&last)), "{last:?}");
    }

    proptest! {
        #[test]
        fn all_within_the_window_are_known_as_a_set_knows_them(
            numbers in prop::collection::vec(0..Track::WINDOW, 0..400),
        ) {
            let mut seen = BTreeSet::new();
            let mut track = Track::new();
            for number in numbers {
                let highest = seen.last().is_none_or(|last| number > *last);
                let expected = match (seen.insert(number), highest) {
                    (false, _) => Arrival::Duplicate,
                    (true, true) => Arrival::InOrder,
                    (true, false) => Arrival::Reordered,
                };
                prop_assert_eq!(track.arrived(number), expected);
            }
        }

        #[test]
        fn no_number_breaks_it(numbers in prop::collection::vec(any::<u64>(), 0..40)) {
            let mut track = Track::new();
            let mut jitter = Jitter::default();
            for number in numbers {
                track.arrived(number);
                jitter.arrived(number, number.rotate_left(7));
            }
        }
    }
}
