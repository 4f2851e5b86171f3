//! Resources that this process shares with all others: conntrack entries, process numbers, open files, memory.
//!
//! Process numbers and memory are bounded by the machine and by every control group above this process; the bound that
//! leaves least is the one that counts.

use super::{ResourceHeadroom, ResourceKind};
use crate::files::MachineFiles;
use crate::limits::CgroupPosition;
use crate::meminfo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(super) fn tables(files: &MachineFiles) -> Vec<ResourceHeadroom> {
    [conntrack(files), pids(files), open_files(files), memory(files)]
        .into_iter()
        .flatten()
        .collect()
}

/// Raises the soft limit of open files of this process to its hard limit. Programs that it starts inherit the limit.
pub fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Raising the soft limit up to the hard limit is always allowed. If it failed, `check` would report the shortage.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Reads the number of connections tracked in this network namespace. The limit is the same for every namespace, each
/// with its own count.
fn conntrack(files: &MachineFiles) -> Option<ResourceHeadroom> {
    let used = files.value("proc/sys/net/netfilter/nf_conntrack_count")?;
    let limit = files.value("proc/sys/net/netfilter/nf_conntrack_max")?;
    // A limit of 0 means no limit.
    (limit > 0).then_some(ResourceHeadroom { kind: ResourceKind::Conntrack, used, limit })
}

/// Reads the number of threads of the whole machine, and of every control group above this process.
fn pids(files: &MachineFiles) -> Option<ResourceHeadroom> {
    let threads = files.text("proc/loadavg").and_then(|text| parse_thread_count(&text));
    let machine = threads.and_then(|used| {
        let limits = ["proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"];
        let limit = limits.iter().filter_map(|path| files.value(path)).min()?;
        Some((used, limit))
    });
    tightest_limit(ResourceKind::Pids, machine, files, |files, group| {
        let used = files.value(format!("{group}/pids.current"))?;
        Some((used, files.value(format!("{group}/pids.max"))?))
    })
}

/// Reads the memory of the machine, and of every control group above this process. A group's page cache that can be
/// dropped at any time does not count as used.
fn memory(files: &MachineFiles) -> Option<ResourceHeadroom> {
    let machine =
        meminfo::memory(files).map(|memory| (memory.total - memory.available, memory.total));
    tightest_limit(ResourceKind::Memory, machine, files, |files, group| {
        let current: u64 = files.value(format!("{group}/memory.current"))?;
        let cache = files
            .text(format!("{group}/memory.stat"))
            .and_then(|text| parse_inactive_file(&text))
            .unwrap_or(0);
        let limit = files.value(format!("{group}/memory.max"))?;
        Some((current.saturating_sub(cache), limit))
    })
}

/// Returns the `(used, limit)` that leaves least, of the machine's and those of this process's control groups.
fn tightest_limit(
    kind: ResourceKind,
    machine: Option<(u64, u64)>,
    files: &MachineFiles,
    of_group: impl Fn(&MachineFiles, &str) -> Option<(u64, u64)>,
) -> Option<ResourceHeadroom> {
    let groups =
        CgroupPosition::read(files).map(|hierarchy| hierarchy.ancestors()).unwrap_or_default();
    groups
        .iter()
        .filter_map(|group| of_group(files, group))
        .chain(machine)
        .min_by_key(|&(used, limit)| limit.saturating_sub(used))
        .map(|(used, limit)| ResourceHeadroom { kind, used, limit })
}

/// Reads the number of files that this process has open, and its limit.
fn open_files(files: &MachineFiles) -> Option<ResourceHeadroom> {
    let used = files.names("proc/self/fd").len() as u64;
    let limit = getrlimit(Resource::Nofile).current?;
    (used > 0).then_some(ResourceHeadroom { kind: ResourceKind::OpenFiles, used, limit })
}

/// Parses the number of threads in `/proc/loadavg`: `0.54 0.42 0.26 1/89 10024`.
fn parse_thread_count(text: &str) -> Option<u64> {
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Parses the inactive page cache, bytes, in a control group's `memory.stat`.
fn parse_inactive_file(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn the_machines_own_bounds() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
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
                ResourceHeadroom { kind: ResourceKind::Conntrack, used: 7, limit: 262_144 },
                ResourceHeadroom { kind: ResourceKind::Pids, used: 89, limit: 9000 },
                ResourceHeadroom { kind: ResourceKind::Memory, used: 40 * 1024, limit: 100 * 1024 },
            ]
        );
    }

    #[test]
    fn a_control_group_that_leaves_less_counts() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
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
        assert_eq!(
            pids(&files),
            Some(ResourceHeadroom { kind: ResourceKind::Pids, used: 10, limit: 50 })
        );
        assert_eq!(
            memory(&files),
            Some(ResourceHeadroom { kind: ResourceKind::Memory, used: 200_000, limit: 400_000 })
        );
    }

    #[test]
    fn the_soft_limit_of_open_files_reaches_the_hard_one() {
        raise_open_files_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
