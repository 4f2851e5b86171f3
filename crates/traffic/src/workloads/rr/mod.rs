//! What request and response share, whatever carries them: one transaction outstanding on every flow, and the clock
//! around each.
//!
//! A latency ends when the whole response has been taken from the kernel, by the client's monotonic clock. In a closed
//! loop it begins just before the request is handed to the kernel: a network that stalls is asked less often
//! meanwhile, so tails are those of the transactions made, not of a schedule. In an open loop it begins when the
//! request was due by the schedule, whether or not it could be sent then, so that a stall is seen by all that it held
//! up (coordinated omission; G. Tene, How not to measure latency).

mod counts;
mod ledger;
mod requester;
mod responder;
mod stamp;
mod wire;

pub(super) use requester::Requesting;
pub(super) use responder::{Responder, report};
pub(super) use wire::{Taken, Wire, buffer};

use crate::wait::WAIT;
use crate::{Error, Kind, Parameter, lanes, parameters};
use tare_record::{Metric, Parameters};

/// What round trips are measured by, of whatever carries them.
pub(super) const METRICS: [Metric; 16] = [
    Metric::Transactions,
    Metric::LatencyP50,
    Metric::LatencyP90,
    Metric::LatencyP95,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::LatencyP9999,
    Metric::LatencyMax,
    Metric::OneWayP50,
    Metric::OneWayP99,
    Metric::OneWayP999,
    Metric::OneWayMax,
    Metric::CpuPerOp,
    Metric::CyclesPerOp,
    Metric::InstructionsPerOp,
    Metric::CpuBusy,
];

/// The parameters, with messages of up to so many bytes.
pub(super) const fn parameters(most: u64) -> [Parameter; 5] {
    let sizes = Kind::Bytes { least: 1, most };
    [
        Parameter {
            name: "request",
            summary: "bytes of a request; of 8 and more the time from client to server is told too, on one machine",
            kind: sizes,
            default: Some("1"),
        },
        Parameter {
            name: "response",
            summary: "bytes of a response",
            kind: sizes,
            default: Some("1"),
        },
        Parameter {
            name: "open_loop",
            summary: "transactions per second of each client, all its processes and flows together, due by a schedule; as many as can be unless given",
            kind: Kind::PerSecond,
            default: None,
        },
        WAIT,
        lanes::THREADS,
    ]
}

/// How long the two messages are, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) request: usize,
    pub(super) response: usize,
}

impl Sizes {
    pub(super) fn of(parameters: &Parameters) -> Result<Self, Error> {
        let size = |name| parameters::size(parameters, name);
        Ok(Self { request: size("request")?, response: size("response")? })
    }
}
