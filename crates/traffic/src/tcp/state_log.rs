//! Log of the sending kernel's statistics of a client's flows, one row an interval.

use crate::clock;
use crate::sys::{TcpInfo, read_tcp_info};
use std::io;
use std::net::TcpStream;
use tare_record::{Interval, Nanos, TcpInfoTotals};

/// Kernel statistics of one client's flows on one thread. Times are ns after the client's beginning and never decrease.
///
/// The kernel is asked once an interval, at the first step after its end. If a whole interval passed without a step,
/// retransmissions since the last reading count in the last interval that has passed.
#[derive(Debug)]
pub(crate) struct TcpStateLog {
    interval: u64,
    slots: usize,
    rows: Vec<TcpInfoTotals>,
    /// Time of the next reading.
    next: u64,
    /// Retransmitted segments of each flow up to the last reading.
    retransmits: Vec<u32>,
}

impl TcpStateLog {
    /// Creates a log for a trial of this duration and these flows. Allocates all memory that it will use.
    pub(crate) fn new<'s>(
        duration: Nanos,
        interval: Nanos,
        flows: impl Iterator<Item = &'s TcpStream>,
    ) -> io::Result<Self> {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        // Retransmissions before the trial, while connecting, are not part of its figures.
        let again = flows
            .map(|stream| Ok(read_tcp_info(stream)?.retransmits))
            .collect::<io::Result<Vec<_>>>()?;
        let next = if slots == 0 { u64::MAX } else { interval };
        Ok(Self { interval, slots, rows: Vec::with_capacity(slots), next, retransmits: again })
    }

    /// Returns true if an interval is over that has not been read.
    #[inline]
    pub(crate) fn is_due(&self, at: u64) -> bool {
        at >= self.next
    }

    /// Reads the statistics of all flows, in the order in which the log was created.
    pub(crate) fn sample<'s>(
        &mut self,
        at: u64,
        flows: impl Iterator<Item = &'s TcpStream>,
    ) -> io::Result<()> {
        let begun = clock::now();
        let mut state = TcpStateSum::default();
        for (again, stream) in self.retransmits.iter_mut().zip(flows) {
            state.add(&read_tcp_info(stream)?, again);
        }
        self.fill_rows(at, TcpInfoTotals { asking: clock::now() - begun, ..state.mean() });
        Ok(())
    }

    /// Takes the retransmissions of all flows so far as those of before the trial.
    pub(crate) fn forget_retransmits<'s>(
        &mut self,
        flows: impl Iterator<Item = &'s TcpStream>,
    ) -> io::Result<()> {
        for (again, stream) in self.retransmits.iter_mut().zip(flows) {
            *again = read_tcp_info(stream)?.retransmits;
        }
        Ok(())
    }

    /// Fills the rows of all intervals that are over.
    fn fill_rows(&mut self, at: u64, state: TcpInfoTotals) {
        let over = usize::try_from(at / self.interval).map_or(self.slots, |n| n.min(self.slots));
        while self.rows.len() < over {
            let last = self.rows.len() + 1 == over;
            // Retransmissions and reading time count only once.
            let once = if last { state } else { TcpInfoTotals::default() };
            let (retransmits, asking) = (once.retransmits, once.asking);
            self.rows.push(TcpInfoTotals { retransmits, asking, ..state });
        }
        let all = over == self.slots;
        self.next = if all { u64::MAX } else { (over as u64 + 1) * self.interval };
    }

    /// Returns all intervals of the trial; those without a reading repeat the last row.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let last = self.rows.last().copied().unwrap_or_default();
        let unasked = TcpInfoTotals { retransmits: 0, asking: Nanos(0), ..last };
        let rows = self.rows.iter().copied().chain(std::iter::repeat(unasked)).take(self.slots);
        (0u64..)
            .zip(rows)
            .map(|(index, state)| Interval {
                start: Nanos(index * self.interval),
                length: Nanos(self.interval),
                tcp: Some(state),
                ..Interval::default()
            })
            .collect()
    }
}

/// Sum of the statistics of several flows.
#[derive(Debug, Default)]
struct TcpStateSum {
    state: TcpInfoTotals,
    /// Sum of round-trip times, ns.
    rtt: u64,
}

impl TcpStateSum {
    /// Adds a flow; `again` is its number of retransmitted segments at the last reading, and is updated.
    fn add(&mut self, info: &TcpInfo, again: &mut u32) {
        self.state.flows += 1;
        self.rtt += u64::from(info.rtt) * 1_000;
        self.state.window += u64::from(info.window) * u64::from(info.segment);
        // The kernel's counter has 32 bits and may wrap.
        self.state.retransmits += u64::from(info.retransmits.wrapping_sub(*again));
        self.state.delivery_rate += info.delivery_rate;
        *again = info.retransmits;
    }

    fn mean(self) -> TcpInfoTotals {
        let rtt = self.rtt.checked_div(self.state.flows.into()).unwrap_or(0);
        TcpInfoTotals { rtt: Nanos(rtt), ..self.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(duration: u64, interval: u64) -> TcpStateLog {
        TcpStateLog::new(Nanos(duration), Nanos(interval), std::iter::empty()).unwrap()
    }

    fn state(retransmits: u64, window: u64) -> TcpInfoTotals {
        TcpInfoTotals { flows: 1, retransmits, window, ..TcpInfoTotals::default() }
    }

    fn rows(log: &TcpStateLog) -> Vec<(u64, u64)> {
        let rows = log.intervals().into_iter().filter_map(|interval| interval.tcp);
        rows.map(|row| (row.retransmits, row.window)).collect()
    }

    #[test]
    fn what_is_noticed_late_counts_in_the_last_interval_that_is_over() {
        let mut log = log(50, 10);
        assert!(!log.is_due(9) && log.is_due(10));
        log.fill_rows(10, state(1, 7));
        assert!(!log.is_due(19));
        log.fill_rows(35, state(5, 8));
        assert_eq!(rows(&log), [(1, 7), (0, 8), (5, 8), (0, 8), (0, 8)]);
        log.fill_rows(90, state(2, 9));
        assert!(!log.is_due(u64::MAX - 1));
        assert_eq!(rows(&log), [(1, 7), (0, 8), (5, 8), (0, 9), (2, 9)]);
    }

    #[test]
    fn flows_are_added_up_and_their_round_trips_averaged() {
        let info = |rtt, window, retransmits, delivery_rate| TcpInfo {
            segment: 1000,
            rtt,
            window,
            retransmits,
            delivery_rate,
        };
        let (mut sum, mut again) = (TcpStateSum::default(), [u32::MAX, 4]);
        sum.add(&info(10, 2, 1, 100), &mut again[0]);
        sum.add(&info(30, 3, 9, 200), &mut again[1]);
        let expected = TcpInfoTotals {
            flows: 2,
            rtt: Nanos(20_000),
            window: 5000,
            retransmits: 2 + 5,
            delivery_rate: 300,
            asking: Nanos(0),
        };
        assert_eq!((sum.mean(), again), (expected, [1, 9]));
    }

    proptest! {
        #[test]
        fn nothing_sent_again_within_the_trial_is_lost_or_counted_twice(
            steps in prop::collection::vec((0u64..40, 0u64..5), 0..40),
            duration in 0u64..200,
            interval in 1u64..50,
        ) {
            let mut log = log(duration, interval);
            let (mut now, mut since, mut noticed) = (0, 0, 0);
            for (step, again) in steps {
                now += step;
                since += again;
                if log.is_due(now) {
                    log.fill_rows(now, state(since, 1));
                    noticed += since;
                    since = 0;
                }
            }
            prop_assert_eq!(rows(&log).len() as u64, duration / interval);
            prop_assert_eq!(rows(&log).iter().map(|row| row.0).sum::<u64>(), noticed);
        }
    }
}
