//! Helpers shared by the tests of several crates. Only tests depend on this crate.
//!
//! Everything here panics where a test must fail, and ends with the test program, also when that is killed.
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
mod scratch;
mod seed;
mod wait;

pub use agents::{AgentContainer, topology};
pub use namespaces::{Namespace, Pair, Star, is_root};
pub use network_configuration::NetworkConfiguration;
pub use scratch::Scratch;
pub use seed::Seed;
pub use wait::{Condition, eventually, patience};
