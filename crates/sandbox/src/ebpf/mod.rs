//! Programs that the kernel runs (eBPF): how they are written, who may load them, and those that forward packets.

mod loaded_program;
pub(crate) mod program_builder;
mod redirect;
mod redirect_code;
mod redirect_role;
mod redirect_target;

pub use redirect::{EbpfRedirect, NewEbpfRedirect, NewXdpReceiver, redirect_support};
pub use redirect_role::attach_redirect;
pub use redirect_target::RedirectTarget;

use rustix::thread::CapabilitySet;

/// Returns whether this process has the capabilities to load programs. Within a user namespace the kernel refuses them
/// nonetheless.
pub(crate) fn may_load_programs() -> bool {
    let mine = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
    mine.is_ok_and(|mine| mine.contains(CapabilitySet::SYS_ADMIN) || mine.contains(both))
}
