//! Agents: they read what peers send and run foreign tools. What an agent gives up, its tools do not have either.

use crate::capabilities::{give_up_capabilities, reduce_capabilities};
use crate::system_calls::{ADMINISTRATION, ENTERING, NAMESPACES, deny_system_calls, hide_clone3};
use rustix::thread::CapabilitySet;
use std::io;

/// Capabilities that an agent and its tools keep: for sockets, for files and processes of servers that change their user,
/// for cores and limits. `SETFCAP` lets a server's user namespace map this user.
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
pub fn confine_agent() -> io::Result<()> {
    give_up_capabilities(KEPT, KEPT)?;
    deny_system_calls(&[ADMINISTRATION, NAMESPACES, ENTERING])?;
    hide_clone3()
}

/// Gives up rights as [`confine_agent`], but for that of entering network namespaces, which programs do not get.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn confine_agent_of_many() -> io::Result<()> {
    give_up_capabilities(KEPT.union(ENTERS), KEPT)?;
    // One filter for all threads: thousands of containers have thousands.
    deny_system_calls(&[ADMINISTRATION, NAMESPACES])?;
    hide_clone3()
}

/// Gives up the right of entering network namespaces, for this thread of an agent of many containers.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn confine_thread_of_many() -> io::Result<()> {
    reduce_capabilities(KEPT)?;
    deny_system_calls(&[ENTERING])
}
