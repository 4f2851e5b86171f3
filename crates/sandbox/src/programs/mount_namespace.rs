//! Private mount namespace of the programs of one network namespace, held by a descriptor.
//!
//! It is created by a separate thread, which enters it, sets it up and ends, as network namespaces are. Every process
//! in it belongs to the network, so the network's processes can be found and killed whatever program they run by then.

use crate::exec_with_hosts::mount_sys;
use crate::namespace::Namespace;
use crate::sys;
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_network::Error;

/// Directories that programs of a network never share with the machine.
pub const PRIVATE_DIRECTORIES: [&str; 2] = ["/run", "/tmp"];

/// Time limit for the kernel to end the processes of a network.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Private mount namespace, held by a descriptor.
pub struct MountNamespace {
    descriptor: OwnedFd,
    /// Inode of the namespace in /proc, by which its processes are found.
    inode: u64,
}

impl AsFd for MountNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl MountNamespace {
    /// Creates a mount namespace for programs in a network namespace. The `private` directories are empty in it, and
    /// `/run/netns` names all of `spaces`.
    ///
    /// # Errors
    /// The kernel refuses the namespace or one of its mounts.
    pub fn make(
        place: &Namespace,
        spaces: &[Arc<Namespace>],
        private: &[&str],
    ) -> Result<Self, Error> {
        let what = || format!("create a mount namespace for {}", place.name());
        let make = || {
            place.enter()?;
            sys::unshare_mounts().map_err(|errno| Error::new(what(), errno))?;
            // If the kernel refuses it, as it may in nested containers, the outer /sys stays.
            let _ = mount_sys();
            let set_up = || -> std::io::Result<File> {
                for directory in private {
                    mount_tmpfs(Path::new(directory))?;
                }
                fs::create_dir_all(runtime_directory(place.name()))?;
                bind_namespaces(spaces)?;
                File::open("/proc/thread-self/ns/mnt")
            };
            let file = set_up().map_err(|error| Error::new(what(), error))?;
            let inode = file.metadata().map_err(|error| Error::new(what(), error))?.ino();
            Ok(Self { descriptor: file.into(), inode })
        };
        std::thread::scope(|scope| scope.spawn(make).join())
            .unwrap_or_else(|_| Err(Error::new(what(), "the thread panicked")))
    }

    /// Moves the calling thread into the mount namespace, for the rest of that thread's life.
    ///
    /// # Errors
    /// The kernel refuses (setns(2)).
    pub fn enter(&self) -> Result<(), Error> {
        sys::unshare_working_directory()
            .and_then(|()| move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Mount)))
            .map_err(|errno| Error::new("enter a mount namespace", errno))
    }

    /// Returns the processes in this mount namespace.
    pub fn processes(&self) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
            .filter(|&pid| self.contains(pid))
            .collect()
    }

    /// Returns true if a process is in this mount namespace; a process that has ended is in none.
    fn contains(&self, pid: Pid) -> bool {
        let link = format!("/proc/{}/ns/mnt", pid.as_raw_nonzero());
        fs::metadata(link).is_ok_and(|data| data.ino() == self.inode)
    }

    /// Kills all processes in this mount namespace.
    ///
    /// Returns after two scans in a row that find none, or at the time limit: a process in the middle of execve(2) may
    /// show no namespaces in the first.
    pub fn kill_all(&self) {
        let until = Instant::now() + KILL_TIMEOUT;
        let mut empty = 0;
        while empty < 2 && Instant::now() < until {
            let processes = self.processes();
            empty = if processes.is_empty() { empty + 1 } else { 0 };
            for pid in processes {
                // The PID may have been reused: the namespace is checked again once the descriptor holds the process.
                let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                if self.contains(pid) {
                    let _ = pidfd_send_signal(descriptor, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Returns the directory in which the programs of a namespace keep sockets and databases: `/run/NAME`.
#[must_use]
pub fn runtime_directory(space: &str) -> String {
    format!("/run/{space}")
}

/// Mounts an empty tmpfs over a directory or, if it does not exist, over its nearest existing ancestor.
fn mount_tmpfs(directory: &Path) -> std::io::Result<()> {
    let there = directory.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    if there == Path::new("/") {
        return Err(std::io::Error::other(format!("{} does not exist", directory.display())));
    }
    let mode: &CStr = if there == Path::new("/tmp") { c"mode=1777" } else { c"mode=0755" };
    mount("tmpfs", there, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(mode))?;
    fs::create_dir_all(directory)
}

/// Binds every namespace to the name in /run/netns by which ip-netns(8) finds it.
fn bind_namespaces(spaces: &[Arc<Namespace>]) -> std::io::Result<()> {
    let names = PathBuf::from("/run/netns");
    fs::create_dir_all(&names)?;
    for space in spaces {
        let name = names.join(space.name());
        File::create(&name)?;
        mount_bind(format!("/proc/self/fd/{}", space.as_fd().as_raw_fd()), &name)?;
    }
    Ok(())
}
