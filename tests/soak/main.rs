//! Controls that measure for minutes or hours: `make soak`, `make fidelity`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod answers;
mod controls;
mod faults;
mod fidelity;
mod growth;
mod holdings;
mod journal;
mod long;

use rustix::process::Pid;
use std::time::Duration;
use support::program::{RunningProgram, ends_within};

/// Returns true if a program ends within this time.
fn ended_within(running: &RunningProgram, time: Duration) -> bool {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    ends_within(pid.expect("a process has a number"), time)
}
