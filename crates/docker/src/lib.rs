//! Docker Engine as a place: containers that a real engine starts, on networks that it makes.
//!
//! A [`Place`] is one engine, spoken to by its API (DOCKER_HOST is honoured). Its [`networks`] are what the studies
//! measured by hand. Containers run tare's own static binary, in an image made on the spot. Everything that is made on
//! an engine carries the label `tare.run`; it is removed when the network is dropped, whatever has gone wrong before, and
//! containers end with the connection of the process that made them, even when that is killed. What is left then
//! (networks, an image), a [`Cleaner`] removes by the label alone.
#![forbid(unsafe_code)]

mod address;
mod clean;
mod container;
mod context;
mod describe;
mod engine;
mod exec;
mod home;
mod image;
mod label;
mod leftovers;
mod lent;
mod look;
mod networks;
mod patience;
mod place;
mod process;
mod ssh;
mod swarm;
mod terminal;
mod trouble;
mod want;
mod watch;
mod work;

pub use address::{Address, AddressError};
pub use clean::Cleaner;
pub use home::{away, home};
pub use image::{archive, load_into as load};
pub use label::{RUN, RunId};
pub use leftovers::{Kind, Leftover};
pub use look::look;
pub use networks::networks;
pub use place::{Place, Settings};
pub use swarm::networks as swarm_networks;
