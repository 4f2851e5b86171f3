//! How long is waited for an engine and for what runs on it, where software emulates the processor.

use std::sync::OnceLock;
use std::time::Duration;

/// How much longer everything may take there. It takes tens of times longer to compute, and as long to wait.
const EMULATED: u32 = 6;

/// What is enough on a processor, as it is on this machine's.
pub(crate) fn patience(native: Duration) -> Duration {
    static EMULATION: OnceLock<bool> = OnceLock::new();
    let emulation = EMULATION.get_or_init(|| {
        // A kernel that does not say is taken for a real machine's.
        is_emulated(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
    });
    if *emulation { native * EMULATED } else { native }
}

/// Whether the kernel's list of processors names one that QEMU makes of software (its TCG).
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
