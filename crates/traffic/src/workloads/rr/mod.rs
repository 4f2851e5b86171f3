//! Request/response over any transport: one transaction outstanding on every flow, and the latency of each.
//!
//! A latency ends when the whole response has been taken from the kernel, by the client's monotonic clock. In a closed
//! loop it begins just before the request is handed to the kernel: a network that stalls gets fewer requests during the
//! stall, so tails are those of the transactions made, not of a schedule. In an open loop it begins when the request
//! was due by the schedule, whether or not it could be sent then, so that a stall shows in all transactions that it
//! delayed (coordinated omission; G. Tene, How not to measure latency).

mod client;
mod counts;
mod requester;
mod requester_log;
mod responder;
mod server;
mod stamp;
mod transport;

pub(super) use client::RrClient;
pub(super) use responder::Responder;
use responder::merge_responders;
pub(super) use server::RrServer;
pub(super) use transport::{
    DATAGRAM_LOST_AFTER, MessageTransport, ReceiveProgress, is_lost, message_buffer,
};

use crate::wait_mode::WAIT;
use crate::{Error, Parameter, ParameterKind, WorkloadRequest, parameters, workers};
use tare_record::{Metric, Parameters};

/// Metrics of round trips over any transport.
pub(super) const METRICS: [Metric; 17] = [
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
    Metric::SoftirqCore,
];

/// Name of the parameter for the number of transactions of a trial.
pub(super) const COUNT: &str = "count";

/// Refuses a number of transactions that several flows or processes would have to share: each counts its own.
pub(super) fn validate(asked: &WorkloadRequest<'_>) -> Result<(), Error> {
    let counted = asked.parameters.contains_key(COUNT);
    if counted && (asked.shape.flows > 1 || asked.shape.processes > 1) {
        return Err(Error::Job(
            "a number of transactions ends a trial of one flow in one process only: use --flows 1 --processes 1, or no --count"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Parameter for the rate of an open loop.
pub(super) const OPEN_LOOP_RATE: Parameter = Parameter {
    name: "open_loop",
    summary: "transactions per second of each client, all its processes and flows together, due by a schedule; as many as possible unless given",
    kind: ParameterKind::PerSecond,
    default: None,
};

/// Parameter for the number of transactions of a trial.
pub(super) const TRANSACTION_COUNT: Parameter = Parameter {
    name: COUNT,
    summary: "transactions after which a trial in one piece ends; its duration is then the longest time",
    kind: ParameterKind::Count { least: 1, most: 1_000_000_000_000 },
    default: None,
};

/// Returns the parameters, for messages of up to `most` bytes.
pub(super) const fn parameters(most: u64) -> [Parameter; 6] {
    let sizes = ParameterKind::Bytes { least: 1, most };
    [
        Parameter {
            name: "request",
            summary: "bytes of a request; from 8 bytes, the time from client to server is measured too on one machine",
            kind: sizes,
            default: Some("1"),
        },
        Parameter {
            name: "response",
            summary: "bytes of a response",
            kind: sizes,
            default: Some("1"),
        },
        OPEN_LOOP_RATE,
        TRANSACTION_COUNT,
        WAIT,
        workers::THREADS,
    ]
}

/// Sizes of the two messages, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageSizes {
    pub(super) request: usize,
    pub(super) response: usize,
}

impl MessageSizes {
    pub(super) fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let size = |name| parameters::size(parameters, name);
        Ok(Self { request: size("request")?, response: size("response")? })
    }
}
