//! External tools as workloads: databases, and the established programs for measuring networks.
//!
//! A tool consists of two external programs. The server's agent starts one and waits until it listens. The client's
//! agent runs the other and reads its output into figures, which are kept as the tool stated them: a user who knows the
//! tool finds the figures that it would have printed. Only agents start external programs, and the programs die with
//! them.
#![deny(unsafe_code)]

mod adapters;
mod child_process;
mod client;
mod command;
mod datasets;
mod default_congestion;
#[cfg(fuzzing)]
pub mod fuzzing;
mod program;
mod report;
mod request;
mod server;
mod slice_reports;
mod socket_table;
mod sys;
#[cfg(any(test, fuzzing))]
mod test_data;
mod tool;

pub use datasets::CachedDataset;

use adapters::{
    Fortio, Iperf, Iperf3, Mysql, Netperf, NetperfTest, Postgres, Qperf, Redis, Sockperf, Wrk,
};
use tare_traffic::Workload;
use tool::ToolWorkload;

/// Returns a workload for every external tool.
#[must_use]
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(ToolWorkload(Mysql)),
        Box::new(ToolWorkload(Postgres)),
        Box::new(ToolWorkload(Redis)),
        Box::new(ToolWorkload(Iperf)),
        Box::new(ToolWorkload(Iperf3 { udp: false })),
        Box::new(ToolWorkload(Iperf3 { udp: true })),
        Box::new(ToolWorkload(Netperf(NetperfTest::Stream))),
        Box::new(ToolWorkload(Netperf(NetperfTest::Rr))),
        Box::new(ToolWorkload(Netperf(NetperfTest::Crr))),
        Box::new(ToolWorkload(Qperf { latency: false })),
        Box::new(ToolWorkload(Qperf { latency: true })),
        Box::new(ToolWorkload(Sockperf)),
        Box::new(ToolWorkload(Wrk)),
        Box::new(ToolWorkload(Fortio)),
    ]
}
