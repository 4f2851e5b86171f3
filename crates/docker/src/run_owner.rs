//! Process that a run is, as a label: what a run made is removed by others only once that process is known to have ended.

use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs;
use std::str::FromStr;
use std::sync::LazyLock;

/// Name of the label.
pub(crate) const OWNER_LABEL: &str = "tare.owner";

/// Process of a run. Its text is `MACHINE.BOOT.NAMESPACE.PID.START`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunOwner {
    /// Short hash of the machine's id (machine-id(5)), and of the boot's.
    machine: String,
    boot: String,
    /// Inode number of the process's PID namespace (pid_namespaces(7)).
    namespace: String,
    pid: u32,
    /// Start of the process, clock ticks after the boot (proc_pid_stat(5)).
    start: u64,
}

/// State of a run's process, as far as an observer can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// It runs.
    Running,
    /// It has ended.
    Ended,
    /// It runs elsewhere, if at all: on another machine, or in another PID namespace.
    Unknown,
}

impl RunOwner {
    /// Returns this process. It is read once: a run labels everything that it makes.
    pub(crate) fn current() -> &'static Self {
        static CURRENT: LazyLock<RunOwner> = LazyLock::new(RunOwner::read);
        &CURRENT
    }

    fn read() -> Self {
        let pid = std::process::id();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let namespace = namespace.to_string_lossy();
        Self {
            machine: short_hash(&read_text("/etc/machine-id")),
            boot: short_hash(&read_text("/proc/sys/kernel/random/boot_id")),
            namespace: namespace.chars().filter(char::is_ascii_digit).collect(),
            pid,
            start: start_time(pid).unwrap_or_default(),
        }
    }

    /// Returns whether this process still runs, as far as `observer` can know.
    pub(crate) fn state(&self, observer: &Self) -> OwnerState {
        let is_same_boot = !self.boot.is_empty() && self.boot == observer.boot;
        if is_same_boot && self.namespace == observer.namespace {
            let runs = start_time(self.pid).is_some_and(|start| start == self.start);
            return if runs { OwnerState::Running } else { OwnerState::Ended };
        }
        let is_same_machine = !self.machine.is_empty() && self.machine == observer.machine;
        // After a boot nothing runs that ran before it.
        if is_same_machine && !is_same_boot && !self.boot.is_empty() {
            OwnerState::Ended
        } else {
            OwnerState::Unknown
        }
    }
}

impl fmt::Display for RunOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, boot, namespace, pid, start } = self;
        write!(f, "{machine}.{boot}.{namespace}.{pid}.{start}")
    }
}

/// Text that is no process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidOwner;

impl FromStr for RunOwner {
    type Err = InvalidOwner;

    fn from_str(text: &str) -> Result<Self, InvalidOwner> {
        let [machine, boot, namespace, pid, start] =
            text.split('.').collect::<Vec<_>>().try_into().map_err(|_| InvalidOwner)?;
        Ok(Self {
            machine: machine.to_owned(),
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            pid: pid.parse().map_err(|_| InvalidOwner)?,
            start: start.parse().map_err(|_| InvalidOwner)?,
        })
    }
}

fn read_text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Returns a hash that tells a few machines apart, and does not tell their ids. Empty if there is no id.
fn short_hash(id: &str) -> String {
    if id.is_empty() {
        return String::new();
    }
    let hash = Sha256::digest(format!("tare run owner {id}"));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the start of a process of this PID namespace.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The fields after the name, which stands in parentheses, begin with the third.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_to_have_ended_or_is_not_known() {
        let current = RunOwner::current();
        assert_eq!(current.to_string().parse(), Ok(current.clone()));
        assert_eq!(current.state(current), OwnerState::Running);
        let other = |change: fn(&mut RunOwner)| {
            let mut other = current.clone();
            change(&mut other);
            other.state(&RunOwner { machine: "m".to_owned(), ..current.clone() })
        };
        assert_eq!(other(|one| one.start += 1), OwnerState::Ended, "another process has its id");
        assert_eq!(other(|one| one.pid = u32::MAX), OwnerState::Ended);
        assert_eq!(other(|one| one.namespace = "7".to_owned()), OwnerState::Unknown);
        assert_eq!(other(|one| one.boot = "7".to_owned()), OwnerState::Unknown);
        let rebooted = |one: &mut RunOwner| {
            (one.machine, one.boot) = ("m".to_owned(), "7".to_owned());
        };
        assert_eq!(other(rebooted), OwnerState::Ended);
        for text in ["", "a.b.c.d.e", "a.b.1.2", "a.b.c.1.2.3"] {
            assert_eq!(text.parse::<RunOwner>(), Err(InvalidOwner), "{text}");
        }
    }
}
