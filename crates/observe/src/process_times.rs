//! CPU time of tare's own processes, and of the kernel's threads.
//!
//! Own are this process and all its descendants: agents, daemons of all networks that are up, external tools and the
//! init process of the sandbox. The kernel's threads do the work of networks, too: a work queue encrypts their packets.
//! They are visible only to processes of the machine's first PID namespace. Source: proc_pid_stat(5).

use crate::files::MachineFiles;
use crate::proc_stat::ticks_per_second;
use std::collections::BTreeMap;
use tare_record::Nanos;

/// Process id of the parent of all threads of the kernel.
const KTHREADD: u32 = 2;

/// Fields after the name: the parent, and the first and the number of those that are CPU times: user and system time of
/// the process, and of the children that it has waited for.
const PARENT: usize = 1;
const FIRST_TIME: usize = 11;
const TIMES: usize = 4;

/// Processes of the machine, by their ids.
type Processes = BTreeMap<u32, ProcessStat>;

/// Parts of a process's `stat` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    parent: u32,
    /// CPU time of the process and of the children that it has waited for, ticks.
    ticks: u64,
    /// True for the threads in which a core does its software interrupts, which have a time of their own.
    is_ksoftirqd: bool,
}

/// CPU times up to one moment, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessTimes {
    own: u64,
    kernel: u64,
}

impl ProcessTimes {
    /// Reads the times of this process with its descendants, and of the kernel's threads.
    pub(crate) fn read(files: &MachineFiles) -> Self {
        Self::of_process(files, std::process::id())
    }

    fn of_process(files: &MachineFiles, own: u32) -> Self {
        let stat = |name: String| {
            let pid: u32 = name.parse().ok()?;
            Some((pid, parse_stat(&files.text(format!("proc/{pid}/stat"))?)?))
        };
        let all: Processes = files.names("proc").into_iter().filter_map(stat).collect();
        let mut times = Self::default();
        for (&pid, stat) in &all {
            if descends(&all, pid, own) {
                times.own = times.own.saturating_add(stat.ticks);
            } else if stat.parent == KTHREADD && !stat.is_ksoftirqd {
                times.kernel = times.kernel.saturating_add(stat.ticks);
            }
        }
        times
    }

    /// Returns the CPU time since an earlier reading, without that of a process that has ended since then and that no
    /// other waited for.
    pub(crate) fn since(&self, before: &Self) -> Nanos {
        let own = self.own.saturating_sub(before.own);
        let kernel = self.kernel.saturating_sub(before.kernel);
        let nanos = own.saturating_add(kernel).saturating_mul(1_000_000_000);
        Nanos(nanos / ticks_per_second().max(1))
    }
}

/// Returns true if a process is this one or descends from it.
fn descends(all: &Processes, pid: u32, own: u32) -> bool {
    let mut pid = pid;
    // Processes that end during the reading may make a circle of reused ids.
    for _ in 0..all.len() {
        if pid == own {
            return true;
        }
        match all.get(&pid) {
            Some(stat) => pid = stat.parent,
            None => return false,
        }
    }
    false
}

/// Parses a `stat` file of a process. Its name may have any characters.
pub(crate) fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (name, fields) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let times = fields.get(FIRST_TIME..FIRST_TIME + TIMES)?;
    // Times of children can be negative on some kernels: then they are not known.
    let ticks = times.iter().map(|time| time.parse().unwrap_or(0)).fold(0, u64::saturating_add);
    Some(ProcessStat {
        parent: fields.get(PARENT)?.parse().ok()?,
        ticks,
        is_ksoftirqd: name.contains("(ksoftirqd/"),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;
    use std::process::Command;

    /// Returns the `stat` file of a process.
    pub(crate) fn stat(pid: u32, name: &str, parent: u32, times: [u64; 4]) -> String {
        let [user, system, children_user, children_system] = times;
        format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 4194560 9 9 9 9 {user} {system} {children_user} {children_system} 20 0 1 0 7\n"
        )
    }

    #[test]
    fn descendants_and_threads_of_the_kernel_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("proc/40/stat", &stat(40, "tare", 1, [1, 2, 3, 4])),
                ("proc/41/stat", &stat(41, "tare (init) x", 40, [10, 0, 0, 0])),
                ("proc/42/stat", &stat(42, "weaver", 41, [100, 0, 0, 0])),
                ("proc/43/stat", &stat(43, "another", 1, [1000, 1000, 0, 0])),
                ("proc/2/stat", &stat(2, "kthreadd", 0, [0, 5000, 0, 0])),
                ("proc/9/stat", &stat(9, "kworker/0:1-wg-crypt", 2, [0, 7, 0, 0])),
                ("proc/10/stat", &stat(10, "ksoftirqd/0", 2, [0, 9000, 0, 0])),
                ("proc/44/stat", "44 (ended"),
                ("proc/version", "Linux"),
            ],
        );
        let times = ProcessTimes::of_process(&files, 40);
        assert_eq!(times, ProcessTimes { own: 120, kernel: 7 });
        let second = ProcessTimes { own: 120 + ticks_per_second(), kernel: 7 };
        assert_eq!(second.since(&times), Nanos(1_000_000_000));
        assert_eq!(times.since(&second), Nanos(0));
    }

    /// The kernel ends the grandchild after a second of CPU time.
    #[test]
    fn the_time_of_a_grandchild_counts() {
        let files = MachineFiles::machine();
        let before = ProcessTimes::of_process(&files, std::process::id());
        let burn = "sh -c 'ulimit -t 1; while :; do :; done'; exit 0";
        assert!(Command::new("sh").args(["-c", burn]).status().unwrap().success());
        let after = ProcessTimes::of_process(&files, std::process::id());
        let own = ProcessTimes { kernel: 0, ..after };
        let took = own.since(&ProcessTimes { kernel: 0, ..before });
        assert!(took >= Nanos(500_000_000), "{took}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "([0-9]{1,3} |\\(|\\) |-|[a-z]){0,40}") {
            let _ = parse_stat(&text);
        }

        #[test]
        fn ids_in_a_circle_end(parents in proptest::collection::vec(0u32..8, 8)) {
            let process = |(pid, &parent): (u32, &u32)| {
                (pid, ProcessStat { parent, ticks: 1, is_ksoftirqd: false })
            };
            let all: Processes = (0u32..).zip(&parents).map(process).collect();
            prop_assert!(descends(&all, 5, 5));
            let _ = descends(&all, 3, 99);
        }
    }
}
