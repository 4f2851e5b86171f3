//! Programs that the kernel runs (eBPF): how they are written, who may load them, and those that forward packets or data.

mod ebpf_redirect;
mod errors;
mod loaded_program;
mod packet_code;
mod packet_redirect;
mod pair_program;
pub(crate) mod program_builder;
mod redirect_role;
mod redirect_target;
mod socket_code;
mod socket_redirect;
mod support;

pub use ebpf_redirect::EbpfRedirect;
pub use packet_redirect::{NewEbpfRedirect, NewXdpReceiver};
pub use pair_program::PairProgram;
pub use redirect_role::attach_redirect;
pub use redirect_target::RedirectTarget;
pub use socket_redirect::NewSocketRedirect;
pub use support::redirect_support;

use rustix::thread::CapabilitySet;

/// Returns whether this process has the capabilities to load programs. Within a user namespace the kernel refuses them
/// nonetheless.
pub(crate) fn may_load_programs() -> bool {
    let mine = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
    mine.is_ok_and(|mine| mine.contains(CapabilitySet::SYS_ADMIN) || mine.contains(both))
}
