//! State of the machine: CPU time, memory, control groups, and the processes of one program.

use super::program::ends_within;
use rustix::process::Pid;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_dev::scaled_timeout;

/// Time limit within which the kernel ends a dozen processes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Duration of one tick of the CPU times in `/proc` (proc(5), `USER_HZ` is 100 on all architectures of Linux that tare
/// supports).
const TICK: Duration = Duration::from_millis(10);

/// Returns the CPU time that all cores have spent on tasks and interrupts since boot (`/proc/stat`).
pub fn busy_time() -> Duration {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc is there");
    let line = text.lines().next().expect("a line for all cores");
    let ticks: Vec<u32> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system; without idle and iowait; irq, softirq.
    let busy = ticks[..3].iter().chain(&ticks[5..7]).map(|&ticks| TICK * ticks);
    busy.sum()
}

/// Returns the CPU time of all ended children of this process, with the children that they waited for (`cutime` and
/// `cstime` of proc_pid_stat(5)).
pub fn ended_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc is there");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |field: &str| TICK * field.parse::<u32>().expect("ticks");
    // Both values are rounded down.
    ticks(fields[13]) + ticks(fields[14]) + 2 * TICK
}

/// Returns the current descendants of a process with these words on their command line, from `/proc`.
pub fn descendants(ancestor: u32, words: &str) -> Vec<Pid> {
    let matches = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    };
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let below = pids.filter(|&pid| is_below(pid, ancestor)).filter(matches);
    below.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).collect()
}

/// Returns true if a process descends from another one.
fn is_below(mut pid: u32, ancestor: u32) -> bool {
    while pid > 1 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|fields| fields.split(' ').nth(1));
        // A process that has ended in the meantime has no parent.
        pid = parent.and_then(|parent| parent.parse().ok()).unwrap_or(0);
        if pid == ancestor {
            return true;
        }
    }
    false
}

/// Returns the memory available without swapping, bytes (proc(5), MemAvailable).
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc is there");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.expect("Linux 3.14 and later say it") * 1024
}

/// Returns the existing control groups made by the run with this process number.
pub fn cgroups_of(run: u32) -> Vec<PathBuf> {
    let prefix = format!("tare-{run}-");
    let mut left = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        // Directories that vanish in the meantime, or that are not readable, have none.
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for group in below.map(|entry| entry.path()) {
            let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(&prefix) {
                found.push(group);
            } else {
                left.push(group);
            }
        }
    }
    found
}

/// Returns the processes that run this program file, or have its path among their arguments.
pub fn processes_of(program: &Path) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let path = program.as_os_str().as_encoded_bytes();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
            // Processes that have ended since, or that belong to other users, do not count.
            let runs = std::fs::read_link(entry.path().join("exe")).ok()?;
            let arguments = std::fs::read(entry.path().join("cmdline")).ok()?;
            let named = arguments.split(|&byte| byte == 0).any(|argument| argument == path);
            (runs == program || named).then_some(pid)
        })
        .collect()
}

/// Waits until no process runs this program file or names it.
pub fn wait_for_the_end_of(program: &Path) {
    while let Some(&pid) = processes_of(program).first() {
        assert!(ends_within(pid, scaled_timeout(PATIENCE)), "{pid:?} is still there");
    }
}
