//! System calls.

use seccompiler::BpfProgram;
use std::io;

/// Adds a filter of system calls to those of this thread, which must not be able to gain rights by running a program. A
/// filter is by itself no reason for mitigations of speculative execution (SECCOMP_FILTER_FLAG_SPEC_ALLOW): they would
/// slow down what is measured.
pub(crate) fn add_filter(program: &BpfProgram) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len().try_into().map_err(io::Error::other)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: the program lives through the call, which copies it; its instructions are laid out as the kernel's
    // (linux/filter.h), and their number is its own.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const filter,
        )
    };
    succeeded(result)
}

/// Checks whether the kernel answers filtered system calls with an error (SECCOMP_GET_ACTION_AVAIL).
pub(crate) fn has_filters() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the action lives through the call, which reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    result == 0
}

/// Checks whether the kernel has rules on files that a process gives itself (landlock_create_ruleset(2)).
pub(crate) fn has_file_rules() -> bool {
    /// LANDLOCK_CREATE_RULESET_VERSION (linux/landlock.h).
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attributes, and makes nothing.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) };
    result > 0
}

fn succeeded(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
