//! The lab: the embedded place, made of private namespaces on this machine.
//!
//! [`Lab::enter`] turns the process into one that can hold network namespaces and start programs in them, without root
//! if unprivileged user namespaces are allowed. [`networks()`] returns the lab's networks. Nothing of the machine
//! itself is changed, and nothing outlives the process: descriptors hold the namespaces, and the init process (`init`)
//! ends the programs.

mod build;
mod cgroup;
mod cni;
mod container;
mod counters;
mod cpu_affinity;
mod cpu_load;
mod drops;
mod exec_with_hosts;
#[cfg(fuzzing)]
pub mod fuzzing;
mod init;
mod kernel;
mod lab;
mod mss_clamp;
mod namespace;
mod netem;
mod netlink;
mod networks;
mod nft;
mod offload;
mod parallel;
mod plan;
mod private_namespaces;
mod process;
pub mod program;
mod programs;
mod random_key;
mod shell;
mod spawner;
mod stand_ins;
mod sys;
mod sysctl;
mod tbf;
mod verify;

pub use cpu_load::burn_cpu;
pub use drops::drop_reasons;
pub use exec_with_hosts::exec_with_hosts;
pub use init::run_init;
pub use kernel::{KernelProbe, ModuleLoading};
pub use lab::{EnterOptions, Lab};
pub use networks::{networks, pairs};
pub use plan::underlay::link_requirements;
pub use private_namespaces::LabPrivilege;
pub use stand_ins::userland_proxy::run_proxy;
pub use stand_ins::weave_sleeve::sleeve;
