//! The traffic: generators and receivers, the agent that runs them inside a container, its line protocol, and the
//! session by which a runner drives agents.
//!
//! A [`Workload`] has two sides, a [`Server`] and a [`Client`], which work in any process; [`agent`] is the process
//! that a [`Session`] starts in every container of a topology and drives by the lines of [`protocol`]; outside the lab,
//! [`probe`] joins the two sides over a network that is not tare's. Everything is plain threads: nothing asynchronous,
//! and nothing allocated, stands between a generator and the kernel.
//! Figures are the receiver's, from its own monotonic clock; both ends count, and must agree.
#![deny(unsafe_code)]

mod agent;
mod clock;
mod cpu;
mod drive;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod in_page;
mod interval;
mod lanes;
mod latency;
mod load;
mod merge;
mod parameters;
mod payload;
mod placement;
pub mod probe;
pub mod protocol;
mod ready;
mod registry;
mod session;
mod stall;
mod sys;
mod tcp;
mod tools;
mod udp;
mod wait;
mod workload;
mod workloads;

pub use agent::agent;
pub use error::Error;
pub use load::Load;
pub use parameters::{Kind, Parameter};
pub use registry::{Registry, workloads};
pub use session::{Job, Outcome, Session};
pub use tools::Kept;
pub use workload::{About, Asked, Client, Report, Server, Task, Workload};
