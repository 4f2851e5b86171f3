//! Tap devices of other processes.

use super::packet::last_error;
use rustix::io;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `TUNGETDEVNETNS` of linux/if_tun.h: the network namespace of the device (Linux 5.2).
const TUNGETDEVNETNS: libc::c_ulong = 0x54e3;

/// Returns the inode number of the network namespace of the tap device that a process has open by this descriptor.
///
/// # Errors
/// EPERM without the right to trace the process, or without CAP_NET_ADMIN in that namespace; ENOTTY if the descriptor
/// is of no tap device; ESRCH or EBADF if process or descriptor are gone.
pub fn namespace(process: Pid, descriptor: RawFd) -> io::Result<u64> {
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    let copy = pidfd_getfd(handle, descriptor, PidfdGetfdFlags::empty())?;
    // SAFETY: the descriptor is open; the request takes no argument, and returns a new descriptor that nothing else owns.
    let opened = unsafe { libc::ioctl(copy.as_raw_fd(), TUNGETDEVNETNS as _) };
    if opened < 0 {
        return Err(last_error());
    }
    // SAFETY: the call has just returned this descriptor, and nothing else owns it.
    let namespace = unsafe { OwnedFd::from_raw_fd(opened) };
    Ok(rustix::fs::fstat(&namespace)?.st_ino)
}
