//! Tests with their own Docker Engines and Swarms, in namespaces. Only root can start them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod docker;
mod docker_containers;
mod docker_counts;
mod docker_ends;
mod docker_names;
#[cfg(feature = "docker-tls")]
mod docker_tls;
mod docker_woven;
mod podman;
mod podman_rootless;
mod runtimes;
mod swarm;
