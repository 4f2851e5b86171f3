//! The system calls that the compiler cannot vouch for: leaving namespaces, and what happens between fork and exec.
//!
//! Everything `unsafe` of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

pub(crate) mod bpf;
pub(crate) mod clock;
pub(crate) mod ethtool;
pub(crate) mod packet;

use crate::group::Group;
use crate::namespace::Namespace;
use crate::programs::View;
use rustix::io;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, chdir, set_parent_process_death_signal};
use rustix::thread::{
    CpuSet, LinkNameSpaceType, UnshareFlags, move_into_link_name_space, sched_setaffinity,
    unshare_unsafe,
};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

/// Leaves the user and the mount namespace for private ones. The process must have a single thread.
pub(crate) fn unshare_user_and_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
}

/// Leaves the mount namespace for a private copy.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)
}

/// The calling thread has a root and a working directory of its own: without that it may enter no mount namespace.
pub(crate) fn unshare_working_directory() -> io::Result<()> {
    unshare(UnshareFlags::FS)
}

/// The calling thread's children, from the next one on, are born in a PID namespace of their own.
pub(crate) fn unshare_children() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// The calling thread leaves its network namespace for a new, empty one.
pub(crate) fn unshare_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the call is unsound only with `FILES`, which would part the threads' descriptor tables; no caller
    // in this module passes it.
    unsafe { unshare_unsafe(flags) }
}

/// Before it becomes its program, the child joins the control group and enters the namespaces (where there are any) and
/// asks the kernel to be killed when the thread that started it ends.
pub(crate) fn enter_before_exec(
    command: &mut Command,
    group: Option<Arc<Group>>,
    namespace: Option<Arc<Namespace>>,
    view: Option<View>,
) {
    let enter = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if let Some(group) = &group {
            // Limits guard the machine; a program that may not be put under them runs all the same.
            let _ = group.join();
        }
        if let Some(namespace) = &namespace {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network)?;
        }
        if let Some(View { mounts, home }) = &view {
            move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
            if let Some(home) = home {
                chdir(home.as_c_str())?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes five system calls and nothing else: it neither allocates nor
    // takes a lock, and the descriptors live as long as the closure, which owns its group, its namespaces and
    // the directory's name.
    unsafe { command.pre_exec(enter) };
}

/// Before it becomes its program, the child is held to these cores, and whatever it starts with it. A refusal is the error of
/// [`Command::spawn`].
pub(crate) fn hold_to_cores_before_exec(command: &mut Command, cores: CpuSet) {
    let hold = move || Ok(sched_setaffinity(None, &cores)?);
    // SAFETY: between fork and exec the closure makes one system call and nothing else: it neither allocates nor takes a
    // lock.
    unsafe { command.pre_exec(hold) };
}

/// Before it becomes its program, the child mounts a /proc in its mount namespace: that of the PID namespace in which it
/// was born. A refusal is the error of [`Command::spawn`].
pub(crate) fn mount_proc_before_exec(command: &mut Command) {
    let attempt = || {
        mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV, None)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call, with strings that end in a null byte already, and
    // nothing else: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(attempt) };
}

/// Before it becomes its program, the child tries what the lab needs: a user namespace, then a mount and a network
/// namespace owned by it. A refusal is the error of [`Command::spawn`].
pub(crate) fn try_namespaces_before_exec(command: &mut Command) {
    let attempt = || {
        unshare(UnshareFlags::NEWUSER)?;
        unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and nothing else.
    unsafe { command.pre_exec(attempt) };
}

/// Children that end are forgotten by the kernel at once, without anybody waiting for them.
pub(crate) fn forget_children() {
    // SAFETY: SIG_IGN is a valid disposition of SIGCHLD, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Kills every process of the calling process's PID namespace but itself, its first.
pub(crate) fn kill_all_others() {
    // SAFETY: the call takes two numbers and touches no memory. It fails when there is nobody else, as was wanted.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}
