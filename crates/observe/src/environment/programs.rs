//! Versions of the programs that networks use, as the programs report them.

use crate::files::MachineFiles;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program, the argument that prints its version, and the kernel module that the kernel loads when the program
/// starts.
struct VersionQuery {
    name: &'static str,
    argument: &'static str,
    loads_module: Option<&'static str>,
}

const PROGRAMS: &[VersionQuery] = &[
    VersionQuery { name: "dockerd", argument: "--version", loads_module: None },
    VersionQuery { name: "ip", argument: "-V", loads_module: None },
    // These open a netfilter socket before they parse their arguments.
    VersionQuery { name: "iptables", argument: "--version", loads_module: Some("nfnetlink") },
    VersionQuery { name: "nft", argument: "--version", loads_module: Some("nfnetlink") },
    VersionQuery { name: "ovs-vswitchd", argument: "--version", loads_module: None },
];

/// Directories of system programs that an ordinary user's PATH lacks.
const SYSTEM_DIRECTORIES: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Time limit for the answers of all programs together.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the first line of each program's answer. Programs that are missing, fail or do not answer in time are left
/// out, and so are those that would load a kernel module.
pub(super) fn versions(files: &MachineFiles) -> BTreeMap<String, String> {
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    let harmless = |program: &&VersionQuery| {
        program.loads_module.is_none_or(|module| is_module_present(files, module))
    };
    let asked: Vec<(&str, Child)> = PROGRAMS
        .iter()
        .filter(harmless)
        .filter_map(|program| {
            Some((program.name, start_query(&find_program(program.name)?, program.argument)?))
        })
        .collect();
    asked
        .into_iter()
        .filter_map(|(name, child)| Some((name.to_owned(), read_answer(child, deadline)?)))
        .collect()
}

/// Returns `true` if a kernel module is loaded or built in, or if the kernel cannot load any.
fn is_module_present(files: &MachineFiles, module: &str) -> bool {
    if !files.exists("proc/modules") {
        return true;
    }
    let loaded = files.text("proc/modules").unwrap_or_default();
    let release = files.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let built_in = files.text(format!("lib/modules/{release}/modules.builtin")).unwrap_or_default();
    loaded.lines().any(|line| line.split(' ').next() == Some(module))
        || built_in.lines().any(|line| line.ends_with(&format!("/{module}.ko")))
}

/// Finds a program on the PATH or in a system directory.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

fn start_query(program: &Path, argument: &str) -> Option<Child> {
    Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Waits for a program until the deadline and returns the first line of its output; kills a program that takes longer.
fn read_answer(mut child: Child, deadline: Instant) -> Option<String> {
    if !wait_until_ended(&child, deadline) {
        // A child that has just ended can no longer be killed, which is as good.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Waits for a child. Returns `true` if it ended before the deadline.
fn wait_until_ended(child: &Child, deadline: Instant) -> bool {
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
    use crate::files::write_test_files;

    /// Returns a deadline that no test reaches.
    fn never() -> Instant {
        Instant::now() + Duration::from_secs(86_400)
    }

    #[test]
    fn the_first_line_of_an_answer() {
        let child = start_query(&find_program("printf").unwrap(), "tool 1.2\nmore").unwrap();
        assert_eq!(read_answer(child, never()).as_deref(), Some("tool 1.2"));
    }

    #[test]
    fn a_program_that_fails_has_no_version() {
        let child = start_query(&find_program("ls").unwrap(), "/no/such/file").unwrap();
        assert_eq!(read_answer(child, never()), None);
    }

    #[test]
    fn a_program_that_never_ends_is_killed() {
        let child = start_query(&find_program("sleep").unwrap(), "infinity").unwrap();
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        assert_eq!(read_answer(child, Instant::now()), None);
        let at_once = Some(&Timespec::default());
        assert_eq!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], at_once), Ok(1), "it ended");
    }

    #[test]
    fn a_module_is_present_where_it_is_loaded_or_built_in_or_none_can_be() {
        let root = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(root.path());
        assert!(is_module_present(&files, "nfnetlink"), "a kernel without modules");
        let release = ("proc/sys/kernel/osrelease", "6.1.0\n");
        write_test_files(root.path(), &[("proc/modules", "veth 16384 0 - Live 0x0\n"), release]);
        assert!(!is_module_present(&files, "nfnetlink") && is_module_present(&files, "veth"));
        let built_in = "kernel/net/netfilter/nfnetlink.ko\n";
        write_test_files(root.path(), &[("lib/modules/6.1.0/modules.builtin", built_in)]);
        assert!(is_module_present(&files, "nfnetlink") && !is_module_present(&files, "netlink"));
    }

    #[test]
    fn what_is_nowhere_is_not_found() {
        assert_eq!(find_program("tare-no-such-program"), None);
    }
}
