//! Reasons why the processor's counters cannot be read, with remedies.

use crate::files::MachineFiles;
use rustix::io::Errno;

/// File that holds the level of access that users have to counters.
const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";

/// Error: nothing can be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct CountersUnavailable {
    /// Reason, in one line.
    pub why: String,
    /// Remedy, in one line.
    pub remedy: String,
}

impl CountersUnavailable {
    /// Translates an error of perf_event_open(2) into a reason and a remedy.
    pub(super) fn new(errno: Errno, files: &MachineFiles) -> Self {
        let (why, remedy) = match errno {
            Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV => (
                missing_counters_reason(files),
                "measure on a physical machine, or let the hypervisor expose the counters (QEMU: -cpu host,pmu=on)"
                    .to_owned(),
            ),
            Errno::ACCESS | Errno::PERM => {
                let level: Option<i32> = files.value(PARANOID);
                let level = level.map(|level| format!(" (perf_event_paranoid is {level})"));
                (
                    format!("the kernel does not let this user read the counters{}", level.unwrap_or_default()),
                    "run tare as root, or give the tare binary CAP_PERFMON".to_owned(),
                )
            }
            Errno::NOSYS => (
                "the kernel has no perf_event_open(2), or the seccomp filter of a container blocks the call".to_owned(),
                "run tare outside of containers, on a kernel with CONFIG_PERF_EVENTS".to_owned(),
            ),
            Errno::BUSY => (
                "another program holds the processor's counters".to_owned(),
                "stop other profilers, also those on the host of a virtual machine".to_owned(),
            ),
            other => (format!("perf_event_open(2): {other}"), "see perf_event_open(2)".to_owned()),
        };
        Self { why, remedy }
    }
}

/// Returns the reason for missing counters; names the hypervisor if there is one.
fn missing_counters_reason(files: &MachineFiles) -> String {
    let info = files.text("proc/cpuinfo").unwrap_or_default();
    let guest = info.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    if guest {
        "the hypervisor hides the processor's counters from this virtual machine".to_owned()
    } else {
        "this processor has no counters that the kernel supports".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn who_refuses_is_told() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[("proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n"), (PARANOID, "2\n")],
        );
        let why = |errno| CountersUnavailable::new(errno, &files).why;
        assert!(why(Errno::NOENT).starts_with("the hypervisor hides"), "{}", why(Errno::NOENT));
        assert!(why(Errno::ACCESS).ends_with("(perf_event_paranoid is 2)"));
        let bare = MachineFiles::under(tempfile::tempdir().unwrap().path());
        assert!(
            CountersUnavailable::new(Errno::OPNOTSUPP, &bare).why.starts_with("this processor")
        );
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::NOSYS, Errno::BUSY, Errno::MFILE] {
            assert!(!CountersUnavailable::new(errno, &files).remedy.is_empty());
        }
    }
}
