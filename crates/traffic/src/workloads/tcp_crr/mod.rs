//! `tcp-crr`: connect, request, response, close, again and again.
//!
//! The server closes first, and its FIN goes out with the last of its response, as from a web server without
//! keep-alive: the connection in TIME_WAIT is the server's, and the client's port is free again at once. With `close`
//! `rst` the client answers with a reset, and no connection stays in TIME_WAIT.
//!
//! Every flow is a control connection, which greets; it announces a trial, and its end ends the trial. The measured
//! connections begin with the same greeting, 28 bytes in one segment with the request, so that a stranger's connection
//! during the trial is not served. It is not acknowledged, which would take another round trip.

mod client;
mod client_worker;
mod netstat;
mod server;

use crate::tcp::CONGESTION;
use crate::{
    Client, Error, Parameter, ParameterKind, Server, TrialTask, Workload, WorkloadInfo, parameters,
    workers,
};
use client::CrrClient;
use server::CrrServer;
use std::io;
use tare_record::{Metric, Parameters, SliceKind};

/// Workload `tcp-crr`.
#[derive(Debug)]
pub(crate) struct TcpCrr;

impl Workload for TcpCrr {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "tcp-crr",
            summary: "connections opened, used for one request and response, and closed; their rate and latency",
            stands_for: "netperf TCP_CRR, neper tcp_crr",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fCRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Connections,
            Metric::LatencyP50,
            Metric::LatencyP90,
            Metric::LatencyP95,
            Metric::LatencyP99,
            Metric::LatencyP999,
            Metric::LatencyP9999,
            Metric::LatencyMax,
            Metric::ConnectP50,
            Metric::ConnectP99,
            Metric::ConnectP999,
            Metric::ConnectMax,
            Metric::CpuPerOp,
            Metric::CyclesPerOp,
            Metric::InstructionsPerOp,
            Metric::CpuBusy,
            Metric::SoftirqCore,
        ]
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        const SIZES: ParameterKind = ParameterKind::Bytes { least: 1, most: 16 << 20 };
        &[
            Parameter {
                name: "request",
                summary: "bytes of a request",
                kind: SIZES,
                default: Some("1"),
            },
            Parameter {
                name: "response",
                summary: "bytes of a response",
                kind: SIZES,
                default: Some("1"),
            },
            Parameter {
                name: "slots",
                summary: "connections in progress at once in each thread of the client",
                kind: ParameterKind::Count { least: 1, most: 1024 },
                default: Some("8"),
            },
            Parameter {
                name: "close",
                summary: "closing of a connection by the client: an ordinary end, or a reset that leaves nothing in TIME_WAIT",
                kind: ParameterKind::Choice(&["fin", "rst"]),
                default: Some("fin"),
            },
            CONGESTION,
            workers::THREADS,
        ]
    }

    /// Returns the number of connections in progress of a client's thread.
    fn carriers_per_flow(&self, parameters: &Parameters) -> u64 {
        parameters::optional_size(parameters, "slots").unwrap_or_default() as u64
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Messages)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(CrrServer::start(task)?))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(CrrClient::connect(task)?))
    }
}

/// Parameters of the measured connections, for both sides.
#[derive(Clone, Copy, Debug)]
struct CrrParameters {
    request: usize,
    response: usize,
    slots: usize,
    close: CloseMode,
}

/// Way in which the client closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CloseMode {
    Fin,
    Rst,
}

impl CrrParameters {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let size = |name| parameters::size(parameters, name);
        let close = match parameters::word(parameters, "close") {
            Some("rst") => CloseMode::Rst,
            _ => CloseMode::Fin,
        };
        Ok(Self {
            request: size("request")?,
            response: size("response")?,
            slots: size("slots")?,
            close,
        })
    }
}

/// Returns true if a call could do nothing now.
fn is_blocked(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::AGAIN | Errno::INTR)
}

fn closed_early() -> io::Error {
    io::Error::other("the server closed a connection before its response")
}
