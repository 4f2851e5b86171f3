//! Waiting for a condition: the only place where a test sleeps.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Time after which a condition has failed. A machine that makes progress never needs that long.
const LIMIT: Duration = Duration::from_secs(240);

/// First pause between two checks. Each pause is twice as long as the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// Longest pause between two checks.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Factor by which a limit grows on a processor that software emulates.
const EMULATED: u32 = 4;

/// Result of one check of a condition: `bool`, `Option` or `Result`.
pub trait Condition {
    /// Value of a condition that holds.
    type Value;

    /// Returns the value if the condition holds, or else what is wrong (empty if nothing is known).
    ///
    /// # Errors
    ///
    /// The condition does not hold yet.
    fn check(self) -> Result<Self::Value, String>;
}

impl Condition for bool {
    type Value = ();

    fn check(self) -> Result<(), String> {
        if self { Ok(()) } else { Err(String::new()) }
    }
}

impl<T> Condition for Option<T> {
    type Value = T;

    fn check(self) -> Result<T, String> {
        self.ok_or_else(String::new)
    }
}

impl<T, E: Display> Condition for Result<T, E> {
    type Value = T;

    fn check(self) -> Result<T, String> {
        self.map_err(|error| format!(": {error}"))
    }
}

/// Checks `condition` until it holds and returns its value. `what` names the condition in the failure's message.
///
/// # Panics
///
/// The condition did not hold within 240 s (four times as long on an emulated processor).
#[track_caller]
pub fn eventually<C: Condition>(what: &str, mut condition: impl FnMut() -> C) -> C::Value {
    let limit = scaled_timeout(LIMIT);
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    loop {
        match condition().check() {
            Ok(value) => return value,
            Err(wrong) => {
                assert!(Instant::now() < deadline, "{what}: not within {limit:?}{wrong}");
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Scales `native`, a limit that is enough on every processor that is not emulated, to this machine.
#[must_use]
pub fn scaled_timeout(native: Duration) -> Duration {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if processor.contains("QEMU TCG CPU") { native * EMULATED } else { native }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_checked_until_it_holds() {
        let mut checks = 0;
        eventually("three checks", || {
            checks += 1;
            checks == 3
        });
        assert_eq!(checks, 3);
    }

    #[test]
    fn the_value_of_a_condition_is_returned() {
        let mut left = vec![None, Some(7)].into_iter();
        assert_eq!(eventually("a value", || left.next().flatten()), 7);
        let mut left = vec![Err("not yet"), Ok(8)].into_iter();
        assert_eq!(eventually("a result", || left.next().unwrap_or(Err("over"))), 8);
    }
}
