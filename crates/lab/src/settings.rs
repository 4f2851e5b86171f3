//! The kernel's settings, as files.
//!
//! /proc/sys/net shows each thread its own network namespace's, all under the same names: the kernel finds one among those
//! of every namespace that was looked into before, one by one, for as long as it remembers them. Among a thousand that takes
//! longer than all else that a new namespace needs. A mount of procfs of its own remembers nobody else's (since Linux 5.8).

use crate::wiring::Presence;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::ErrorKind::NotFound;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use tare_network::Error;

/// Where settings are written.
pub(crate) struct Settings {
    procfs: Option<OwnedFd>,
}

impl Settings {
    /// Those under /proc.
    pub(crate) fn shared() -> Self {
        Self { procfs: None }
    }

    /// Those of a mount that nobody else sees and that goes with this value; those under /proc where the kernel allows
    /// none (to a user without root it does not).
    pub(crate) fn own() -> Self {
        Self { procfs: mounted().ok() }
    }

    /// Writes a setting of the calling thread's network namespace, `place` by name.
    pub(crate) fn write(
        &self,
        place: &str,
        key: &str,
        value: &str,
        presence: Presence,
    ) -> Result<(), Error> {
        let path = Path::new("sys").join(key.replace('.', "/"));
        match self.open(&path).and_then(|mut file| file.write_all(value.as_bytes())) {
            Err(error) if error.kind() == NotFound && presence == Presence::IfThere => Ok(()),
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

/// A mount of procfs that is in no tree of directories.
fn mounted() -> io::Result<OwnedFd> {
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

    /// No namespace has this one, so that nothing is changed where the tests run.
    const NOWHERE: &str = "net.ipv4.tare_has_no_such_setting";

    #[test]
    fn what_is_not_there_is_an_error_unless_it_need_not_be() {
        for settings in [Settings::shared(), Settings::own()] {
            settings.write("here", NOWHERE, "1", Presence::IfThere).expect("it need not be there");
            let error = settings.write("here", NOWHERE, "1", Presence::Required);
            let error = error.expect_err("it must be there").to_string();
            assert!(error.contains(&format!("set {NOWHERE}=1 in here")), "{error}");
        }
    }
}
