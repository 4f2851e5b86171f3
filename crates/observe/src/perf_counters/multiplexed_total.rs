//! Total of a hardware counter that is multiplexed with others.
//!
//! A processor has few counters. If more events are to be counted than it has, the kernel multiplexes them, and reports
//! for each event the time for which it was enabled and the time for which it was really counted. The count of the
//! remaining time is extrapolated, step by step, so that a total never falls.

use crate::sys::perf::EventReading;

/// Total that grows reading by reading.
#[derive(Debug)]
pub(super) struct MultiplexedTotal {
    first: EventReading,
    /// Last reading whose count is in the total, and the latest reading.
    last: EventReading,
    latest: EventReading,
    counted: f64,
}

impl From<EventReading> for MultiplexedTotal {
    fn from(first: EventReading) -> Self {
        Self { first, last: first, latest: first, counted: 0.0 }
    }
}

impl MultiplexedTotal {
    /// Adds the count since the last reading. While a counter was not scheduled its count is unknown: that time is
    /// added with the next reading.
    pub(super) fn add(&mut self, now: EventReading) {
        self.latest = now;
        let running = now.running.saturating_sub(self.last.running);
        if running == 0 {
            return;
        }
        let share = now.enabled.saturating_sub(self.last.enabled) as f64 / running as f64;
        self.counted += now.value.saturating_sub(self.last.value) as f64 * share.max(1.0);
        self.last = now;
    }

    /// Returns the total count.
    pub(super) fn counted(&self) -> u64 {
        self.counted.round() as u64
    }

    /// Returns the share of the time for which the event was really counted. It is 1 for a thread that never ran: none
    /// of its events were missed.
    pub(super) fn running_share(&self) -> f64 {
        let enabled = self.latest.enabled.saturating_sub(self.first.enabled);
        if enabled == 0 {
            return 1.0;
        }
        self.latest.running.saturating_sub(self.first.running) as f64 / enabled as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reading(enabled: u64, running: u64, value: u64) -> EventReading {
        EventReading { enabled, running, value }
    }

    fn total(readings: &[EventReading]) -> MultiplexedTotal {
        let mut total = MultiplexedTotal::from(readings[0]);
        readings.iter().for_each(|reading| total.add(*reading));
        total
    }

    #[test]
    fn what_was_always_counted_is_told_to_the_digit() {
        let total = total(&[reading(10, 10, 1000), reading(30, 30, 4000)]);
        assert_eq!(total.counted(), 3000);
        assert_eq!(total.running_share(), 1.0);
    }

    #[test]
    fn a_counter_that_had_half_the_time_counts_twice() {
        let total = total(&[
            reading(0, 0, 0),
            reading(100, 50, 500),
            // Here the event was counted all the time: the step has a share of its own.
            reading(200, 150, 2500),
        ]);
        assert_eq!(total.counted(), 3000);
        assert_eq!(total.running_share(), 0.75);
    }

    #[test]
    fn a_time_without_a_turn_is_made_up_for_by_the_next() {
        let steps = [reading(0, 0, 0), reading(100, 0, 0), reading(200, 100, 600)];
        assert_eq!(total(&steps[..2]).counted(), 0);
        assert_eq!(total(&steps).counted(), 1200);
    }

    #[test]
    fn a_counter_without_any_turn_tells_nothing_and_a_thread_that_never_ran_did_nothing() {
        let never = |enabled| {
            let mut total = MultiplexedTotal::from(reading(0, 0, 0));
            total.add(reading(enabled, 0, 0));
            total.running_share()
        };
        assert_eq!((never(100), never(0)), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn totals_never_fall_and_never_lose(
            steps in prop::collection::vec((1u64..1000, 0u64..=100, 0u64..1000), 1..20),
        ) {
            let (mut enabled, mut running, mut value) = (0, 0, 0);
            let mut total = MultiplexedTotal::from(reading(0, 0, 0));
            let mut before = 0;
            for (step, share, more) in steps {
                enabled += step;
                running += step * share / 100;
                value += if step * share / 100 > 0 { more } else { 0 };
                total.add(reading(enabled, running, value));
                let now = total.counted();
                prop_assert!(now >= before && now >= value);
                before = now;
            }
        }
    }
}
