//! Table of comparisons: the traffic, tare's parameters, and the ratio to reach.

use crate::traffic::{CorePlacement, Traffic, TrafficKind};

/// Compared figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedFigure {
    /// Rate of the traffic; more is better.
    Rate,
    /// CPU seconds of both sides per GB of payload; less is better.
    CpuPerGb,
}

/// Required ratio of tare's figure to a peer's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RatioBound {
    /// At least this ratio to the best peer.
    AtLeast(f64),
    /// At most this ratio to the best peer.
    AtMost(f64),
    /// Within this share of 1, compared with the named peer: the two must agree.
    Agrees(f64, &'static str),
}

/// Check of one ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RatioCheck {
    pub(crate) measure: ComparedFigure,
    pub(crate) bound: RatioBound,
}

/// Parameters of tare, by name.
pub(crate) type ParameterValues = &'static [(&'static str, &'static str)];

/// Comparison of tare with its peers in one kind of traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparisonRow {
    pub(crate) name: &'static str,
    /// Description for people.
    pub(crate) title: &'static str,
    pub(crate) traffic: Traffic,
    /// Write sizes that peers are tried with for bulk, bytes; the best one counts.
    pub(crate) writes: &'static [u32],
    /// Workload of tare, and its parameters in addition to those that follow from the traffic.
    pub(crate) workload: &'static str,
    pub(crate) parameters: ParameterValues,
    /// Further parameters that tare is tried with, like the sizes of peers; the best try counts.
    pub(crate) tries: &'static [ParameterValues],
    /// Share of datagrams that tare may lose. With more loss the row is missed, whatever the rate.
    pub(crate) loss: Option<f64>,
    pub(crate) checks: &'static [RatioCheck],
}

/// Allowed loss, in rows that allow any.
const HARDLY_ANY: Option<f64> = Some(0.001);

/// Allowed difference between tools that measure the same with the same sizes.
const ALIKE: f64 = 0.15;

const fn at_least(ratio: f64) -> RatioCheck {
    RatioCheck { measure: ComparedFigure::Rate, bound: RatioBound::AtLeast(ratio) }
}

const fn agrees(peer: &'static str) -> RatioCheck {
    RatioCheck { measure: ComparedFigure::Rate, bound: RatioBound::Agrees(ALIKE, peer) }
}

/// Sizes of writes and reads for bulk that all tools are tried with.
const SIZES: &[u32] = &[128 << 10, 256 << 10, 512 << 10];
/// Sizes for bulk as parameters of tare.
const TRIED: &[ParameterValues] = &[
    &[("size", "128K"), ("read", "128K")],
    &[("size", "256K"), ("read", "256K")],
    &[("size", "512K"), ("read", "512K")],
];

/// Single try without further parameters.
const AS_IT_IS: &[ParameterValues] = &[&[]];

/// Bulk with writes of 128 KiB.
const BULK: Traffic = Traffic::plain(TrafficKind::TcpStream, 128 << 10);
/// Messages as short as sockperf, the most demanding peer, allows: the size of its header.
const TCP_RR: Traffic = Traffic::plain(TrafficKind::TcpRr, 14);
const UDP_RR: Traffic = Traffic::plain(TrafficKind::UdpRr, 14);
const CRR: Traffic = Traffic::plain(TrafficKind::TcpCrr, 1);

/// Makes the traffic of datagrams of this size.
const fn datagrams(size: u32) -> Traffic {
    Traffic::plain(TrafficKind::UdpStream, size)
}

/// Rate above that of any machine: tare sends as fast as it can.
const FAST: (&str, &str) = ("rate", "1000gbit");
const SPIN: (&str, &str) = ("wait", "spin");
const GSO: (&str, &str) = ("gso", "true");
const DROP: (&str, &str) = ("receive", "drop");
/// Socket buffer for messages of 64 KiB each.
const ROOM: (&str, &str) = ("buffer", "64M");
const VMSPLICE: (&str, &str) = ("send", "vmsplice");

/// Rows, in the order of the results.
pub(crate) const ROWS: &[ComparisonRow] = &[
    ComparisonRow {
        name: "tcp-1",
        title: "TCP, 1 stream, copying",
        traffic: BULK,
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.0)],
    },
    ComparisonRow {
        name: "tcp-1-alike",
        title: "TCP, 1 stream, copying, the same writes and reads",
        traffic: BULK,
        writes: &[128 << 10],
        workload: "tcp-stream",
        parameters: &[("read", "128K")],
        tries: AS_IT_IS,
        loss: None,
        checks: &[agrees("iperf3")],
    },
    ComparisonRow {
        name: "tcp-1-core",
        title: "TCP, 1 stream, copying",
        traffic: Traffic { place: CorePlacement::OneCore, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[],
        tries: TRIED,
        loss: None,
        checks: &[
            at_least(1.3),
            RatioCheck { measure: ComparedFigure::CpuPerGb, bound: RatioBound::AtMost(0.75) },
        ],
    },
    ComparisonRow {
        name: "tcp-1-zero-copy",
        title: "TCP, 1 stream, zero-copy send, receiver copies",
        traffic: Traffic { zero_copy: true, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[VMSPLICE],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.1)],
    },
    ComparisonRow {
        name: "tcp-1-zero-copy-drop",
        title: "TCP, 1 stream, zero-copy send, receiver drops",
        traffic: Traffic { zero_copy: true, dropped: true, place: CorePlacement::OneCore, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[VMSPLICE, DROP],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.0)],
    },
    ComparisonRow {
        name: "tcp-8",
        title: "TCP, 8 streams, copying",
        traffic: Traffic { flows: 8, threads: 2, place: CorePlacement::BothOnBoth, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.15)],
    },
    ComparisonRow {
        name: "tcp-8-zero-copy-drop",
        title: "TCP, 8 streams, zero-copy send, receiver drops",
        traffic: Traffic {
            flows: 8,
            threads: 2,
            zero_copy: true,
            dropped: true,
            place: CorePlacement::BothOnBoth,
            ..BULK
        },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[VMSPLICE, DROP],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.0)],
    },
    ComparisonRow {
        name: "udp-64",
        title: "UDP, 64 B, 1 flow, receiver waits",
        traffic: datagrams(64),
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.05)],
    },
    ComparisonRow {
        name: "udp-64-spin",
        title: "UDP, 64 B, 1 flow, receiver spins (peers wait)",
        traffic: datagrams(64),
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST, SPIN],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.3)],
    },
    ComparisonRow {
        name: "udp-1400",
        title: "UDP, 1400 B, 1 flow, receiver waits",
        traffic: datagrams(1_400),
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.05)],
    },
    ComparisonRow {
        name: "udp-1400-spin",
        title: "UDP, 1400 B, 1 flow, receiver spins (peers wait)",
        traffic: datagrams(1_400),
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST, SPIN],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.3)],
    },
    ComparisonRow {
        name: "udp-gso-64",
        title: "UDP GSO and GRO, 64 B, receiver copies",
        traffic: Traffic { gso: true, ..datagrams(64) },
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST, GSO, ROOM],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.0)],
    },
    ComparisonRow {
        name: "udp-gso-1400",
        title: "UDP GSO and GRO, 1400 B, receiver copies",
        traffic: Traffic { gso: true, ..datagrams(1_400) },
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST, GSO, ROOM],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.0)],
    },
    ComparisonRow {
        name: "udp-gso-1400-drop",
        title: "UDP GSO and GRO, 1400 B, receiver drops (peers copy)",
        traffic: Traffic { gso: true, ..datagrams(1_400) },
        writes: &[],
        workload: "udp-rate",
        parameters: &[FAST, GSO, ROOM, DROP],
        tries: AS_IT_IS,
        loss: HARDLY_ANY,
        checks: &[at_least(1.5)],
    },
    ComparisonRow {
        name: "tcp-rr",
        title: "TCP round trips, waiting",
        traffic: TCP_RR,
        writes: &[],
        workload: "tcp-rr",
        parameters: &[],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.0), agrees("sockperf")],
    },
    ComparisonRow {
        name: "udp-rr",
        title: "UDP round trips, waiting",
        traffic: UDP_RR,
        writes: &[],
        workload: "udp-rr",
        parameters: &[],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.05), agrees("sockperf")],
    },
    ComparisonRow {
        name: "tcp-rr-spin",
        title: "TCP round trips, spinning",
        traffic: Traffic { spinning: true, ..TCP_RR },
        writes: &[],
        workload: "tcp-rr",
        parameters: &[SPIN],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.6)],
    },
    ComparisonRow {
        name: "udp-rr-spin",
        title: "UDP round trips, spinning",
        traffic: Traffic { spinning: true, ..UDP_RR },
        writes: &[],
        workload: "udp-rr",
        parameters: &[SPIN],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(2.0)],
    },
    ComparisonRow {
        name: "tcp-rr-64",
        title: "TCP round trips, 64 flows (tare spins, peers have no such mode)",
        traffic: Traffic { flows: 64, ..TCP_RR },
        writes: &[],
        workload: "tcp-rr",
        parameters: &[SPIN],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.35)],
    },
    ComparisonRow {
        name: "udp-rr-64",
        title: "UDP round trips, 64 flows (tare spins, peers have no such mode)",
        traffic: Traffic { flows: 64, ..UDP_RR },
        writes: &[],
        workload: "udp-rr",
        parameters: &[SPIN],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.9)],
    },
    ComparisonRow {
        name: "tcp-crr",
        title: "TCP connect, request, response, FIN close; 1 thread a side",
        traffic: CRR,
        writes: &[],
        workload: "tcp-crr",
        parameters: &[("close", "fin"), ("slots", "16")],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.1)],
    },
    ComparisonRow {
        name: "tcp-crr-2",
        title: "TCP connect, request, response, FIN close; 2 threads a side",
        traffic: Traffic { flows: 16, threads: 2, place: CorePlacement::BothOnBoth, ..CRR },
        writes: &[],
        workload: "tcp-crr",
        parameters: &[("close", "fin"), ("slots", "8")],
        tries: AS_IT_IS,
        loss: None,
        checks: &[at_least(1.0)],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{PEERS, PeerTool};
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_of_its_own_and_something_to_reach() {
        let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            assert!(!row.checks.is_empty(), "{}", row.name);
            let bulk = row.traffic.kind == TrafficKind::TcpStream;
            assert_eq!(row.writes.is_empty(), !bulk, "{}: peers of bulk have sizes", row.name);
        }
    }

    #[test]
    fn whoever_is_to_agree_is_a_peer() {
        let known: Vec<_> = PEERS.iter().map(|peer| PeerTool::name(*peer)).collect();
        for check in ROWS.iter().flat_map(|row| row.checks) {
            if let RatioBound::Agrees(_, peer) = check.bound {
                assert!(known.contains(&peer), "{peer}");
            }
        }
    }
}
