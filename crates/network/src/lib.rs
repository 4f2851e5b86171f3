//! What a network *is*: the trait that every way of connecting containers implements, and the words around it.
//!
//! This crate asks the kernel for nothing but what it counts ([`counted`]), which all places read alike. A place (the lab, a Docker Engine, a cluster) implements [`Network`],
//! [`Container`] and [`Process`]; the runner knows only these. [`mock`] is a place that exists nowhere.
#![forbid(unsafe_code)]

mod background;
mod container;
pub mod counted;
mod error;
mod link;
pub mod mock;
mod name;
mod need;
mod network;
mod options;
mod rate;
mod registry;
mod topology;

pub use background::Background;
pub use container::{Command, Container, Daemons, Exit, Process, Stdio};
pub use error::Error;
pub use link::{Link, LinkError};
pub use name::{NameError, Spelled};
pub use need::{Missing, Need, Needed, Probe};
pub use network::{About, Network, NodeKind, Site};
pub use options::{NetworkOption, Options};
pub use rate::{BitsPerSecond, RateError};
pub use registry::{FindError, Listing, Registry};
pub use tare_record::{
    Family, Finding, Gains, Hop, HopKind, MtuBy, Nanos, Offload, Offloads, PlaceCounts, Placement,
    Ran, Shape, UnknownOffload,
};
pub use topology::{Guard, Route, Topology, Watch};
