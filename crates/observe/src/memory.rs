//! Memory while a trial ran: what was left, and how long work waited for it.

use crate::files::Files;
use tare_record::{Memory, Nanos};

/// How long some task has waited for memory since the machine started, at one moment (PSI, /proc/pressure/memory).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pressure(Option<Nanos>);

impl Pressure {
    /// Reads it.
    pub(crate) fn now(files: &Files) -> Self {
        Self(files.text("proc/pressure/memory").as_deref().and_then(some_total))
    }

    /// The memory that is left now, and the waiting since then.
    pub(crate) fn until_now(self, files: &Files) -> Memory {
        let Self(now) = Self::now(files);
        let pressure = now.zip(self.0).map(|(now, then)| now - then);
        Memory { available: available(files), pressure }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, µs.
fn some_total(text: &str) -> Option<Nanos> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}

/// `MemAvailable: 12345 kB`, in bytes.
fn available(files: &Files) -> Option<u64> {
    let text = files.text("proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;

    #[test]
    fn what_is_left_and_how_long_was_waited() {
        let root = tempfile::tempdir().unwrap();
        let pressure = |total| {
            format!(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 total=7\n"
            )
        };
        let (before, after) = (pressure(1_000), pressure(1_250));
        let files = lay_out(root.path(), &[("proc/pressure/memory", &before)]);
        let then = Pressure::now(&files);
        let meminfo = "MemTotal:  2048 kB\nMemAvailable:    1024 kB\n";
        lay_out(root.path(), &[("proc/pressure/memory", &after), ("proc/meminfo", meminfo)]);
        let memory = then.until_now(&files);
        assert_eq!(memory.available, Some(1024 * 1024));
        assert_eq!(memory.pressure, Some(Nanos(250_000)));
    }

    #[test]
    fn a_kernel_that_keeps_neither_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        let files = lay_out(root.path(), &[("proc/meminfo", "MemTotal: 1 kB\n")]);
        assert_eq!(Pressure::now(&files).until_now(&files), Memory::default());
    }
}
