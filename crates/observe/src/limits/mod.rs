//! A run's own control group, so that a run that goes wrong does not take the machine with it.
//!
//! With control groups version 2 (cgroups(7)) a process may be bounded without root where systemd or somebody else has
//! handed a part of the tree to its user. [`Limits::set`] makes a group `tare-PID` in the nearest group above this
//! process that may be written and passes on the `pids` and `memory` controllers: being above both, it is where the
//! kernel lets an ordinary user move processes. Where there is none, a run goes on without, and [`Unlimited`] says why.
//!
//! Dropping [`Limits`] ends what is still in the group and removes it. After a SIGKILL an empty directory would stay:
//! whoever survives tare (the lab's first process) is to call [`remove`] with [`Limits::directory`], from outside the
//! group; failing that, the next run sweeps it away.

mod group;
pub(crate) mod hierarchy;

pub use group::remove;
pub(crate) use hierarchy::Hierarchy;

use crate::files::Files;
use crate::headroom;
use std::io;
use std::path::{Path, PathBuf};

/// How the names of runs' groups begin.
const PREFIX: &str = "tare-";

/// The controllers without which a group bounds nothing.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// Why a run has no limits. It measures all the same.
#[derive(Debug, thiserror::Error)]
pub enum Unlimited {
    /// Version 2 is not mounted, or this process is outside what is.
    #[error("no control groups of version 2 here")]
    Absent,
    /// No group above this process may be written and passes the controllers on.
    #[error(
        "no control group above this process both may be written and passes memory and pids on; \
         where systemd runs, `systemd-run --user --scope tare …` gives one"
    )]
    NotDelegated,
    /// Nothing says how much there is to divide.
    #[error("the free memory and process numbers are unknown")]
    Unknown,
    /// A group was made, and its limits were refused.
    #[error("{path}: limits were refused: {source}", path = path.display())]
    Refused {
        /// The group's directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// How much a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Processes and threads.
    pub pids: u64,
    /// Memory, bytes.
    pub memory: u64,
}

impl Bounds {
    /// Nine tenths of what is free, so that the rest of the machine goes on.
    fn of_machine(files: &Files) -> Option<Self> {
        let tables = headroom::from_files(files);
        let free = |resource: &str| {
            let table = tables.iter().find(|table| table.resource == resource)?;
            Some(table.limit.saturating_sub(table.used) / 10 * 9)
        };
        Some(Self { pids: free("pids")?, memory: free("memory")? })
    }
}

/// A control group with limits, for as long as the value lives.
#[derive(Debug)]
pub struct Limits {
    directory: PathBuf,
    bounds: Bounds,
}

impl Limits {
    /// Makes a group for this run, and sweeps away those of runs that were killed.
    ///
    /// # Errors
    /// Why there can be none here; a run goes on without.
    pub fn set() -> Result<Self, Unlimited> {
        Self::within(&Files::machine(), std::process::id())
    }

    fn within(files: &Files, pid: u32) -> Result<Self, Unlimited> {
        let hierarchy = Hierarchy::read(files).ok_or(Unlimited::Absent)?;
        let bounds = Bounds::of_machine(files).ok_or(Unlimited::Unknown)?;
        let directory = hierarchy
            .ancestors()
            .iter()
            .filter(|parent| passes_on(files, parent))
            .map(|parent| files.path(parent))
            .find_map(|parent| {
                sweep(files, &parent);
                let directory = parent.join(format!("{PREFIX}{pid}"));
                group::make(&directory).ok().map(|()| directory)
            })
            .ok_or(Unlimited::NotDelegated)?;
        let limits = Self { directory, bounds };
        limits
            .write()
            .map_err(|source| Unlimited::Refused { path: limits.directory.clone(), source })?;
        Ok(limits)
    }

    fn write(&self) -> io::Result<()> {
        group::set(&self.directory, "pids.max", self.bounds.pids)?;
        group::set(&self.directory, "memory.max", self.bounds.memory)
    }

    /// Puts a process, and all that it will start, under the limits.
    ///
    /// # Errors
    /// When the kernel refuses: the process has ended, or belongs to another user.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        group::set(&self.directory, "cgroup.procs", u64::from(pid))
    }

    /// The limits themselves.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The group's directory, for [`remove`].
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next run.
        let _ = remove(&self.directory);
    }
}

/// Whether a group passes on what limits need.
fn passes_on(files: &Files, group: &str) -> bool {
    let passed = files.text(format!("{group}/cgroup.subtree_control")).unwrap_or_default();
    CONTROLLERS
        .iter()
        .all(|wanted| passed.split_whitespace().any(|controller| controller == *wanted))
}

/// Removes the groups of runs that ended without doing so. The kernel keeps a group that has a process.
fn sweep(files: &Files, parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let pid = name.strip_prefix(PREFIX).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !files.exists(format!("proc/{pid}"))) {
            let _ = std::fs::remove_dir(parent.join(name));
        }
    }
}

/// Whether limits could be set here, without setting any: for `doctor`.
pub(crate) fn possible(files: &Files) -> Result<(), Unlimited> {
    let hierarchy = Hierarchy::read(files).ok_or(Unlimited::Absent)?;
    hierarchy
        .ancestors()
        .iter()
        .any(|group| passes_on(files, group) && group::writable(&files.path(group)))
        .then_some(())
        .ok_or(Unlimited::NotDelegated)
}

#[cfg(test)]
mod tests;
