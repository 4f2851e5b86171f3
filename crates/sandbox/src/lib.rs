//! The sandbox: private namespaces of this machine, and the programs in them.
//!
//! [`Sandbox::enter`] turns the process into one that can hold network namespaces and start programs in them, without
//! root if unprivileged user namespaces are allowed. Nothing of the machine itself is changed, and nothing outlives the
//! process: descriptors hold the namespaces, and the init process ([`run_init`]) ends the programs.
//!
//! This crate makes the system calls and knows the kernel's objects (namespaces, devices, routes, netfilter rules,
//! mounts, control groups). It does not know networks: which objects a network consists of is described by the crate
//! above it.

pub mod addressing;
mod cgroup;
pub mod counters;
pub mod devices;
mod drops;
pub mod ebpf;
mod exec_with_hosts;
#[cfg(fuzzing)]
pub mod fuzzing;
mod init;
mod init_process;
mod kernel;
mod namespace;
mod namespace_change;
pub mod netlink;
pub mod nft;
pub mod parallel;
mod private_namespaces;
mod process;
pub mod program;
pub mod programs;
mod sandbox;
mod spawner;
pub mod sys;
mod sysctl;

pub use drops::{DropCounter, DropReasons, DropWatch, drop_reasons};
pub use exec_with_hosts::exec_with_hosts;
pub use init::run_init;
pub use kernel::{KernelProbe, ModuleLoading};
pub use namespace::{Namespace, listen_in};
pub use namespace_change::NamespaceChange;
pub use private_namespaces::SandboxPrivilege;
pub use process::SandboxProcess;
pub use program::TARE;
pub use sandbox::{EnterOptions, Sandbox};
pub use sysctl::{Sysctl, SysctlPresence};
