//! Filters of system calls: what a process may not ask the kernel for any more (seccomp(2)).
//!
//! A list of what is denied, not of what is allowed: foreign tools, and the C library that tare is built with, may call
//! whatever else they like. A call that is denied fails with `EPERM`; `clone3`, whose flags a filter cannot see, with
//! `ENOSYS`, upon which C libraries use `clone`.

use crate::mechanisms::Mechanism;
use crate::sys::add_filter;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;

/// Number of a system call.
type CallNumber = libc::c_long;

/// A system call that is denied where all conditions on its arguments hold; always, where there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeniedCall {
    number: CallNumber,
    conditions: &'static [ArgumentCondition],
}

/// Condition on an argument of a system call, whose lower 32 bits are compared.
#[derive(Clone, Copy, Debug)]
enum ArgumentCondition {
    /// The first argument has this bit.
    Has(libc::c_int),
    /// The first argument does not have this bit.
    Lacks(libc::c_int),
    /// The first argument is another value than this.
    Differs(libc::c_int),
}

use ArgumentCondition::{Differs, Has, Lacks};

/// Administration of the machine: mounts, modules, keys, clocks, names, other processes' memory, eBPF.
pub(crate) const ADMINISTRATION: &[DeniedCall] = &[
    always(libc::SYS_acct),
    always(libc::SYS_add_key),
    always(libc::SYS_bpf),
    always(libc::SYS_chroot),
    always(libc::SYS_clock_settime),
    always(libc::SYS_delete_module),
    always(libc::SYS_fanotify_init),
    always(libc::SYS_finit_module),
    always(libc::SYS_fsconfig),
    always(libc::SYS_fsmount),
    always(libc::SYS_fsopen),
    always(libc::SYS_fspick),
    always(libc::SYS_init_module),
    always(libc::SYS_kcmp),
    always(libc::SYS_kexec_load),
    always(libc::SYS_keyctl),
    always(libc::SYS_mount),
    always(libc::SYS_mount_setattr),
    always(libc::SYS_move_mount),
    always(libc::SYS_open_by_handle_at),
    always(libc::SYS_open_tree),
    always(libc::SYS_perf_event_open),
    always(libc::SYS_pidfd_getfd),
    always(libc::SYS_pivot_root),
    always(libc::SYS_process_vm_readv),
    always(libc::SYS_process_vm_writev),
    always(libc::SYS_ptrace),
    always(libc::SYS_quotactl),
    always(libc::SYS_reboot),
    always(libc::SYS_request_key),
    always(libc::SYS_setdomainname),
    always(libc::SYS_sethostname),
    always(libc::SYS_settimeofday),
    always(libc::SYS_swapoff),
    always(libc::SYS_swapon),
    always(libc::SYS_syslog),
    always(libc::SYS_umount2),
    always(libc::SYS_userfaultfd),
    always(libc::SYS_vhangup),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_ioperm),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_iopl),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_kexec_file_load),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_modify_ldt),
];

/// Entering a namespace that is there.
pub(crate) const ENTERING: &[DeniedCall] = &[always(libc::SYS_setns)];

/// Making a namespace of any kind but that of users, in which a database server becomes another user. clone(2) makes none
/// of time.
pub(crate) const NAMESPACES: &[DeniedCall] = &[
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWCGROUP)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWIPC)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWNET)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWNS)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWPID)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWTIME)]),
    when(libc::SYS_unshare, &[Has(libc::CLONE_NEWUTS)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWCGROUP)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWIPC)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWNET)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWNS)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWPID)]),
    when(libc::SYS_clone, &[Has(libc::CLONE_NEWUTS)]),
];

/// Programs and processes: running one, and starting a process that is no thread of this one.
pub(crate) const PROCESSES: &[DeniedCall] = &[
    always(libc::SYS_execve),
    always(libc::SYS_execveat),
    always(libc::SYS_unshare),
    when(libc::SYS_clone, &[Lacks(libc::CLONE_THREAD)]),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_fork),
    #[cfg(target_arch = "x86_64")]
    always(libc::SYS_vfork),
];

/// Sockets of other families than IPv4, IPv6 and local ones; and io_uring, which makes calls beside the filter.
pub(crate) const OTHER_SOCKETS: &[DeniedCall] = &[
    when(
        libc::SYS_socket,
        &[Differs(libc::AF_INET), Differs(libc::AF_INET6), Differs(libc::AF_UNIX)],
    ),
    always(libc::SYS_io_uring_setup),
];

/// Describes a system call that is always denied.
const fn always(number: CallNumber) -> DeniedCall {
    DeniedCall { number, conditions: &[] }
}

/// Describes a system call that is denied where these conditions hold.
const fn when(number: CallNumber, conditions: &'static [ArgumentCondition]) -> DeniedCall {
    DeniedCall { number, conditions }
}

/// Denies these system calls to this thread, and to the threads and programs that it starts. Does nothing where filters
/// are not available ([`Mechanism::SystemCalls`]).
pub(crate) fn deny_system_calls(lists: &[&[DeniedCall]]) -> io::Result<()> {
    install(rules(lists)?, libc::EPERM)
}

/// Hides `clone3`, by which a process could make what it may not make by `clone`.
pub(crate) fn hide_clone3() -> io::Result<()> {
    install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

/// Installs a filter that answers calls within the rules with an error, where filters are available.
fn install(rules: BTreeMap<CallNumber, Vec<SeccompRule>>, errno: libc::c_int) -> io::Result<()> {
    if !Mechanism::SystemCalls.is_available() {
        return Ok(());
    }
    add_filter(&compile(rules, errno).map_err(io::Error::other)?)
}

/// Returns the rules by system call. An empty vector denies always, which takes precedence.
fn rules(lists: &[&[DeniedCall]]) -> io::Result<BTreeMap<CallNumber, Vec<SeccompRule>>> {
    let mut rules = BTreeMap::<CallNumber, Vec<SeccompRule>>::new();
    let calls = || lists.iter().copied().flatten();
    for call in calls().filter(|call| !call.conditions.is_empty()) {
        let rule = call.rule().map_err(io::Error::other)?;
        rules.entry(call.number).or_default().push(rule);
    }
    for call in calls().filter(|call| call.conditions.is_empty()) {
        rules.insert(call.number, Vec::new());
    }
    Ok(rules)
}

impl DeniedCall {
    fn rule(&self) -> Result<SeccompRule, BackendError> {
        let conditions = self.conditions.iter().map(|condition| condition.compile());
        SeccompRule::new(conditions.collect::<Result<_, _>>()?)
    }
}

impl ArgumentCondition {
    fn compile(self) -> Result<SeccompCondition, BackendError> {
        let word = |value: libc::c_int| u64::from(value.cast_unsigned());
        let (operator, value) = match self {
            Has(bit) => (SeccompCmpOp::MaskedEq(word(bit)), word(bit)),
            Lacks(bit) => (SeccompCmpOp::MaskedEq(word(bit)), 0),
            Differs(value) => (SeccompCmpOp::Ne, word(value)),
        };
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value)
    }
}

/// Compiles a filter that answers calls within the rules with an error, and allows all others.
fn compile(
    rules: BTreeMap<CallNumber, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let denied = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    use socket2::{Domain, Socket, Type};
    use std::process::Command;

    /// Runs a test in a thread of its own, which these system calls are denied to.
    fn without(lists: &'static [&'static [DeniedCall]], test: fn()) {
        let confined = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            deny_system_calls(lists).unwrap();
            hide_clone3().unwrap();
            test();
        });
        confined.join().unwrap();
    }

    /// Returns the error of a call that failed.
    fn errno<T>(result: io::Result<T>) -> Option<i32> {
        result.err().and_then(|error| error.raw_os_error())
    }

    #[test]
    fn a_process_without_namespaces_runs_programs_and_makes_user_namespaces_alone() {
        assert!(Mechanism::SystemCalls.is_available());
        without(&[ADMINISTRATION, NAMESPACES, ENTERING], || {
            assert!(Command::new("/bin/true").status().unwrap().success());
            for flags in [UnshareFlags::NEWNET, UnshareFlags::NEWUSER | UnshareFlags::NEWNS] {
                #[allow(unsafe_code)]
                // SAFETY: the call is unsound only with `FILES`.
                let refused = unsafe { unshare_unsafe(flags) };
                assert_eq!(refused, Err(rustix::io::Errno::PERM), "{flags:?}");
            }
            let root = std::fs::File::open("/proc/self/ns/net").unwrap();
            let entered =
                rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&root), None);
            assert_eq!(entered, Err(rustix::io::Errno::PERM));
            // A thread of a confined thread is confined, too; and can be started without clone3.
            let host = std::thread::spawn(|| rustix::system::sethostname(b"other")).join().unwrap();
            assert_eq!(host, Err(rustix::io::Errno::PERM));
        });
    }

    #[test]
    fn a_process_without_processes_starts_threads_alone() {
        without(&[PROCESSES, OTHER_SOCKETS], || {
            assert_eq!(errno(Command::new("/bin/true").status()), Some(libc::EPERM));
            std::thread::spawn(|| ()).join().unwrap();
            for family in [Domain::IPV4, Domain::IPV6, Domain::UNIX] {
                Socket::new(family, Type::DGRAM, None).unwrap();
            }
            for family in [Domain::PACKET, Domain::from(libc::AF_NETLINK)] {
                assert_eq!(errno(Socket::new(family, Type::RAW, None)), Some(libc::EPERM));
            }
        });
    }
}
