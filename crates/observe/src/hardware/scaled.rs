//! What a counter counted, where it did not always have its turn.
//!
//! A processor has few counters. Where more events are asked for than it has, the kernel lets them take turns, and says how
//! long each was to be counted and how long it really was; what happened meanwhile is told by proportion, step by step, so
//! that a total never falls.

use crate::sys::perf::Reading;

/// A total that grows reading by reading.
#[derive(Debug)]
pub(super) struct Total {
    first: Reading,
    /// The last one whose count is in the total, and the last of all.
    last: Reading,
    latest: Reading,
    counted: f64,
}

impl From<Reading> for Total {
    fn from(first: Reading) -> Self {
        Self { first, last: first, latest: first, counted: 0.0 }
    }
}

impl Total {
    /// Adds what was counted since the last reading. While a counter had no turn nothing is known: that time waits for the
    /// next reading.
    pub(super) fn add(&mut self, now: Reading) {
        self.latest = now;
        let running = now.running.saturating_sub(self.last.running);
        if running == 0 {
            return;
        }
        let share = now.enabled.saturating_sub(self.last.enabled) as f64 / running as f64;
        self.counted += now.value.saturating_sub(self.last.value) as f64 * share.max(1.0);
        self.last = now;
    }

    /// What was counted in all.
    pub(super) fn counted(&self) -> u64 {
        self.counted.round() as u64
    }

    /// The share of the time for which it was really counted. A thread that never ran has missed nothing.
    pub(super) fn running(&self) -> f64 {
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

    fn reading(enabled: u64, running: u64, value: u64) -> Reading {
        Reading { enabled, running, value }
    }

    fn total(readings: &[Reading]) -> Total {
        let mut total = Total::from(readings[0]);
        readings.iter().for_each(|reading| total.add(*reading));
        total
    }

    #[test]
    fn what_was_always_counted_is_told_to_the_digit() {
        let total = total(&[reading(10, 10, 1000), reading(30, 30, 4000)]);
        assert_eq!(total.counted(), 3000);
        assert_eq!(total.running(), 1.0);
    }

    #[test]
    fn a_counter_that_had_half_the_time_counts_twice() {
        let total = total(&[
            reading(0, 0, 0),
            reading(100, 50, 500),
            // Here it had all the time: its turns are not those of the whole.
            reading(200, 150, 2500),
        ]);
        assert_eq!(total.counted(), 3000);
        assert_eq!(total.running(), 0.75);
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
            let mut total = Total::from(reading(0, 0, 0));
            total.add(reading(enabled, 0, 0));
            total.running()
        };
        assert_eq!((never(100), never(0)), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn totals_never_fall_and_never_lose(
            steps in prop::collection::vec((1u64..1000, 0u64..=100, 0u64..1000), 1..20),
        ) {
            let (mut enabled, mut running, mut value) = (0, 0, 0);
            let mut total = Total::from(reading(0, 0, 0));
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
