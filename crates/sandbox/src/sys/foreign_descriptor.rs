//! Descriptors of other processes, and the network namespaces of what they are open on.

use super::packet::last_error;
use rustix::io;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Copies a descriptor of a process (pidfd_getfd(2)).
///
/// # Errors
/// EPERM without the right to trace the process; ESRCH or EBADF if process or descriptor are gone; ENOSYS before Linux
/// 5.6.
pub(super) fn copy_descriptor(process: Pid, descriptor: RawFd) -> io::Result<OwnedFd> {
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    pidfd_getfd(handle, descriptor, PidfdGetfdFlags::empty())
}

/// Returns the inode number of the network namespace of a socket or a device, by the request (ioctl(2)) of its kind.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN in that namespace; ENOTTY if the descriptor is of another kind.
pub(super) fn network_namespace(copy: &OwnedFd, request: libc::c_ulong) -> io::Result<u64> {
    // SAFETY: the descriptor is open as long as `copy` lives; each request takes no argument, and returns a new
    // descriptor that nothing else owns.
    let opened = unsafe { libc::ioctl(copy.as_raw_fd(), request as _) };
    if opened < 0 {
        return Err(last_error());
    }
    // SAFETY: the call has just returned this descriptor, and nothing else owns it.
    let namespace = unsafe { OwnedFd::from_raw_fd(opened) };
    Ok(rustix::fs::fstat(&namespace)?.st_ino)
}
