//! Listeners: they serve strangers, and run no program.

use crate::capabilities::give_up_capabilities;
use crate::files::restrict_files;
use crate::system_calls::{
    ADMINISTRATION, ENTERING, NAMESPACES, OTHER_SOCKETS, PROCESSES, deny_system_calls, hide_clone3,
};
use rustix::thread::CapabilitySet;
use std::io;

/// Capabilities that a listener keeps: for ports, options of sockets, cores and limits.
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// Directories below which a listener reads the state of the machine.
const READ: [&str; 2] = ["/proc", "/sys"];

/// Gives up all rights but those that a listener needs: it opens no file but to read the state of the machine, runs no
/// program, starts no process, and has sockets for IP alone. Threads started later have no more. To be called before any
/// is started.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn confine_listener() -> io::Result<()> {
    give_up_capabilities(KEPT, CapabilitySet::empty())?;
    restrict_files(&READ)?;
    deny_system_calls(&[ADMINISTRATION, NAMESPACES, ENTERING, PROCESSES, OTHER_SOCKETS])?;
    hide_clone3()
}
