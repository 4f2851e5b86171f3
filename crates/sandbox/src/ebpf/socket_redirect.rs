//! Redirection of data between the sockets of a namespace (sockmap): what one end of a TCP connection sends is appended
//! to the receive queue of the other, without segments, acknowledgements or a device.
//!
//! A program at the root of the control groups sees every TCP connection of the machine, and keeps those of the
//! namespace. It is detached with the redirection. Connections are made and closed as before, and so is what was sent
//! before both ends were known.

use super::ebpf_redirect::EbpfRedirect;
use super::errors::{check_privilege, error, map_errno};
use super::packet_redirect::role_command;
use super::socket_code::{KEY_LENGTH, collecting_program, redirecting_program};
use crate::Namespace;
use crate::sys::bpf::{self, PerCpuCounter, ProgramKind, SocketMap};
use crate::sys::socket::network_namespace_cookie;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::os::fd::{AsFd, OwnedFd};
use tare_network::{Error, RedirectProgram};

/// Line that the role prints when the programs are attached.
pub(super) const READY: &str = "ready";

/// Capacity for sockets. Those that find no room keep to the kernel's path.
const MOST_SOCKETS: u32 = 65_536;

/// Redirection to make among the sockets of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSocketRedirect;

impl NewSocketRedirect {
    /// Loads the programs, and attaches them for the namespace.
    ///
    /// # Errors
    /// The programs cannot be loaded or attached.
    pub fn attach(self, namespace: &Namespace) -> Result<EbpfRedirect, Error> {
        namespace.run_inside(|| self.attach_here())
    }

    /// Loads the programs, and attaches them for this thread's network namespace.
    pub(super) fn attach_here(self) -> Result<EbpfRedirect, Error> {
        let SocketPrograms { collecting, sockets, redirected } = SocketPrograms::load()?;
        let attached = map_errno(bpf::attach_to_group(collecting.as_fd(), all_groups()?.as_fd()))?;
        let open = vec![attached, sockets.into()];
        Ok(EbpfRedirect::new(RedirectProgram::Sockmap, redirected, open))
    }

    /// Returns the commands that do the same in the namespace that is called `place`. The programs stay as long as the
    /// process.
    #[must_use]
    pub fn commands(self, place: &str) -> [String; 2] {
        let log = format!("/run/sockmap-{place}.log");
        let role = role_command(place, RedirectProgram::Sockmap, []);
        [
            format!("{role} >{log} &"),
            format!("until grep -q {READY} {log}; do kill -0 $! || break; sleep 0.1; done"),
        ]
    }
}

/// Programs in the kernel for the sockets of a namespace.
pub(super) struct SocketPrograms {
    /// Program that collects the sockets, which is not attached yet.
    collecting: OwnedFd,
    /// Collected sockets. The program that redirects what they send is attached as long as this is open.
    sockets: SocketMap,
    /// Count of that program.
    redirected: PerCpuCounter,
}

impl SocketPrograms {
    /// Loads the programs for this thread's network namespace.
    pub(super) fn load() -> Result<Self, Error> {
        check_privilege()?;
        let cookie = map_errno(network_namespace_cookie())?;
        let sockets = map_errno(SocketMap::new(KEY_LENGTH, MOST_SOCKETS))?;
        let redirected = map_errno(PerCpuCounter::new())?;
        let instructions = redirecting_program(sockets.as_fd(), redirected.as_fd());
        let redirecting = map_errno(bpf::load(ProgramKind::SocketMessage, &instructions))?;
        map_errno(bpf::attach_to_sockets(redirecting.as_fd(), &sockets))?;
        let instructions = collecting_program(cookie, sockets.as_fd());
        let collecting = map_errno(bpf::load(ProgramKind::SocketOperations, &instructions))?;
        Ok(Self { collecting, sockets, redirected })
    }
}

/// Returns the root of the control groups (cgroups(7), version 2), which need not be mounted.
fn all_groups() -> Result<OwnedFd, Error> {
    let open = || {
        let context = fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(context.as_fd())?;
        fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    open().map_err(|errno| {
        error(format!("the control groups cannot be opened: {errno}"))
            .with_remedy("use a kernel with CONFIG_CGROUPS and CONFIG_CGROUP_BPF")
    })
}
