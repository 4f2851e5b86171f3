//! A view of files that the programs of one namespace have to themselves: a mount namespace, held by a descriptor.
//!
//! It is made by a thread of its own that leaves for it, sets it up and ends, as network namespaces are. Whoever runs
//! in it belongs to the network: so its processes can be found, and ended, whatever they have become.

use super::directory;
use crate::inside::mount_sys;
use crate::namespace::Namespace;
use crate::sys;
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_network::Error;

/// The directories that programs of a network never share with the machine.
pub(crate) const PRIVATE: [&str; 2] = ["/run", "/tmp"];

/// How long the kernel may take to end the processes of a network.
const PATIENCE: Duration = Duration::from_secs(5);

/// A private mount namespace.
pub(crate) struct Mounts {
    descriptor: OwnedFd,
    /// What /proc calls it.
    inode: u64,
}

/// What of it a program sees when it starts.
pub(crate) struct View {
    /// The files.
    pub(crate) mounts: Arc<Mounts>,
    /// Where it starts; in the root without.
    pub(crate) home: Option<CString>,
}

impl From<Arc<Mounts>> for View {
    fn from(mounts: Arc<Mounts>) -> Self {
        Self { mounts, home: None }
    }
}

impl AsFd for Mounts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Mounts {
    /// A view for programs in a namespace, in which these directories are empty, and `/run/netns` names all of `spaces`.
    pub(crate) fn make(
        place: &Namespace,
        spaces: &[Arc<Namespace>],
        private: &[&str],
    ) -> Result<Self, Error> {
        let what = || format!("make a private view of files for {}", place.name());
        let make = || {
            place.enter()?;
            sys::unshare_mounts().map_err(|errno| Error::new(what(), errno))?;
            // Where it is refused (nested containers may), the outer one stays.
            let _ = mount_sys();
            let set_up = || -> std::io::Result<File> {
                for directory in private {
                    cover(Path::new(directory))?;
                }
                fs::create_dir_all(directory(place.name()))?;
                name_all(spaces)?;
                File::open("/proc/thread-self/ns/mnt")
            };
            let file = set_up().map_err(|error| Error::new(what(), error))?;
            let inode = file.metadata().map_err(|error| Error::new(what(), error))?.ino();
            Ok(Self { descriptor: file.into(), inode })
        };
        std::thread::scope(|scope| scope.spawn(make).join())
            .unwrap_or_else(|_| Err(Error::new(what(), "its thread panicked")))
    }

    /// Moves the calling thread into it, for the rest of that thread's life.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        sys::unshare_working_directory()
            .and_then(|()| move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Mount)))
            .map_err(|errno| Error::new("enter a private view of files", errno))
    }

    /// The processes that have this view.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
            .filter(|&pid| self.has(pid))
            .collect()
    }

    /// Whether a process has this view; one that has ended has none.
    fn has(&self, pid: Pid) -> bool {
        let link = format!("/proc/{}/ns/mnt", pid.as_raw_nonzero());
        fs::metadata(link).is_ok_and(|data| data.ino() == self.inode)
    }

    /// Ends all processes that have this view.
    ///
    /// It takes two looks that find none: one that is about to become another program may show no namespaces meanwhile.
    pub(crate) fn kill_all(&self) {
        let until = Instant::now() + PATIENCE;
        let mut empty = 0;
        while empty < 2 && Instant::now() < until {
            let processes = self.processes();
            empty = if processes.is_empty() { empty + 1 } else { 0 };
            for pid in processes {
                // The number may be somebody else's by now: what the descriptor is of is looked at once more.
                let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                if self.has(pid) {
                    let _ = pidfd_send_signal(descriptor, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Puts an empty directory over one, or, where that is not there, over the nearest one above it.
fn cover(directory: &Path) -> std::io::Result<()> {
    let there = directory.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    if there == Path::new("/") {
        return Err(std::io::Error::other(format!("{} is not there", directory.display())));
    }
    let mode: &CStr = if there == Path::new("/tmp") { c"mode=1777" } else { c"mode=0755" };
    mount("tmpfs", there, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(mode))?;
    fs::create_dir_all(directory)
}

/// Gives every namespace the name that ip-netns(8) would know it by.
fn name_all(spaces: &[Arc<Namespace>]) -> std::io::Result<()> {
    let names = PathBuf::from("/run/netns");
    fs::create_dir_all(&names)?;
    for space in spaces {
        let name = names.join(space.name());
        File::create(&name)?;
        mount_bind(format!("/proc/self/fd/{}", space.as_fd().as_raw_fd()), &name)?;
    }
    Ok(())
}
