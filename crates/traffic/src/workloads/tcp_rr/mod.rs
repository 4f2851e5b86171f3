//! `tcp-rr`: request and response over TCP, a closed loop with one transaction outstanding on every flow.
//!
//! A latency is from just before the request is handed to the kernel until the whole response has been taken from
//! it, by the client's monotonic clock. The loop is closed: a network that stalls is asked less often meanwhile, so
//! tails are those of the transactions made, not of a schedule (coordinated omission; G. Tene).

mod requester;
mod responder;

use crate::drive::Wish;
use crate::lanes;
use crate::tcp::Options;
use crate::{About, Client, Error, Kind, Parameter, Server, Task, Workload, parameters};
use requester::Requesting;
use responder::Responding;
use std::io::{self, Read};
use std::net;
use tare_record::{Metric, Parameters};

/// The workload.
#[derive(Debug)]
pub(crate) struct TcpRr;

impl Workload for TcpRr {
    fn about(&self) -> About {
        About {
            name: "tcp-rr",
            summary: "requests and responses over TCP, one outstanding per flow; their rate and latency",
            stands_for: "netperf TCP_RR, sockperf ping-pong",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Transactions,
            Metric::LatencyP50,
            Metric::LatencyP90,
            Metric::LatencyP95,
            Metric::LatencyP99,
            Metric::LatencyP999,
            Metric::LatencyP9999,
            Metric::LatencyMax,
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
                name: "wait",
                summary: "how a thread waits for the other end",
                kind: Kind::Choice(&["block"]),
                default: Some("block"),
            },
            lanes::THREADS,
        ]
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(Responding::start(task)?))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(Requesting::connect(task)?))
    }
}

/// Without TCP_NODELAY a small request would wait for the acknowledgement of the one before (RFC 896).
fn no_delay() -> Options {
    Options { no_delay: true, ..Options::default() }
}

/// How long the two messages are, bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    request: usize,
    response: usize,
}

impl Sizes {
    fn of(parameters: &Parameters) -> Result<Self, Error> {
        let size = |name| parameters::size(parameters, name);
        Ok(Self { request: size("request")?, response: size("response")? })
    }
}

/// What a flow is at; the numbers are bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Sending(usize),
    Receiving(usize),
    /// The client has said that no more requests come.
    Closing,
    Over,
}

impl Stage {
    fn wish(self) -> Wish {
        match self {
            Self::Sending(_) => Wish::Write,
            Self::Receiving(_) | Self::Closing => Wish::Read,
            Self::Over => Wish::Over,
        }
    }
}

/// Reads no more than what is left of a message.
fn receive(mut stream: &net::TcpStream, buffer: &mut [u8], left: usize) -> io::Result<usize> {
    let most = left.min(buffer.len());
    stream.read(&mut buffer[..most])
}

/// Memory for messages of this size; a longer one is read piece by piece.
fn buffer(size: usize) -> Box<[u8]> {
    const MOST: usize = 256 << 10;
    vec![1; size.min(MOST)].into_boxed_slice()
}
