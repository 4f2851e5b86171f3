//! Descendants of processes.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;

/// Returns these processes and all their descendants that run.
///
/// A program that leaves the mount namespace in which it was started is found by its parents only.
#[must_use]
pub fn descendants(roots: &[Pid]) -> Vec<Pid> {
    let number = |pid: Pid| pid.as_raw_nonzero().get();
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        if let Some(parent) = stat.as_deref().and_then(parent) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found: Vec<i32> = Vec::new();
    let mut left: Vec<i32> = roots.iter().map(|&root| number(root)).collect();
    while let Some(pid) = left.pop() {
        left.extend(children.remove(&pid).unwrap_or_default());
        found.push(pid);
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Kills these processes and all their descendants.
///
/// A process that is started meanwhile is found in the next round: the last round finds none that is not killed.
pub fn kill_descendants(roots: &[Pid]) {
    let mut killed: Vec<Pid> = Vec::new();
    for _ in 0..ROUNDS {
        // The descriptors hold the processes while their parents still show that they belong here.
        let found: Vec<(Pid, OwnedFd)> = descendants(roots)
            .into_iter()
            .filter(|pid| !killed.contains(pid))
            .filter_map(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?)))
            .collect();
        if found.is_empty() {
            return;
        }
        for (pid, descriptor) in found {
            let _ = pidfd_send_signal(descriptor, Signal::KILL);
            killed.push(pid);
        }
    }
}

/// Largest number of rounds in which processes that start further ones are killed.
const ROUNDS: usize = 10;

/// Returns the parent of a process by its `stat` file: the second field after the name, which may have any characters
/// (proc_pid_stat(5)).
fn parent(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use tare_dev::eventually;

    #[test]
    fn children_of_children_are_found_and_killed() {
        let script = "sh -c 'echo $$; exec sleep 1000' & echo $$; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2);
        let said: Vec<i32> = lines.map(|line| line.unwrap().parse().unwrap()).collect();
        let root = Pid::from_child(&child);
        let found: Vec<i32> =
            descendants(&[root]).iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        assert!(said.iter().all(|pid| found.contains(pid)), "{said:?} of {found:?}");
        kill_descendants(&[root]);
        child.wait().unwrap();
        let runs = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
        };
        eventually("all are gone", || !said.iter().any(runs));
    }

    #[test]
    fn the_parent_follows_the_state() {
        assert_eq!(parent("7 (a b) c) S 12 7 7 0"), Some(12));
        assert_eq!(parent("7 (a"), None);
    }
}
