//! Redirection by a program that runs.

use super::errors::map_errno;
use crate::sys::bpf::PerCpuCounter;
use std::os::fd::OwnedFd;
use tare_network::{Error, RedirectProgram};

/// Redirection of packets among the veth pairs of a node, which lasts as long as the devices; or of data among the
/// sockets of a namespace, which lasts as long as this value.
pub struct EbpfRedirect {
    program: RedirectProgram,
    redirected: PerCpuCounter,
    _open: Vec<OwnedFd>,
}

impl EbpfRedirect {
    /// Returns the redirection of a program that counts in `redirected`, and is attached as long as these descriptors are
    /// open.
    pub(super) fn new(
        program: RedirectProgram,
        redirected: PerCpuCounter,
        open: Vec<OwnedFd>,
    ) -> Self {
        Self { program, redirected, _open: open }
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> RedirectProgram {
        self.program
    }

    /// Returns the number of packets, or of sends of sockets, that were redirected so far.
    ///
    /// # Errors
    /// The kernel does not return its counts.
    pub fn count(&self) -> Result<u64, Error> {
        map_errno(self.redirected.read())
    }
}
