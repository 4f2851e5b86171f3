//! Agents: the process that carries traffic inside a container, its line protocol, and the session by which a runner
//! drives the agents of a topology.
//!
//! [`run_agent`] is the process that an [`AgentSession`] starts in every container and drives by the lines of
//! [`protocol`]. What it sends and receives is a workload's (`tare-traffic`).
#![forbid(unsafe_code)]

mod agent;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod protocol;
mod session;

pub use agent::run_agent;
pub use session::AgentSession;
