//! `/proc/meminfo` (proc_meminfo(5)): memory of the machine.

use crate::files::MachineFiles;

/// Memory of the machine, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemorySize {
    /// Total memory.
    pub(crate) total: u64,
    /// Memory available without swapping, by the kernel's own estimate.
    pub(crate) available: u64,
}

/// Reads the memory from `/proc/meminfo`.
pub(crate) fn memory(files: &MachineFiles) -> Option<MemorySize> {
    meminfo(&files.text("proc/meminfo")?)
}

fn meminfo(text: &str) -> Option<MemorySize> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    let total = bytes("MemTotal")?;
    let available = bytes("MemAvailable").or_else(|| bytes("MemFree"))?;
    Some(MemorySize { total, available: available.min(total) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_in_bytes() {
        let text = "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:    6000000 kB\n";
        let memory = MemorySize { total: 8_000_000 * 1024, available: 6_000_000 * 1024 };
        assert_eq!(meminfo(text), Some(memory));
        assert_eq!(meminfo("MemTotal: 5 pages\n"), None);
    }

    proptest! {
        #[test]
        fn available_memory_is_a_part_of_all(text in "(Mem(Total|Available|Free): {1,9}[0-9]{0,9} ?(kB)?\n){0,6}") {
            if let Some(memory) = meminfo(&text) {
                prop_assert!(memory.available <= memory.total);
            }
        }
    }
}
