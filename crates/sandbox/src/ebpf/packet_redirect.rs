//! Redirection of packets from one veth pair of a node into another: a packet that a container sends goes on in the
//! container that it is for, past the bridge, the netfilter rules and the queues of their node.
//!
//! A program at the node's end of every pair looks the destination's link-layer address up, and names the pair by which
//! the packet leaves. Packets for other addresses go to the bridge.
//!
//! - By `bpf_redirect_peer` the kernel continues at the far end of that pair, within the same softirq, as if the packet
//!   had just arrived there.
//! - By XDP it hands the packet over before it has a socket buffer. What is known of a packet beside its bytes is lost, so
//!   the far ends must send packets with their checksums; and they receive such packets only if they run an XDP program
//!   themselves ([`NewXdpReceiver`]).

use super::ebpf_redirect::EbpfRedirect;
use super::loaded_program::LoadedProgram;
use super::pair_program::PairProgram;
use super::redirect_target::RedirectTarget;
use crate::Namespace;
use crate::netlink::DeviceRef;
use tare_network::{Error, INTERNAL, RedirectProgram, quote};

/// Role of tare that attaches programs as the commands say.
const ROLE: &str = "ebpf-redirect";

/// Redirection to make among veth pairs of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEbpfRedirect<'a> {
    /// Program that redirects.
    pub program: PairProgram,
    /// All pairs that packets come from and leave by.
    pub targets: Vec<RedirectTarget<'a>>,
}

/// Device that is to receive packets from XDP programs of other devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewXdpReceiver<'a> {
    /// Far end of a veth pair.
    pub device: DeviceRef<'a>,
}

impl NewEbpfRedirect<'_> {
    /// Loads the program, and attaches it to the node's end of every pair.
    ///
    /// # Errors
    /// The program cannot be loaded or attached.
    pub fn attach(&self, node: &Namespace) -> Result<EbpfRedirect, Error> {
        node.run_inside(|| self.attach_here())
    }

    /// Loads the program, and attaches it to devices of this thread's network namespace.
    pub(super) fn attach_here(&self) -> Result<EbpfRedirect, Error> {
        let (loaded, packets) = LoadedProgram::redirecting(self.program, &self.targets)?;
        self.targets.iter().try_for_each(|target| loaded.attach(target.device))?;
        Ok(EbpfRedirect::new(self.program.option(), packets, Vec::new()))
    }

    /// Returns the command that does the same in the namespace that is called `place`. No common tool has the program,
    /// so it is tare's.
    #[must_use]
    pub fn command(&self, place: &str) -> String {
        let target = |one: &RedirectTarget<'_>| format!("{}={}", one.device.name, one.mac);
        role_command(place, self.program.option(), self.targets.iter().map(target))
    }
}

impl NewXdpReceiver<'_> {
    /// Attaches a program that lets all packets pass.
    ///
    /// # Errors
    /// The program cannot be loaded or attached.
    pub fn attach(&self, container: &Namespace) -> Result<(), Error> {
        container.run_inside(|| self.attach_here())
    }

    /// Attaches the program to a device of this thread's network namespace.
    pub(super) fn attach_here(&self) -> Result<(), Error> {
        LoadedProgram::passing(PairProgram::Xdp)?.attach(self.device)
    }

    /// Returns the command that does the same in the namespace that is called `place`.
    #[must_use]
    pub fn command(&self, place: &str) -> String {
        role_command(place, RedirectProgram::Xdp, [self.device.name.to_owned()])
    }
}

/// Returns the command that attaches a program in the namespace that is called `place`.
pub(super) fn role_command(
    place: &str,
    program: RedirectProgram,
    arguments: impl IntoIterator<Item = String>,
) -> String {
    let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
    let mut words = vec![
        format!("ip netns exec {place}"),
        quote(&own.to_string_lossy()),
        INTERNAL.to_owned(),
        ROLE.to_owned(),
        program.name().to_owned(),
    ];
    words.extend(arguments);
    words.join(" ")
}
