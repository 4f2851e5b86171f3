//! System calls whose safety the compiler cannot check: leaving namespaces, and the steps between fork and exec.
//!
//! All `unsafe` code of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

pub(crate) mod bpf;
pub mod clock;
pub mod ethtool;
mod foreign_descriptor;
pub mod packet;
pub mod socket;
pub mod tap;

use crate::cgroup::SandboxCgroup;
use rustix::io;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, chdir, set_parent_process_death_signal};
use rustix::thread::{
    CpuSet, LinkNameSpaceType, UnshareFlags, move_into_link_name_space, sched_setaffinity,
    unshare_unsafe,
};
use std::ffi::CString;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

/// Moves the process into a new user and a new mount namespace. The process must have a single thread.
pub(crate) fn unshare_user_and_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
}

/// Moves the process into a private copy of the mount namespace.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)
}

/// Gives the calling thread a root and a working directory of its own, without which it may not enter a mount
/// namespace.
pub(crate) fn unshare_working_directory() -> io::Result<()> {
    unshare(UnshareFlags::FS)
}

/// Makes the calling thread's children, from the next one on, start in a new PID namespace.
pub(crate) fn unshare_children() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// Moves the calling thread into a new, empty network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the call is unsound only with `FILES`, which would separate the threads' descriptor tables; no caller in
    // this module passes it.
    unsafe { unshare_unsafe(flags) }
}

/// Holder of a descriptor of a namespace.
pub type NamespaceHandle = Arc<dyn AsFd + Send + Sync>;

/// Mount namespace and working directory of a program when it starts.
pub struct FilesystemView {
    /// Mount namespace of the program.
    pub mounts: NamespaceHandle,
    /// Working directory; `None` for the root.
    pub working_directory: Option<CString>,
}

impl FilesystemView {
    /// Returns a view whose working directory is the root.
    pub fn in_root(mounts: NamespaceHandle) -> Self {
        Self { mounts, working_directory: None }
    }
}

/// Makes the child, before exec, join the control group, enter the given namespaces and ask the kernel to kill it when
/// the thread that started it ends.
pub(crate) fn enter_before_exec(
    command: &mut Command,
    group: Option<Arc<SandboxCgroup>>,
    namespace: Option<NamespaceHandle>,
    view: Option<FilesystemView>,
) {
    let enter = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if let Some(group) = &group {
            // Limits guard the machine. A program that cannot join the group runs without them.
            let _ = group.join();
        }
        if let Some(namespace) = &namespace {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network)?;
        }
        if let Some(FilesystemView { mounts, working_directory: home }) = &view {
            move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
            if let Some(home) = home {
                chdir(home.as_c_str())?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes five system calls and nothing else: it neither allocates nor
    // takes a lock, and the descriptors live as long as the closure, which owns its group, its namespaces and the
    // directory's name.
    unsafe { command.pre_exec(enter) };
}

/// Makes the child, before exec, set its CPU affinity to these cores, which its own children inherit. A refusal is the
/// error of [`Command::spawn`].
pub(crate) fn pin_before_exec(command: &mut Command, cores: CpuSet) {
    let hold = move || Ok(sched_setaffinity(None, &cores)?);
    // SAFETY: between fork and exec the closure makes one system call and nothing else: it neither allocates nor takes
    // a lock.
    unsafe { command.pre_exec(hold) };
}

/// Makes the child, before exec, mount a /proc in its mount namespace: that of the PID namespace in which it was born.
/// A refusal is the error of [`Command::spawn`].
pub(crate) fn mount_proc_before_exec(command: &mut Command) {
    let attempt = || {
        mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV, None)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call, with strings that end in a null byte already,
    // and nothing else: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(attempt) };
}

/// Makes the child, before exec, try the namespaces that the sandbox needs: a user namespace, then a mount and a
/// network namespace that it owns. A refusal is the error of [`Command::spawn`].
pub(crate) fn try_namespaces_before_exec(command: &mut Command) {
    let attempt = || {
        unshare(UnshareFlags::NEWUSER)?;
        unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and nothing else.
    unsafe { command.pre_exec(attempt) };
}

/// Makes the kernel reap children at once when they end, so that nothing has to wait for them.
pub(crate) fn ignore_children() {
    // SAFETY: SIG_IGN is a valid disposition of SIGCHLD, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Kills every process of the calling process's PID namespace except the caller, which is its PID 1.
pub(crate) fn kill_all_others() {
    // SAFETY: the call takes two numbers and touches no memory. It fails if there is no other process, which is the
    // goal.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}
