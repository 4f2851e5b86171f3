//! The monotonic clock: its name, and its present time as a number.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use tare_record::Nanos;

/// Names this process's monotonic clock: the machine's boot, and the offset of its time namespace (time_namespaces(7)).
/// Two processes that give the same name, unless it is empty, read the same clock.
pub(crate) fn name() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let boot = read("/proc/sys/kernel/random/boot_id");
    let offsets = read("/proc/self/timens_offsets");
    let monotonic = offsets.lines().find(|line| line.starts_with("monotonic")).unwrap_or_default();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if boot.trim().is_empty() { String::new() } else { words(&format!("{boot} {monotonic}")) }
}

/// The monotonic clock's present time.
pub(crate) fn now() -> Nanos {
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
