//! Sysctls of the kernel, written as files.
//!
//! /proc/sys/net shows each thread the settings of its own network namespace, all under the same names: for a lookup
//! the kernel searches the entries of every namespace that was looked up before, one by one, as long as it caches them.
//! With a thousand namespaces this takes longer than everything else that a new namespace needs. A separate mount of
//! procfs has a cache of its own (since Linux 5.8).

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::borrow::Cow;
use std::fs::File;
use std::io::ErrorKind::NotFound;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use tare_network::Error;

/// Requirement on the presence of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysctlPresence {
    /// The setting must exist: without it the network is not the one that it claims to be.
    Required,
    /// The setting may be missing: a kernel without the setting does not have the behaviour either.
    IfThere,
}

/// Setting of a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Key, as in sysctl(8): `net.ipv4.ip_forward`.
    pub key: Cow<'static, str>,
    /// Value of the setting.
    pub value: Cow<'static, str>,
    /// Requirement on the presence of the setting.
    pub presence: SysctlPresence,
}

impl Sysctl {
    /// Returns a setting that must exist.
    #[must_use]
    pub const fn required(key: &'static str, value: &'static str) -> Self {
        Self::new(key, value, SysctlPresence::Required)
    }

    /// Returns a setting that matters only if it exists.
    #[must_use]
    pub const fn if_there(key: &'static str, value: &'static str) -> Self {
        Self::new(key, value, SysctlPresence::IfThere)
    }

    const fn new(key: &'static str, value: &'static str, presence: SysctlPresence) -> Self {
        Self { key: Cow::Borrowed(key), value: Cow::Borrowed(value), presence }
    }

    /// Returns the command that writes the setting in the namespace of this name.
    #[must_use]
    pub fn command(&self, place: &str) -> String {
        let Self { key, value, presence } = self;
        let set = format!("ip netns exec {place} sysctl -qw {key}={value}");
        match presence {
            SysctlPresence::Required => set,
            SysctlPresence::IfThere => {
                let file = format!("/proc/sys/{}", key.replace('.', "/"));
                format!("ip netns exec {place} test ! -e {file} || {set}")
            }
        }
    }
}

/// Writer of sysctls.
pub(crate) struct SysctlWriter {
    procfs: Option<OwnedFd>,
}

impl SysctlWriter {
    /// Returns a writer to the shared /proc.
    pub(crate) fn with_shared_procfs() -> Self {
        Self { procfs: None }
    }

    /// Returns a writer to a private mount of procfs, which ends with this value. It writes to /proc if the kernel
    /// refuses the mount, as it does for a user without root.
    pub(crate) fn with_own_procfs() -> Self {
        Self { procfs: mount_procfs().ok() }
    }

    /// Writes a sysctl of the calling thread's network namespace. `place` is its name, for errors.
    pub(crate) fn write(&self, place: &str, sysctl: &Sysctl) -> Result<(), Error> {
        let Sysctl { key, value, presence } = sysctl;
        let path = Path::new("sys").join(key.replace('.', "/"));
        match self.open(&path).and_then(|mut file| file.write_all(value.as_bytes())) {
            Err(error) if error.kind() == NotFound && *presence == SysctlPresence::IfThere => {
                Ok(())
            }
            done => {
                done.map_err(|error| Error::new(format!("set {key}={value} in {place}"), error))
            }
        }
    }

    fn open(&self, path: &Path) -> std::io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = match &self.procfs {
            Some(procfs) => openat(procfs, path, flags, Mode::empty()),
            None => openat(CWD, Path::new("/proc").join(path), flags, Mode::empty()),
        };
        Ok(File::from(opened?))
    }
}

/// Mounts a procfs that is not attached to any directory.
fn mount_procfs() -> io::Result<OwnedFd> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name that no namespace has, so that nothing is changed where the tests run.
    const NOWHERE: &str = "net.ipv4.tare_has_no_such_setting";

    #[test]
    fn what_is_not_there_is_an_error_unless_it_need_not_be() {
        for settings in [SysctlWriter::with_shared_procfs(), SysctlWriter::with_own_procfs()] {
            settings.write("here", &Sysctl::if_there(NOWHERE, "1")).expect("it need not be there");
            let error = settings.write("here", &Sysctl::required(NOWHERE, "1"));
            let error = error.expect_err("it must be there").to_string();
            assert!(error.contains(&format!("set {NOWHERE}=1 in here")), "{error}");
        }
    }
}
