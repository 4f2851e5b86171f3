//! End-to-end tests of the command. They need only namespaces.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod ablate;
mod answers;
mod causes;
mod compare;
mod congestion;
mod doctor;
mod documented_commands;
mod errors;
mod exports;
mod fairness;
mod faults;
mod golden;
mod kubernetes;
mod live_table;
mod lossy_places;
mod measures;
mod ordinary_user;
mod packet_loss;
mod pipelines;
mod probe;
mod process_faults;
mod programs;
mod quick;
mod recompute;
mod report;
mod rights;
mod rootless;
mod schema;
mod shapes;
mod signals;
mod studies;
mod untrusted;
mod up;
