//! The lab: the embedded place, made of private namespaces on this machine.
//!
//! [`Lab::enter`] turns the process into one that can hold network namespaces and start programs in them, without root
//! where unprivileged user namespaces are allowed. [`networks`] are the ways of connecting containers that it knows.
//! Nothing of the machine itself is changed, and nothing outlives the process: namespaces are held by descriptors,
//! programs by the [`keeper`].

mod address;
mod backbone;
mod bgp;
mod bucket;
mod build;
mod burner;
mod clamp;
mod cni;
mod container;
mod cores;
mod counters;
mod docker;
mod drops;
mod enter;
mod felix;
mod flannel;
#[cfg(fuzzing)]
pub mod fuzzing;
mod group;
mod inside;
mod keeper;
mod kernel;
mod lab;
mod layout;
mod namespace;
mod netem;
mod netlink;
mod networks;
mod nft;
mod nodes;
mod offload;
mod openvswitch;
mod parallel;
mod pods;
mod process;
pub mod program;
mod programs;
mod prove;
mod proxy;
mod reach;
mod secret;
mod settings;
mod shell;
mod sleeve;
mod spawner;
mod spread;
mod strongswan;
mod sys;
mod tap;
mod underlay;
mod uplink;
mod varied;
mod watch;
mod weave;
mod wiring;

pub use burner::burn;
pub use drops::drop_reasons;
pub use enter::Privilege;
pub use inside::inside;
pub use keeper::keeper;
pub use kernel::{KernelProbe, Modules};
pub use lab::{EnterOptions, Lab};
pub use networks::{networks, pairs};
pub use proxy::proxy;
pub use sleeve::sleeve;
pub use underlay::link_needs;
