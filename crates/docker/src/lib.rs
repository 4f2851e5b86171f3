//! Docker Engine as a place: containers that a real engine starts, on networks that it makes.
//!
//! A [`EnginePlace`] is one engine, reached by its API: the engine that Docker's own client uses (DOCKER_HOST and
//! contexts are honoured), else Podman. Its [`docker_networks`] are those that the studies measured by hand. Containers run tare's
//! own static binary, in an image that is built on the spot. Everything that is made on an engine carries the label
//! `tare.run`. It is removed when the network is dropped, whatever has gone wrong before, and containers end with the
//! connection of the process that made them, even if that process is killed. A [`Cleaner`] removes the rest (networks,
//! an image) by the label alone.
#![forbid(unsafe_code)]

mod address;
mod cleaner;
pub mod container;
pub mod container_handle;
mod container_watch;
mod context;
mod describe;
pub mod engine;
pub mod engine_resources;
pub mod engine_session;
pub mod error;
pub mod exec;
#[cfg(fuzzing)]
pub mod fuzzing;
mod host_tool_mounts;
pub mod image;
mod label;
pub mod leftovers;
pub mod networks;
mod options;
mod place;
mod podman;
pub mod process;
mod product;
pub mod requirement;
mod run_owner;
mod ssh_tunnel;
mod terminal;

pub use address::{EngineAddress, EngineAddressError};
pub use cleaner::Cleaner;
pub use image::{build_archive, load_into as load};
pub use label::{RUN_LABEL, RunId};
pub use leftovers::{Leftover, LeftoverKind};
pub use networks::{docker_networks, podman::podman_networks};
pub use options::DockerOptions;
pub use place::EnginePlace;
