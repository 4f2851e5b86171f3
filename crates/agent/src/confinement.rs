//! Rights that an agent gives up at its start: it reads what peers send and runs foreign tools, and needs little of what
//! root may do. What it gives up, its tools do not have either.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;

/// Capabilities that an agent and its tools keep (capabilities(7)): for sockets, for files and processes of servers that
/// change their user, for cores and limits. `SETFCAP` lets a server's user namespace map this user.
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// Capabilities that an agent of many containers needs to enter their network namespaces (setns(2)), which it opens by
/// descriptors of tare (proc_pid_fd(5)), a process with more rights than its own.
const ENTERS: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE);

/// Gives up all rights but those that workloads need, and the right to gain others by running a program. Threads started
/// later have no more. To be called before any is started.
///
/// # Errors
/// Fails if the kernel refuses.
pub(crate) fn confine_process() -> io::Result<()> {
    confine_process_that_enters()?;
    confine_thread()
}

/// Gives up rights as [`confine_process`], but for that of entering network namespaces, which programs do not get.
///
/// # Errors
/// Fails if the kernel refuses.
pub(crate) fn confine_process_that_enters() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient()?;
    reduce_bounding_set()?;
    reduce_capabilities(KEPT.union(ENTERS))
}

/// Gives up the right of entering network namespaces, for this thread.
///
/// # Errors
/// Fails if the kernel refuses.
pub(crate) fn confine_thread() -> io::Result<()> {
    reduce_capabilities(KEPT)
}

fn clear_ambient() -> io::Result<()> {
    match clear_ambient_capability_set() {
        // Linux before 4.3 has none.
        Err(Errno::INVAL) => Ok(()),
        cleared => Ok(cleared?),
    }
}

/// Removes what is not kept from the capabilities that a program can have after exec.
fn reduce_bounding_set() -> io::Result<()> {
    for bit in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        if KEPT.contains(bit) {
            continue;
        }
        match remove_capability_from_bounding_set(bit) {
            // The kernel does not know it, or the process may not give up what it may not use either.
            Err(Errno::INVAL | Errno::PERM) | Ok(()) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Removes what is not kept from the capabilities of this thread.
fn reduce_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    let reduced = CapabilitySets {
        effective: effective.intersection(kept),
        permitted: permitted.intersection(kept),
        inheritable: inheritable.intersection(kept),
    };
    Ok(set_capabilities(None, reduced)?)
}
