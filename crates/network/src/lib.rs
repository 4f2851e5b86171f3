//! Definition of a network: the [`Network`] trait, which every way of connecting containers implements, and the types
//! that it uses.
//!
//! The only part of this crate that reads from the kernel is [`procfs_counters`], the counters that all places read in
//! the same way. A place (the lab, a Docker Engine, a cluster) implements [`Network`], [`Container`] and [`Process`];
//! the runner knows only these traits. [`mock`] is a place without a kernel behind it, for tests.
#![forbid(unsafe_code)]

mod background;
mod container;
mod error;
mod firewall_backend;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod mock;
mod network;
mod node_link;
mod number_option;
mod options;
pub mod procfs_counters;
mod rate;
mod redirect_program;
mod registry;
mod requirement;
mod runtime_name;
mod shell;
mod spec;
mod spec_error;
mod timeout;
mod topology;

pub use background::Background;
pub use container::{Command, Container, INTERNAL, NetworkDaemons, Process, ProcessExit, Stdio};
pub use error::Error;
pub use firewall_backend::{FirewallBackend, InvalidFirewallBackend};
pub use network::{AgentNamespaces, Network, NetworkInfo, NetworkParameters, NodeKind};
pub use node_link::{NodeLink, NodeLinkError};
pub use options::{NetworkOption, NetworkOptions};
pub use rate::{BitsPerSecond, RateError};
pub use redirect_program::RedirectProgram;
pub use registry::{FindError, NetworkAvailability, NetworkRegistry};
pub use requirement::{PermissiveProbe, Requirement, RequirementProbe, UnmetRequirement};
pub use runtime_name::{InvalidRuntimeName, RuntimeName};
pub use shell::quote;
pub use spec::NetworkSpec;
pub use spec_error::NetworkSpecError;
pub use tare_record::{
    COPIES_CHAIN, CounterDeltas, CounterGroups, Family, Finding, Hop, HopKind, KernelProgramRuns,
    MtuSource, NamespaceCounts, Nanos, Offload, Offloads, Placement, Shape, UnknownOffload,
    finding,
};
pub use timeout::scaled_timeout;
pub use topology::{ClientRoute, CounterWatch, Guard, NetworkInspector, Topology};
