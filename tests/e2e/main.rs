//! End-to-end tests of the command: they need namespaces and nothing else.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod ablate;
mod causes;
mod compare;
mod explain;
mod exports;
mod fairness;
mod faults;
mod golden;
mod measures;
mod probe;
mod programs;
mod quick;
mod recompute;
mod report;
mod schema;
mod shapes;
mod signals;
mod strangers;
mod studies;
mod up;
mod user;
