//! The lab: the embedded place, made of private namespaces on this machine.
//!
//! [`networks()`] returns the lab's networks. Each describes its wiring, which is built in namespaces of a
//! [`Sandbox`](tare_sandbox::Sandbox), printed as commands and verified. Nothing of the machine itself is changed, and
//! nothing outlives the process.

mod build;
mod cni;
mod container;
mod counters;
mod cpu_affinity;
mod cpu_load;
#[cfg(fuzzing)]
pub mod fuzzing;
mod inspector;
mod mss_clamp;
mod networks;
mod offload;
mod plan;
mod programs;
mod random_key;
mod shell;
mod stand_ins;
mod verify;

pub use cpu_load::burn_cpu;
pub use networks::user_mode::request_port;
pub use networks::{networks, pairs};
pub use plan::underlay::link_requirements;
pub use stand_ins::userland_proxy::run_proxy;
pub use stand_ins::weave_sleeve::sleeve;
pub use tare_sandbox::ebpf::attach_redirect;
