//! Runner: carries out a plan over networks, with traffic and observation, and writes the journal.
//!
//! `run` goes through the plan's blocks in their order: it raises each network anew, runs all workloads over it, and
//! writes every trial to the journal before the next trial starts. The runner depends on an environment
//! ([`RunEnvironment`]), not on places: [`network_environment::NetworkEnvironment`] raises networks,
//! [`probe_environment::ProbeEnvironment`] has a listener as its other end, and the tests have their own. With a pilot,
//! the number of blocks is decided once, after the pilot; no result is looked at after that, but for the planned
//! analyses of a group-sequential run, over all of which its intervals hold.
#![forbid(unsafe_code)]

mod block_slices;
mod environment;
mod error;
mod first_failures;
mod group_sequential;
pub mod network_environment;
mod network_under_test;
mod port_allocator;
pub mod probe_environment;
mod progress;
mod recorder;
mod run;
mod slice_pilot;
mod start_point;
mod turn;
mod weave;

pub use environment::{AttemptError, RunEnvironment, RunningNetwork, TrialMeasurement, TurnSetup};
pub use error::Error;
pub use progress::{Progress, RunEvent, SilentProgress};
pub use run::run_plan;
pub use start_point::StartPoint;
