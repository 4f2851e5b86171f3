//! Tap devices of other processes.

use super::foreign_descriptor::{copy_descriptor, network_namespace};
use rustix::io;
use rustix::process::Pid;
use std::os::fd::RawFd;

/// `TUNGETDEVNETNS` of linux/if_tun.h: the network namespace of the device (Linux 5.2).
const TUNGETDEVNETNS: libc::c_ulong = 0x54e3;

/// Returns the inode number of the network namespace of the tap device that a process has open by this descriptor.
///
/// # Errors
/// EPERM without the right to trace the process, or without CAP_NET_ADMIN in that namespace; ENOTTY if the descriptor
/// is of no tap device; ESRCH or EBADF if process or descriptor are gone.
pub fn namespace(process: Pid, descriptor: RawFd) -> io::Result<u64> {
    network_namespace(&copy_descriptor(process, descriptor)?, TUNGETDEVNETNS)
}
