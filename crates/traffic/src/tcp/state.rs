//! The log of what the sending kernel says of a client's flows, one row an interval.

use crate::clock;
use crate::sys::{TcpInfo, tcp_info};
use std::io;
use std::net::TcpStream;
use tare_record::{Interval, Nanos, TcpState};

/// What became of one client's flows on one thread. Times are ns after the client's beginning and never go back.
///
/// It is asked once an interval, at the first turn after its end. Where a whole interval passed without a turn, what was
/// sent again since the last reading counts in the last interval that has passed.
#[derive(Debug)]
pub(crate) struct StateLog {
    interval: u64,
    slots: usize,
    rows: Vec<TcpState>,
    /// When to ask again.
    next: u64,
    /// Of each flow, the segments sent again up to the last reading.
    again: Vec<u32>,
}

impl StateLog {
    /// A log for a trial of this duration and these flows. All memory it will use is allocated here.
    pub(crate) fn new<'s>(
        duration: Nanos,
        interval: Nanos,
        flows: impl Iterator<Item = &'s TcpStream>,
    ) -> io::Result<Self> {
        let interval = interval.0.max(1);
        let slots = usize::try_from(duration.0 / interval).unwrap_or(usize::MAX);
        // What was sent again before the trial, to make the connection, is none of its figures.
        let again = flows
            .map(|stream| Ok(tcp_info(stream)?.retransmits))
            .collect::<io::Result<Vec<_>>>()?;
        let next = if slots == 0 { u64::MAX } else { interval };
        Ok(Self { interval, slots, rows: Vec::with_capacity(slots), next, again })
    }

    /// Whether an interval is over that has not been asked about.
    #[inline]
    pub(crate) fn is_due(&self, at: u64) -> bool {
        at >= self.next
    }

    /// Asks about all flows, in the order in which the log was given them.
    pub(crate) fn ask<'s>(
        &mut self,
        at: u64,
        flows: impl Iterator<Item = &'s TcpStream>,
    ) -> io::Result<()> {
        let begun = clock::now();
        let mut state = Sum::default();
        for (again, stream) in self.again.iter_mut().zip(flows) {
            state.add(&tcp_info(stream)?, again);
        }
        self.close(at, TcpState { asking: clock::now() - begun, ..state.mean() });
        Ok(())
    }

    /// Fills the rows of all intervals that are over.
    fn close(&mut self, at: u64, state: TcpState) {
        let over = usize::try_from(at / self.interval).map_or(self.slots, |n| n.min(self.slots));
        while self.rows.len() < over {
            let last = self.rows.len() + 1 == over;
            // What was told and spent once counts once.
            let once = if last { state } else { TcpState::default() };
            let (retransmits, asking) = (once.retransmits, once.asking);
            self.rows.push(TcpState { retransmits, asking, ..state });
        }
        let all = over == self.slots;
        self.next = if all { u64::MAX } else { (over as u64 + 1) * self.interval };
    }

    /// All intervals of the trial; those that were not asked about are as the last one was.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let last = self.rows.last().copied().unwrap_or_default();
        let unasked = TcpState { retransmits: 0, asking: Nanos(0), ..last };
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

/// What flows say, added up.
#[derive(Debug, Default)]
struct Sum {
    state: TcpState,
    /// Round-trip times added up, ns.
    rtt: u64,
}

impl Sum {
    /// Adds a flow; `again` is what it had sent again at the last reading.
    fn add(&mut self, info: &TcpInfo, again: &mut u32) {
        self.state.flows += 1;
        self.rtt += u64::from(info.rtt) * 1_000;
        self.state.window += u64::from(info.window) * u64::from(info.segment);
        // The kernel's counter is of 32 bits and may wrap.
        self.state.retransmits += u64::from(info.retransmits.wrapping_sub(*again));
        self.state.delivery_rate += info.delivery_rate;
        *again = info.retransmits;
    }

    fn mean(self) -> TcpState {
        let rtt = self.rtt.checked_div(self.state.flows.into()).unwrap_or(0);
        TcpState { rtt: Nanos(rtt), ..self.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(duration: u64, interval: u64) -> StateLog {
        StateLog::new(Nanos(duration), Nanos(interval), std::iter::empty()).unwrap()
    }

    fn state(retransmits: u64, window: u64) -> TcpState {
        TcpState { flows: 1, retransmits, window, ..TcpState::default() }
    }

    fn rows(log: &StateLog) -> Vec<(u64, u64)> {
        let rows = log.intervals().into_iter().filter_map(|interval| interval.tcp);
        rows.map(|row| (row.retransmits, row.window)).collect()
    }

    #[test]
    fn what_is_noticed_late_counts_in_the_last_interval_that_is_over() {
        let mut log = log(50, 10);
        assert!(!log.is_due(9) && log.is_due(10));
        log.close(10, state(1, 7));
        assert!(!log.is_due(19));
        log.close(35, state(5, 8));
        assert_eq!(rows(&log), [(1, 7), (0, 8), (5, 8), (0, 8), (0, 8)]);
        log.close(90, state(2, 9));
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
        let (mut sum, mut again) = (Sum::default(), [u32::MAX, 4]);
        sum.add(&info(10, 2, 1, 100), &mut again[0]);
        sum.add(&info(30, 3, 9, 200), &mut again[1]);
        let expected = TcpState {
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
                    log.close(now, state(since, 1));
                    noticed += since;
                    since = 0;
                }
            }
            prop_assert_eq!(rows(&log).len() as u64, duration / interval);
            prop_assert_eq!(rows(&log).iter().map(|row| row.0).sum::<u64>(), noticed);
        }
    }
}
