//! Limits of a run: a control group of its own, so that a run that goes wrong does not take the machine with it.
//!
//! With control groups version 2 (cgroups(7)) a process may be bounded without root if systemd or another manager has
//! delegated a part of the hierarchy to its user. [`RunCgroup::create`] creates a group `tare-PID-NAMESPACE` in the nearest
//! group above this process that is writable and delegates the `pids` and `memory` controllers: it is above the new group
//! and above the process's own, so the kernel lets an ordinary user move processes between them. If there is no such
//! group, a run proceeds without limits, and [`LimitsUnavailable`] gives the reason.
//!
//! Dropping [`RunCgroup`] ends the remaining processes of the group and removes it. After a SIGKILL an empty directory
//! would stay: a process that survives tare (the lab's first process) is to call [`remove`] with
//! [`RunCgroup::directory`], from outside the group; otherwise the next run removes it.

mod cgroup;
pub(crate) mod cgroup_position;

pub use cgroup::remove;
pub(crate) use cgroup_position::CgroupPosition;

use crate::files::MachineFiles;
use crate::headroom;
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of the names of runs' groups.
const PREFIX: &str = "tare-";

/// Controllers without which a group bounds nothing.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// Reason why a run has no limits. The run measures all the same.
#[derive(Debug, thiserror::Error)]
pub enum LimitsUnavailable {
    /// Version 2 is not mounted, or this process is outside the mounted part.
    #[error("no control group of version 2 is visible to tare: mount the hierarchy cgroup2")]
    Absent,
    /// No group above this process is writable and delegates the controllers.
    #[error(
        "no control group above tare is writable and delegates the controllers memory and pids: \
         with systemd, start tare by `systemd-run --user --scope tare …`"
    )]
    NotDelegated,
    /// The available resources cannot be read.
    #[error("cannot read the amounts of free memory and free process IDs")]
    Unknown,
    /// A group was created, and its limits were refused.
    #[error("cannot set limits in {path}: {source}", path = path.display())]
    Refused {
        /// Directory of the group.
        path: PathBuf,
        /// Error of the write.
        source: io::Error,
    },
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitValues {
    /// Largest number of processes and threads.
    pub pids: u64,
    /// Largest memory, bytes.
    pub memory: u64,
}

impl LimitValues {
    /// Computes the limits from nine tenths of the free resources, so that the rest of the machine goes on. Returns
    /// `None` if the free memory or process numbers are unknown.
    fn from_free_resources(files: &MachineFiles) -> Option<Self> {
        let tables = headroom::from_files(files);
        let free = |resource: &str| {
            let table = tables.iter().find(|table| table.resource == resource)?;
            Some(table.limit.saturating_sub(table.used) / 10 * 9)
        };
        Some(Self { pids: free("pids")?, memory: free("memory")? })
    }
}

/// Control group with limits, removed when the value is dropped.
#[derive(Debug)]
pub struct RunCgroup {
    directory: PathBuf,
    bounds: LimitValues,
}

impl RunCgroup {
    /// Creates a group for this run, and removes the groups of runs that were killed.
    ///
    /// # Errors
    /// Returns the reason if there can be no group here; a run proceeds without.
    pub fn create() -> Result<Self, LimitsUnavailable> {
        Self::create_for(&MachineFiles::machine(), std::process::id())
    }

    fn create_for(files: &MachineFiles, pid: u32) -> Result<Self, LimitsUnavailable> {
        let hierarchy = CgroupPosition::read(files).ok_or(LimitsUnavailable::Absent)?;
        let bounds = LimitValues::from_free_resources(files).ok_or(LimitsUnavailable::Unknown)?;
        let directory = hierarchy
            .ancestors()
            .iter()
            .filter(|parent| delegates_controllers(files, parent))
            .map(|parent| files.path(parent))
            .find_map(|parent| {
                remove_stale_groups(files, &parent);
                let directory = parent.join(group_name(files, pid));
                cgroup::create(&directory).ok().map(|()| directory)
            })
            .ok_or(LimitsUnavailable::NotDelegated)?;
        let limits = Self { directory, bounds };
        limits.write_limits().map_err(|source| LimitsUnavailable::Refused {
            path: limits.directory.clone(),
            source,
        })?;
        Ok(limits)
    }

    fn write_limits(&self) -> io::Result<()> {
        cgroup::write_value(&self.directory, "pids.max", self.bounds.pids)?;
        cgroup::write_value(&self.directory, "memory.max", self.bounds.memory)
    }

    /// Puts a process, and all processes that it will start, under the limits.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses: the process has ended, or belongs to another user.
    pub fn add_process(&self, pid: u32) -> io::Result<()> {
        cgroup::write_value(&self.directory, "cgroup.procs", u64::from(pid))
    }

    /// Returns the limits of the group.
    #[must_use]
    pub fn bounds(&self) -> LimitValues {
        self.bounds
    }

    /// Returns the group's directory, for [`remove`].
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for RunCgroup {
    fn drop(&mut self) {
        // A group that cannot be removed now is removed by the next run.
        let _ = remove(&self.directory);
    }
}

/// Returns `true` if a group delegates the controllers that limits need.
fn delegates_controllers(files: &MachineFiles, group: &str) -> bool {
    let passed = files.text(format!("{group}/cgroup.subtree_control")).unwrap_or_default();
    CONTROLLERS
        .iter()
        .all(|wanted| passed.split_whitespace().any(|controller| controller == *wanted))
}

/// Returns the name of a run's group: its process id, and the PID namespace in which it has that id. In two containers of
/// one machine two runs can have the same id.
fn group_name(files: &MachineFiles, pid: u32) -> String {
    format!("{PREFIX}{pid}-{}", pid_namespace(files))
}

/// Returns the inode number of this process's PID namespace (pid_namespaces(7)); 0 if it is not known.
fn pid_namespace(files: &MachineFiles) -> u64 {
    let name = files.link_name("proc/self/ns/pid").unwrap_or_default();
    let inode = name.strip_prefix("pid:[").and_then(|rest| rest.strip_suffix(']'));
    inode.and_then(|inode| inode.parse().ok()).unwrap_or_default()
}

/// Removes the groups of runs of this PID namespace that ended without doing so. The kernel keeps a group that has a
/// process.
fn remove_stale_groups(files: &MachineFiles, parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    let ending = format!("-{}", pid_namespace(files));
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(&ending));
        let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !files.exists(format!("proc/{pid}"))) {
            let _ = std::fs::remove_dir(parent.join(name));
        }
    }
}

/// Checks that limits could be set here, without setting any: for `doctor`.
pub(crate) fn check_available(files: &MachineFiles) -> Result<(), LimitsUnavailable> {
    let hierarchy = CgroupPosition::read(files).ok_or(LimitsUnavailable::Absent)?;
    hierarchy
        .ancestors()
        .iter()
        .any(|group| delegates_controllers(files, group) && cgroup::is_writable(&files.path(group)))
        .then_some(())
        .ok_or(LimitsUnavailable::NotDelegated)
}

#[cfg(test)]
mod tests;
