//! Arrival times by the monotonic clock, which also the loops read. The kernel stamps datagrams by the realtime clock,
//! which others may set, by any amount, in the middle of a trial.

use crate::clock;
use rustix::time::{ClockId, clock_gettime};

/// Largest change of the distance between the two clocks that is no step, ns, and its growth with the time between two
/// looks: a clock that is slewed gains at most 500 parts in a million (adjtimex(2)).
const TOLERANCE: u64 = 1_000_000;
const SLEW_DIVISOR: u64 = 1_000;

/// Longest look at both clocks of which the distance is read, ns: a thread that lost its core meanwhile would see a step.
const LONGEST_LOOK: u64 = 100_000;

/// Look at both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockReading {
    /// Monotonic clock before and after the realtime clock was read, ns.
    before: u64,
    after: u64,
    realtime: u64,
}

impl ClockReading {
    fn now() -> Self {
        let before = clock::now().0;
        let time = clock_gettime(ClockId::Realtime);
        let realtime = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
        Self { before, realtime, after: clock::now().0 }
    }

    /// Returns how far the realtime clock is ahead, modulo 2^64.
    fn distance(self) -> u64 {
        self.realtime.wrapping_sub(self.before.midpoint(self.after))
    }
}

/// Relation of the realtime clock to the monotonic clock, batch by batch.
///
/// The distance is read once and kept, so that the times between arrivals are exactly those that the kernel stamped;
/// later looks only show whether it still holds.
#[derive(Debug, Default)]
pub(super) struct ArrivalTimes {
    /// Distance that is subtracted from the stamps of this batch, ns. `None` if they are void.
    distance: Option<u64>,
    /// Distance of the last look, and its time.
    last: Option<(u64, u64)>,
    now: u64,
}

impl ArrivalTimes {
    /// Begins a batch of datagrams that have just been received.
    pub(super) fn begin_batch(&mut self) {
        self.begin_batch_at(ClockReading::now());
    }

    fn begin_batch_at(&mut self, reading: ClockReading) {
        self.now = reading.after;
        if reading.after - reading.before > LONGEST_LOOK && self.last.is_some() {
            return;
        }
        let distance = reading.distance();
        let is_step = self.last.is_some_and(|(last, at)| {
            let change = (distance.wrapping_sub(last) as i64).unsigned_abs();
            change > TOLERANCE + reading.after.saturating_sub(at) / SLEW_DIVISOR
        });
        self.last = Some((distance, reading.after));
        // The stamps of this batch are from before the step, or from after it.
        self.distance = if is_step { None } else { self.distance.or(Some(distance)) };
    }

    /// Returns the arrival time of a datagram of this batch, by the monotonic clock, ns: that of its stamp if that can
    /// be told.
    #[inline]
    pub(super) fn arrival(&self, stamp: Option<u64>) -> u64 {
        let at = stamp.zip(self.distance).map(|(stamp, ahead)| stamp.wrapping_sub(ahead));
        at.map_or(self.now, |at| at.min(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Returns a look at this monotonic time, with the realtime clock so far ahead.
    fn look(monotonic: u64, ahead: u64) -> ClockReading {
        let (before, after) = (monotonic - 20, monotonic + 20);
        ClockReading { before, after, realtime: monotonic.wrapping_add(ahead) }
    }

    #[test]
    fn stamps_keep_their_distances_whatever_the_realtime_clock_becomes() {
        let mut times = ArrivalTimes::default();
        let (mut clock, mut ahead) = (10 * SECOND, 1_700_000_000 * SECOND);
        for step in [0, 3600 * SECOND, (5 * SECOND).wrapping_neg(), SECOND / 100] {
            ahead = ahead.wrapping_add(step);
            for batch in 0..5 {
                clock += SECOND / 10;
                // Slewed by 100 parts in a million.
                ahead += 10_000;
                times.begin_batch_at(look(clock, ahead));
                let arrival = |before: u64| times.arrival(Some(clock + ahead - before));
                let is_void = step != 0 && batch == 0;
                assert_eq!(
                    arrival(5_000_000) - arrival(9_000_000),
                    if is_void { 0 } else { 4_000_000 }
                );
                let late = clock.abs_diff(arrival(9_000_000) + 9_000_000);
                assert!(is_void || late < 100_000, "{late} ns, {step} {batch}");
                assert_eq!(times.arrival(None), clock + 20);
            }
        }
    }

    #[test]
    fn a_thread_that_lost_its_core_between_two_clocks_sees_no_step() {
        let mut times = ArrivalTimes::default();
        times.begin_batch_at(look(SECOND, 7));
        let late = ClockReading { before: 2 * SECOND, after: 3 * SECOND, realtime: 3 * SECOND };
        times.begin_batch_at(late);
        assert_eq!(times.arrival(Some(2 * SECOND + 7)), 2 * SECOND);
        times.begin_batch_at(look(4 * SECOND, 7));
        assert_eq!(times.arrival(Some(4 * SECOND)), 4 * SECOND - 7);
    }

    #[test]
    fn the_clocks_of_this_machine_are_read_together() {
        let mut times = ArrivalTimes::default();
        times.begin_batch();
        let now = ClockReading::now();
        assert!(now.before <= now.after);
        assert!(times.arrival(Some(now.realtime)) <= now.after);
    }
}
