//! Timeouts for the places and for what runs on them, made longer on an emulated processor.

use std::sync::OnceLock;
use std::time::Duration;

/// Factor of all timeouts on an emulated processor. It computes tens of times more slowly, and waits as long as a real
/// one.
const EMULATION_FACTOR: u32 = 6;

/// Returns the timeout on this machine for an operation that may take `native` on a real processor.
pub fn scaled_timeout(native: Duration) -> Duration {
    static EMULATION: OnceLock<bool> = OnceLock::new();
    let emulation = EMULATION.get_or_init(|| {
        // A machine whose kernel does not say is treated as real.
        is_emulated(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
    });
    if *emulation { native * EMULATION_FACTOR } else { native }
}

/// Returns whether the kernel's list of processors names one that QEMU emulates in software (its TCG).
fn is_emulated(processors: &str) -> bool {
    processors.lines().any(|line| line.starts_with("model name") && line.contains("QEMU TCG CPU"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_processor_of_software_is_waited_for_longer() {
        assert!(is_emulated("processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\n"));
        assert!(!is_emulated("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\n"));
        assert!(!is_emulated("bugs\t: QEMU TCG CPU\n"));
    }
}
