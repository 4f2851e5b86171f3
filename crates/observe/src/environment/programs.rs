//! Versions of the programs that networks use, by asking the programs.

use crate::files::Files;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program, how it is asked, and the kernel module that it makes the kernel load by being started at all.
struct Program {
    name: &'static str,
    argument: &'static str,
    wakes: Option<&'static str>,
}

const PROGRAMS: &[Program] = &[
    Program { name: "dockerd", argument: "--version", wakes: None },
    Program { name: "ip", argument: "-V", wakes: None },
    // These open a socket to netfilter before they look at their arguments.
    Program { name: "iptables", argument: "--version", wakes: Some("nfnetlink") },
    Program { name: "nft", argument: "--version", wakes: Some("nfnetlink") },
    Program { name: "ovs-vswitchd", argument: "--version", wakes: None },
];

/// Where system programs are that an ordinary user's PATH lacks.
const SYSTEM_DIRECTORIES: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// How long all of them together may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first line of each program's answer; those that are not there, fail or do not answer in time are left out, and
/// so are those that would load a kernel module.
pub(super) fn versions(files: &Files) -> BTreeMap<String, String> {
    let deadline = Instant::now() + PATIENCE;
    let harmless =
        |program: &&Program| program.wakes.is_none_or(|module| is_present(files, module));
    let asked: Vec<(&str, Child)> = PROGRAMS
        .iter()
        .filter(harmless)
        .filter_map(|program| Some((program.name, ask(&find(program.name)?, program.argument)?)))
        .collect();
    asked
        .into_iter()
        .filter_map(|(name, child)| Some((name.to_owned(), answer(child, deadline)?)))
        .collect()
}

/// Whether a kernel module is loaded or built in, or the kernel cannot load any.
fn is_present(files: &Files, module: &str) -> bool {
    if !files.exists("proc/modules") {
        return true;
    }
    let loaded = files.text("proc/modules").unwrap_or_default();
    let release = files.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let built_in = files.text(format!("lib/modules/{release}/modules.builtin")).unwrap_or_default();
    loaded.lines().any(|line| line.split(' ').next() == Some(module))
        || built_in.lines().any(|line| line.ends_with(&format!("/{module}.ko")))
}

/// Where a program is: on the PATH, or in a system directory.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

fn ask(program: &Path, argument: &str) -> Option<Child> {
    Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Waits for a program until the deadline; kills one that takes longer.
fn answer(mut child: Child, deadline: Instant) -> Option<String> {
    if !ended(&child, deadline) {
        // A child that ended just now cannot be killed any more, which is as good.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Whether a child ended before the deadline.
fn ended(child: &Child, deadline: Instant) -> bool {
    let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return false;
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let Ok(timeout) = Timespec::try_from(left) else {
        return false;
    };
    matches!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)), Ok(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;

    /// Deadline that no test meets.
    fn never() -> Instant {
        Instant::now() + Duration::from_secs(86_400)
    }

    #[test]
    fn the_first_line_of_an_answer() {
        let child = ask(&find("printf").unwrap(), "tool 1.2\nmore").unwrap();
        assert_eq!(answer(child, never()).as_deref(), Some("tool 1.2"));
    }

    #[test]
    fn a_program_that_fails_has_no_version() {
        let child = ask(&find("ls").unwrap(), "/no/such/file").unwrap();
        assert_eq!(answer(child, never()), None);
    }

    #[test]
    fn a_program_that_never_ends_is_killed() {
        let child = ask(&find("sleep").unwrap(), "infinity").unwrap();
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        assert_eq!(answer(child, Instant::now()), None);
        let at_once = Some(&Timespec::default());
        assert_eq!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], at_once), Ok(1), "it ended");
    }

    #[test]
    fn a_module_is_present_where_it_is_loaded_or_built_in_or_none_can_be() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::under(root.path());
        assert!(is_present(&files, "nfnetlink"), "a kernel without modules");
        let release = ("proc/sys/kernel/osrelease", "6.1.0\n");
        lay_out(root.path(), &[("proc/modules", "veth 16384 0 - Live 0x0\n"), release]);
        assert!(!is_present(&files, "nfnetlink") && is_present(&files, "veth"));
        let built_in = "kernel/net/netfilter/nfnetlink.ko\n";
        lay_out(root.path(), &[("lib/modules/6.1.0/modules.builtin", built_in)]);
        assert!(is_present(&files, "nfnetlink") && !is_present(&files, "netlink"));
    }

    #[test]
    fn what_is_nowhere_is_not_found() {
        assert_eq!(find("tare-no-such-program"), None);
    }
}
