//! The lab: the embedded place, made of private namespaces on this machine.
//!
//! [`Lab::enter`] turns the process into one that can hold network namespaces and start programs in them, without root
//! if unprivileged user namespaces are allowed. [`networks()`] returns the lab's networks. Nothing of the machine
//! itself is changed, and nothing outlives the process: descriptors hold the namespaces, and the init process (`init`)
//! ends the programs.

mod address;
mod backbone;
mod bgp;
mod build;
mod capture;
mod cgroup;
mod cni;
mod connectivity;
mod container;
mod counter_watch;
mod counters;
mod cpu_affinity;
mod cpu_load;
mod docker_rules;
mod drops;
mod exec_with_hosts;
mod felix_rules;
mod flannel;
#[cfg(fuzzing)]
pub mod fuzzing;
mod init;
mod kernel;
mod lab;
mod layout;
mod mss_clamp;
mod namespace;
mod namespace_id;
mod netem;
mod netlink;
mod network_options;
mod networks;
mod nft;
mod node_containers;
mod nodes;
mod offload;
mod openvswitch;
mod parallel;
mod path_proof;
mod placement;
mod private_namespaces;
mod process;
pub mod program;
mod programs;
mod random_key;
mod shell;
mod spawner;
mod strongswan;
mod sys;
mod sysctl;
mod tbf;
mod underlay;
mod uplink;
mod userland_proxy;
mod weave;
mod weave_sleeve;
mod wiring;

pub use cpu_load::burn_cpu;
pub use drops::drop_reasons;
pub use exec_with_hosts::exec_with_hosts;
pub use init::run_init;
pub use kernel::{KernelProbe, ModuleLoading};
pub use lab::{EnterOptions, Lab};
pub use networks::{networks, pairs};
pub use private_namespaces::LabPrivilege;
pub use underlay::link_requirements;
pub use userland_proxy::run_proxy;
pub use weave_sleeve::sleeve;
