//! Memory during a trial: available memory, and time that tasks waited for memory.

use crate::files::MachineFiles;
use tare_record::{HostMemory, Nanos};

/// Total time for which some task has waited for memory since the machine started (PSI, /proc/pressure/memory).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryPressure(Option<Nanos>);

impl MemoryPressure {
    /// Reads the total.
    pub(crate) fn read(files: &MachineFiles) -> Self {
        Self(files.text("proc/pressure/memory").as_deref().and_then(some_total))
    }

    /// Returns the memory available now, and the waiting time since the earlier reading.
    pub(crate) fn memory_since(self, files: &MachineFiles) -> HostMemory {
        let Self(now) = Self::read(files);
        let pressure = now.zip(self.0).map(|(now, then)| now - then);
        HostMemory { available: available(files), pressure }
    }
}

/// Parses the total of `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, µs.
fn some_total(text: &str) -> Option<Nanos> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}

/// Reads `MemAvailable: 12345 kB`, in bytes.
fn available(files: &MachineFiles) -> Option<u64> {
    let text = files.text("proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn what_is_left_and_how_long_was_waited() {
        let root = tempfile::tempdir().unwrap();
        let pressure = |total| {
            format!(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 total=7\n"
            )
        };
        let (before, after) = (pressure(1_000), pressure(1_250));
        let files = write_test_files(root.path(), &[("proc/pressure/memory", &before)]);
        let then = MemoryPressure::read(&files);
        let meminfo = "MemTotal:  2048 kB\nMemAvailable:    1024 kB\n";
        write_test_files(
            root.path(),
            &[("proc/pressure/memory", &after), ("proc/meminfo", meminfo)],
        );
        let memory = then.memory_since(&files);
        assert_eq!(memory.available, Some(1024 * 1024));
        assert_eq!(memory.pressure, Some(Nanos(250_000)));
    }

    #[test]
    fn a_kernel_that_keeps_neither_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(root.path(), &[("proc/meminfo", "MemTotal: 1 kB\n")]);
        assert_eq!(MemoryPressure::read(&files).memory_since(&files), HostMemory::default());
    }
}
