//! Tests with a Kubernetes cluster of their own, in namespaces: `make test-kubernetes`. Only root can start it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod chart;
mod cluster;
mod daemons;
mod ends;
mod job;
mod manifest;
mod measured;
mod mesh;
mod names;
mod node_pairs;
mod policies;
mod requests;
mod rights;
mod runtimes;
mod services;
