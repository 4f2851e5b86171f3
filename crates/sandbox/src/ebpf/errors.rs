//! Errors of programs that redirect.

use super::may_load_programs;
use rustix::io::Errno;
use tare_network::Error;

/// Refuses a process that may not load programs.
pub(super) fn check_privilege() -> Result<(), Error> {
    if may_load_programs() {
        return Ok(());
    }
    Err(error("only root can load the eBPF program")
        .with_remedy("run tare as root, outside of containers"))
}

pub(super) fn error(why: impl ToString) -> Error {
    Error::new("redirect by an eBPF program", why)
}

pub(super) fn map_errno<T>(result: Result<T, Errno>) -> Result<T, Error> {
    result.map_err(|errno| match errno {
        Errno::PERM | Errno::ACCESS => error("the kernel allows no eBPF programs here")
            .with_remedy("run tare as root outside of containers, with CAP_BPF and CAP_NET_ADMIN"),
        errno => error(format!("bpf(2): {errno}"))
            .with_remedy("use Linux 6.6 or later, with CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_ACT"),
    })
}
