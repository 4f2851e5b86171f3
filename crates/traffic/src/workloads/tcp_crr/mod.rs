//! `tcp-crr`: connect, request, response, close, again and again.
//!
//! The server closes first, and its FIN goes out with the last of its response, as a web server's does that keeps no
//! connections: what stays in TIME_WAIT is the server's, and the client's port is free again at once. With `close`
//! `rst` the client answers with a reset, and nothing stays.
//!
//! Every flow is a control connection, which greets; it says that a trial is on, and its end that it is over. The
//! measured connections carry nothing but requests and responses: a stranger's that comes meanwhile is served as they
//! are, and shows as a disagreement of the two ends.

mod calling;
mod netstat;
mod serving;

use crate::{About, Client, Error, Kind, Parameter, Server, Task, Workload, lanes, parameters};
use calling::Calling;
use serving::Answering;
use std::io;
use tare_record::{Metric, Parameters};

/// The workload.
#[derive(Debug)]
pub(crate) struct TcpCrr;

impl Workload for TcpCrr {
    fn about(&self) -> About {
        About {
            name: "tcp-crr",
            summary: "connections made, used for one request and response, and closed; their rate and latency",
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
        ]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        const SIZES: Kind = Kind::Bytes { least: 1, most: 16 << 20 };
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
                kind: Kind::Count { least: 1, most: 1024 },
                default: Some("8"),
            },
            Parameter {
                name: "close",
                summary: "how the client closes: an ordinary end, or a reset that leaves nothing in TIME_WAIT",
                kind: Kind::Choice(&["fin", "rst"]),
                default: Some("fin"),
            },
            lanes::THREADS,
        ]
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(Answering::start(task)?))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(Calling::connect(task)?))
    }
}

/// What both sides are told of the measured connections.
#[derive(Clone, Copy, Debug)]
struct Plan {
    request: usize,
    response: usize,
    slots: usize,
    close: Close,
}

/// How the client closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    Fin,
    Rst,
}

impl Plan {
    fn of(parameters: &Parameters) -> Result<Self, Error> {
        let size = |name| parameters::size(parameters, name);
        let close = match parameters::word(parameters, "close") {
            Some("rst") => Close::Rst,
            _ => Close::Fin,
        };
        Ok(Self {
            request: size("request")?,
            response: size("response")?,
            slots: size("slots")?,
            close,
        })
    }
}

/// Whether a call could do nothing now.
fn is_blocked(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::AGAIN | Errno::INTR)
}

fn ended_early() -> io::Error {
    io::Error::other("the server closed a connection before its response")
}
