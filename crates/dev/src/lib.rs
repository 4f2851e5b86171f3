//! Helpers shared by the tests of several crates. Only tests depend on this crate.
//!
//! Every helper panics if its test must fail, and its resources end with the test program, also if that is killed.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a helper that fails fails its test"
)]

mod agents;
mod namespaces;
mod network_configuration;
mod plan;
mod scratch;
mod seed;
mod wait;

pub use agents::{AgentContainer, topology};
pub use namespaces::{NamespacePair, NamespaceStar, TestNamespace, is_root};
pub use network_configuration::NetworkConfiguration;
pub use plan::{made_up_plan, made_up_workload};
pub use scratch::ScratchDirectory;
pub use seed::Seed;
pub use wait::{Condition, eventually, scaled_timeout};
