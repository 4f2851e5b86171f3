//! Docker Swarm as a place: servers and clients are tasks of services, on nodes of a Swarm, on networks that it makes.
//!
//! tare talks to a manager ([`SwarmPlace`]). A session holds what all networks of a run share (the tunnel server, the
//! image on named engines), and is made once. The tasks of a Swarm are on any of its nodes, whose engines tare need not
//! reach: programs in them are started by a reverse tunnel (`tunnel/`).
#![forbid(unsafe_code)]

mod await_tasks;
mod deployment;
mod networks;
mod nodes;
mod place;
mod session;
mod task_monitor;
mod task_registry;
mod task_request;
mod task_status;
mod tunnel;

pub use networks::swarm_networks;
pub use place::SwarmPlace;
pub use tunnel::{run_task_agent, run_tunnel};
