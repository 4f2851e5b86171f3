//! What this process shares with everything else: conntrack, process numbers, open files, memory.
//!
//! Process numbers and memory are bounded by the machine and by every control group above this process; the bound
//! that leaves least is the one that counts.

use super::{Kind, Table};
use crate::environment;
use crate::files::Files;
use crate::limits::Hierarchy;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(super) fn tables(files: &Files) -> Vec<Table> {
    [conntrack(files), pids(files), open_files(files), memory(files)]
        .into_iter()
        .flatten()
        .collect()
}

/// Lets this process open as many files as it may: its soft limit is raised to the hard one. Programs that it starts
/// inherit the limit.
pub fn lift_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Raising the soft limit as far as the hard one is always allowed; were it not, `check` would say what lacks.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Connections tracked in this network namespace. The limit is the same for every namespace, each with its own count.
fn conntrack(files: &Files) -> Option<Table> {
    let used = files.value("proc/sys/net/netfilter/nf_conntrack_count")?;
    let limit = files.value("proc/sys/net/netfilter/nf_conntrack_max")?;
    // A limit of 0 is none.
    (limit > 0).then_some(Table { kind: Kind::Conntrack, used, limit })
}

/// Threads of the whole machine, and of every control group above this process.
fn pids(files: &Files) -> Option<Table> {
    let threads = files.text("proc/loadavg").and_then(|text| threads(&text));
    let machine = threads.and_then(|used| {
        let limits = ["proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"];
        let limit = limits.iter().filter_map(|path| files.value(path)).min()?;
        Some((used, limit))
    });
    tightest(Kind::Pids, machine, files, |files, group| {
        let used = files.value(format!("{group}/pids.current"))?;
        Some((used, files.value(format!("{group}/pids.max"))?))
    })
}

/// Memory of the machine, and of every control group above this process, whose page cache that can be dropped at
/// any time does not count as used.
fn memory(files: &Files) -> Option<Table> {
    let machine =
        environment::memory(files).map(|memory| (memory.total - memory.available, memory.total));
    tightest(Kind::Memory, machine, files, |files, group| {
        let current: u64 = files.value(format!("{group}/memory.current"))?;
        let cache = files
            .text(format!("{group}/memory.stat"))
            .and_then(|text| inactive_file(&text))
            .unwrap_or(0);
        let limit = files.value(format!("{group}/memory.max"))?;
        Some((current.saturating_sub(cache), limit))
    })
}

/// The `(used, limit)` that leaves least, of the machine's and those of this process's control groups.
fn tightest(
    kind: Kind,
    machine: Option<(u64, u64)>,
    files: &Files,
    of_group: impl Fn(&Files, &str) -> Option<(u64, u64)>,
) -> Option<Table> {
    let groups = Hierarchy::read(files).map(|hierarchy| hierarchy.ancestors()).unwrap_or_default();
    groups
        .iter()
        .filter_map(|group| of_group(files, group))
        .chain(machine)
        .min_by_key(|&(used, limit)| limit.saturating_sub(used))
        .map(|(used, limit)| Table { kind, used, limit })
}

/// Files that this process has open, and how many it may have.
fn open_files(files: &Files) -> Option<Table> {
    let used = files.names("proc/self/fd").len() as u64;
    let limit = getrlimit(Resource::Nofile).current?;
    (used > 0).then_some(Table { kind: Kind::OpenFiles, used, limit })
}

/// The number of threads in `/proc/loadavg`: `0.54 0.42 0.26 1/89 10024`.
fn threads(text: &str) -> Option<u64> {
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The page cache not used lately, by a control group's `memory.stat`.
fn inactive_file(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;

    #[test]
    fn the_machines_own_bounds() {
        let root = tempfile::tempdir().unwrap();
        let files = lay_out(
            root.path(),
            &[
                ("proc/loadavg", "0.5 0.4 0.3 1/89 10024\n"),
                ("proc/sys/kernel/pid_max", "32768\n"),
                ("proc/sys/kernel/threads-max", "9000\n"),
                ("proc/sys/net/netfilter/nf_conntrack_count", "7\n"),
                ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
                ("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\n"),
            ],
        );
        assert_eq!(
            tables(&files),
            [
                Table { kind: Kind::Conntrack, used: 7, limit: 262_144 },
                Table { kind: Kind::Pids, used: 89, limit: 9000 },
                Table { kind: Kind::Memory, used: 40 * 1024, limit: 100 * 1024 },
            ]
        );
    }

    #[test]
    fn a_control_group_that_leaves_less_counts() {
        let root = tempfile::tempdir().unwrap();
        let files = lay_out(
            root.path(),
            &[
                ("proc/loadavg", "0.5 0.4 0.3 1/89 10024\n"),
                ("proc/sys/kernel/pid_max", "32768\n"),
                ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n"),
                ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
                ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
                ("sys/fs/cgroup/a.slice/pids.current", "10\n"),
                ("sys/fs/cgroup/a.slice/pids.max", "50\n"),
                ("sys/fs/cgroup/a.slice/b.scope/pids.current", "1\n"),
                ("sys/fs/cgroup/a.slice/b.scope/pids.max", "max\n"),
                ("sys/fs/cgroup/a.slice/memory.current", "300000\n"),
                ("sys/fs/cgroup/a.slice/memory.max", "400000\n"),
                ("sys/fs/cgroup/a.slice/memory.stat", "anon 1\ninactive_file 100000\n"),
            ],
        );
        assert_eq!(pids(&files), Some(Table { kind: Kind::Pids, used: 10, limit: 50 }));
        assert_eq!(
            memory(&files),
            Some(Table { kind: Kind::Memory, used: 200_000, limit: 400_000 })
        );
    }

    #[test]
    fn the_soft_limit_of_open_files_reaches_the_hard_one() {
        lift_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
