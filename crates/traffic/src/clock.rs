//! Monotonic clock: its name, and its current time as a number.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use tare_record::Nanos;

/// Returns the name of this process's monotonic clock: the machine's boot, and the offset of its time namespace
/// (time_namespaces(7)). Two processes with the same non-empty name read the same clock.
#[must_use]
pub fn name() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let boot = read("/proc/sys/kernel/random/boot_id");
    let offsets = read("/proc/self/timens_offsets");
    let monotonic = offsets.lines().find(|line| line.starts_with("monotonic")).unwrap_or_default();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if boot.trim().is_empty() { String::new() } else { words(&format!("{boot} {monotonic}")) }
}

/// Returns the current time of the monotonic clock.
#[must_use]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_looks_at_one_clock_agree_on_its_name_and_not_on_its_time() {
        assert!(!name().is_empty() && name() == name() && name().lines().count() == 1);
        let before = now();
        assert!(now() >= before);
    }
}
