//! Traffic generation and reception: the workloads.
//!
//! A [`Workload`] has two sides, a [`Server`] and a [`Client`], which work in any process: an agent in a container
//! (`tare-agent`), or a listener and a probe (`tare-probe`). All work runs on plain threads: no asynchronous runtime
//! and no allocation is between a generator and the kernel. Figures are those of the receiver, by its own monotonic
//! clock; both ends count, and their counts must agree.
#![deny(unsafe_code)]

mod byte_meter;
pub mod clock;
mod cpu;
mod domain_name;
mod error;
mod event_loop;
mod flow_group;
#[cfg(fuzzing)]
pub mod fuzzing;
mod job;
mod latency;
mod load;
mod merge;
mod outcome;
mod page_buffer;
pub mod parameters;
mod payload;
pub mod placement;
mod poller;
mod ready_queue;
mod registry;
mod server_resources;
mod slices;
mod stall;
mod sys;
mod tcp;
#[cfg(test)]
mod test_data;
mod udp;
mod wait_mode;
mod workers;
mod workload;
mod workloads;

pub use error::Error;
pub use job::{TrialJob, TrialTask};
pub use load::OfferedLoad;
pub use merge::merge_reports;
pub use outcome::TrialOutcome;
pub use parameters::{Parameter, ParameterKind, SYSTEM_CONGESTION};
pub use registry::WorkloadRegistry;
pub use server_resources::ServerResources;
pub use sys::thread_cpu_usage;
pub use tcp::default_congestion;
pub use wait_mode::{sleep_until, sleep_until_readable};
pub use workers::THREADS;
pub use workload::{
    Client, ExistingServer, SentBytes, Server, SideReport, Workload, WorkloadInfo, WorkloadRequest,
};
pub use workloads::workloads;
