//! Traffic generation and reception: workloads, the agent that runs them inside a container, its line protocol, and the
//! session by which a runner drives agents.
//!
//! A [`Workload`] has two sides, a [`Server`] and a [`Client`], which work in any process. [`run_agent`] is the process
//! that an [`AgentSession`] starts in every container of a topology and drives by the lines of [`protocol`]; outside
//! the lab, [`probe`] joins the two sides over a network that tare did not build. All work runs on plain threads: no
//! asynchronous runtime and no allocation is between a generator and the kernel. Figures are those of the receiver, by
//! its own monotonic clock; both ends count, and their counts must agree.
#![deny(unsafe_code)]

mod agent;
mod built_in;
mod byte_meter;
mod clock;
mod cpu;
mod error;
mod event_loop;
mod flow_group;
#[cfg(fuzzing)]
pub mod fuzzing;
mod latency;
mod load;
mod merge;
mod outcome;
mod page_buffer;
mod parameters;
mod payload;
mod placement;
mod poller;
pub mod probe;
pub mod protocol;
mod registry;
mod session;
mod slices;
mod stall;
mod sys;
mod tcp;
mod tools;
mod udp;
mod wait_mode;
mod workers;
mod workload;
mod workloads;

pub use agent::run_agent;
pub use built_in::built_in_workloads;
pub use error::Error;
pub use load::OfferedLoad;
pub use outcome::TrialOutcome;
pub use parameters::{Parameter, ParameterKind, SYSTEM_CONGESTION};
pub use registry::WorkloadRegistry;
pub use session::{AgentSession, TrialJob};
pub use tools::CachedDataset;
pub use workload::{
    Client, SentBytes, Server, SideReport, TrialTask, Workload, WorkloadInfo, WorkloadRequest,
};
