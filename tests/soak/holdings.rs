//! Descriptors, threads and memory of the processes of a program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::machine::processes_of;

/// Descriptors, threads and memory of a process at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holdings {
    /// Open descriptors; 0 if they are hidden from this user.
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    /// Resident memory, KiB.
    pub(crate) memory: u64,
}

impl Holdings {
    /// Reads what a process holds. Returns `None` if it has ended.
    fn read(process: &Path) -> Option<Self> {
        let status = fs::read_to_string(process.join("status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().trim_end_matches(" kB").parse().ok()
        };
        let descriptors = fs::read_dir(process.join("fd")).map_or(0, |all| all.count() as u64);
        Some(Self { descriptors, threads: number("Threads:")?, memory: number("VmRSS:")? })
    }

    /// Returns the most of each that the process held at any of these moments.
    pub(crate) fn most(moments: &[Self]) -> Self {
        let most = |of: fn(&Self) -> u64| moments.iter().map(of).max().unwrap_or_default();
        Self {
            descriptors: most(|one| one.descriptors),
            threads: most(|one| one.threads),
            memory: most(|one| one.memory),
        }
    }
}

/// Returns the holdings of each process of a program now, by its id.
pub(crate) fn holdings(program: &Path) -> BTreeMap<i32, Holdings> {
    let ids = processes_of(program).into_iter().map(|pid| pid.as_raw_nonzero().get());
    let read = |id| Some((id, Holdings::read(Path::new(&format!("/proc/{id}")))?));
    ids.filter_map(read).collect()
}
