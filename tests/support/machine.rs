//! The machine as a user sees it, and the processes of one program.

use super::program::{User, ends_within, tied};
use rustix::process::Pid;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than the kernel takes to end a dozen processes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much longer one waits where software emulates the processor.
const EMULATED: u32 = 4;

/// A test's patience on this machine, from what is enough on the busiest one with a processor of its own.
pub(crate) fn patience(native: Duration) -> Duration {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if processor.contains("QEMU TCG CPU") { native * EMULATED } else { native }
}

/// What a run must leave as it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    links: String,
    namespaces: String,
    rules: String,
}

impl Machine {
    /// As it is now. What an ordinary user may not see (the rules) is left out by the program that shows it.
    pub(crate) fn now() -> Self {
        Self {
            links: said("ip", &["-o", "link"]),
            namespaces: said("ip", &["netns"]),
            rules: said("nft", &["list", "ruleset"]),
        }
    }
}

/// What a program says. An ordinary user's PATH may lack the directories of administrators' programs.
fn said(program: &str, arguments: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = tied(User::Caller, program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Memory that could be had now without swapping, bytes (proc(5), MemAvailable).
pub(crate) fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc is there");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.expect("Linux 3.14 and later say it") * 1024
}

/// The control groups that a run of this process number made, and that are still there.
pub(crate) fn groups_of(run: u32) -> Vec<PathBuf> {
    let name = format!("tare-{run}");
    let mut left = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        // What vanishes meanwhile, or may not be looked into, holds none.
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for group in below.map(|entry| entry.path()) {
            if group.ends_with(&name) {
                found.push(group);
            } else {
                left.push(group);
            }
        }
    }
    found
}

/// The processes that run this program file, or have its path among their arguments.
pub(crate) fn processes_of(program: &Path) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let path = program.as_os_str().as_encoded_bytes();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
            // Who ends meanwhile, or is somebody else's, is none of them.
            let runs = std::fs::read_link(entry.path().join("exe")).ok()?;
            let arguments = std::fs::read(entry.path().join("cmdline")).ok()?;
            let named = arguments.split(|&byte| byte == 0).any(|argument| argument == path);
            (runs == program || named).then_some(pid)
        })
        .collect()
}

/// Waits until no process has anything to do with this program file.
pub(crate) fn wait_for_the_end_of(program: &Path) {
    while let Some(&pid) = processes_of(program).first() {
        assert!(ends_within(pid, PATIENCE), "{pid:?} is still there");
    }
}
