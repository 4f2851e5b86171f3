//! Tests of foreign tools and databases as workloads. `make system-tools` installs them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod congestion;
mod foreign;
mod servers;
mod several_clients;
mod stopped;
