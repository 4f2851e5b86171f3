//! Tests for the virtual machine, whose kernel has all modules: function only, never speed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod docker;
mod modules;
mod networks;
mod studies;
mod swarm;
