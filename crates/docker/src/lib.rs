//! Docker Engine as a place: containers that a real engine starts, on networks that it makes.
//!
//! A [`EnginePlace`] is one engine, reached by its API: the engine that Docker's own client uses (DOCKER_HOST and
//! contexts are honoured). Its [`docker_networks`] are those that the studies measured by hand. Containers run tare's
//! own static binary, in an image that is built on the spot. Everything that is made on an engine carries the label
//! `tare.run`. It is removed when the network is dropped, whatever has gone wrong before, and containers end with the
//! connection of the process that made them, even if that process is killed. A [`Cleaner`] removes the rest (networks,
//! an image) by the label alone.
#![forbid(unsafe_code)]

mod address;
mod cleaner;
mod client_environment;
mod container;
mod container_handle;
mod container_watch;
mod context;
mod describe;
mod engine;
mod engine_resources;
mod engine_session;
mod error;
mod exec;
mod host_tool_mounts;
mod image;
mod label;
mod leftovers;
mod netns_probe;
mod networks;
mod options;
mod place;
mod process;
mod requirement;
mod ssh_tunnel;
mod swarm;
mod terminal;
mod timeout;
mod tunnel;

pub use address::{EngineAddress, EngineAddressError};
pub use cleaner::Cleaner;
pub use image::{build_archive, load_into as load};
pub use label::{RUN_LABEL, RunId};
pub use leftovers::{Leftover, LeftoverKind};
pub use netns_probe::run_netns_probe;
pub use networks::docker_networks;
pub use options::DockerOptions;
pub use place::EnginePlace;
pub use swarm::swarm_networks;
pub use tunnel::{run_task_agent, run_tunnel};
