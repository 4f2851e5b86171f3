//! The table of comparisons: what is sent, by which parameters of tare's, and which ratio is to be reached.

use crate::traffic::{Kind, Place, Traffic};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The traffic's rate; more is better.
    Rate,
    /// CPU seconds of both sides per GB of payload; less is better.
    CpuPerGb,
}

/// What the ratio of tare's figure to a peer's has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// At least so much, against the best peer.
    AtLeast(f64),
    /// At most so much, against the best peer.
    AtMost(f64),
    /// Within this share of 1, against this peer: the two must agree.
    Agrees(f64, &'static str),
}

/// One ratio of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) measure: Measure,
    pub(crate) bound: Bound,
}

/// Parameters of tare's, by name.
pub(crate) type Values = &'static [(&'static str, &'static str)];

/// One comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// What it is, for people.
    pub(crate) title: &'static str,
    pub(crate) traffic: Traffic,
    /// Sizes of a write that peers are tried with for bulk; the best one counts.
    pub(crate) writes: &'static [u32],
    /// tare's workload and its parameters, beside those that follow from the traffic.
    pub(crate) workload: &'static str,
    pub(crate) parameters: Values,
    /// What tare is tried with beyond them, as peers are with their sizes; the best one counts.
    pub(crate) tries: &'static [Values],
    /// The share of datagrams that tare may lose: else the row is missed, whatever the rate.
    pub(crate) loss: Option<f64>,
    pub(crate) checks: &'static [Check],
}

/// The share of datagrams that tare may lose where a loss is allowed at all.
const HARDLY_ANY: Option<f64> = Some(0.001);

/// How far tools may differ that measure the same, and by the same sizes.
const ALIKE: f64 = 0.15;

const fn at_least(ratio: f64) -> Check {
    Check { measure: Measure::Rate, bound: Bound::AtLeast(ratio) }
}

const fn agrees(peer: &'static str) -> Check {
    Check { measure: Measure::Rate, bound: Bound::Agrees(ALIKE, peer) }
}

/// Sizes of writes of bulk, and of reads, that all tools are tried with.
const SIZES: &[u32] = &[128 << 10, 256 << 10, 512 << 10];
/// The same, for tare.
const TRIED: &[Values] = &[
    &[("size", "128K"), ("read", "128K")],
    &[("size", "256K"), ("read", "256K")],
    &[("size", "512K"), ("read", "512K")],
];

/// Nothing beyond the row's own parameters.
const AS_IT_IS: &[Values] = &[&[]];

/// Bulk by writes of 128 KiB.
const BULK: Traffic = Traffic::plain(Kind::TcpStream, 128 << 10);
/// Messages as short as the most demanding peer's can be (sockperf's header).
const TCP_RR: Traffic = Traffic::plain(Kind::TcpRr, 14);
const UDP_RR: Traffic = Traffic::plain(Kind::UdpRr, 14);
const CRR: Traffic = Traffic::plain(Kind::TcpCrr, 1);

/// Datagrams of this size.
const fn datagrams(size: u32) -> Traffic {
    Traffic::plain(Kind::UdpStream, size)
}

/// More than any machine sends: as fast as it can.
const FAST: (&str, &str) = ("rate", "1000gbit");
const SPIN: (&str, &str) = ("wait", "spin");
const GSO: (&str, &str) = ("gso", "true");
const DROP: (&str, &str) = ("receive", "drop");
/// Room for messages of 64 KiB each.
const ROOM: (&str, &str) = ("buffer", "64M");
const VMSPLICE: (&str, &str) = ("send", "vmsplice");

/// Every row, in the order of the results.
pub(crate) const ROWS: &[Row] = &[
    Row {
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
    Row {
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
    Row {
        name: "tcp-1-core",
        title: "TCP, 1 stream, copying",
        traffic: Traffic { place: Place::OneCore, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.3), Check { measure: Measure::CpuPerGb, bound: Bound::AtMost(0.75) }],
    },
    Row {
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
    Row {
        name: "tcp-1-zero-copy-drop",
        title: "TCP, 1 stream, zero-copy send, receiver drops",
        traffic: Traffic { zero_copy: true, dropped: true, place: Place::OneCore, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[VMSPLICE, DROP],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.0)],
    },
    Row {
        name: "tcp-8",
        title: "TCP, 8 streams, copying",
        traffic: Traffic { flows: 8, threads: 2, place: Place::BothOnBoth, ..BULK },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.15)],
    },
    Row {
        name: "tcp-8-zero-copy-drop",
        title: "TCP, 8 streams, zero-copy send, receiver drops",
        traffic: Traffic {
            flows: 8,
            threads: 2,
            zero_copy: true,
            dropped: true,
            place: Place::BothOnBoth,
            ..BULK
        },
        writes: SIZES,
        workload: "tcp-stream",
        parameters: &[VMSPLICE, DROP],
        tries: TRIED,
        loss: None,
        checks: &[at_least(1.0)],
    },
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
        name: "tcp-crr-2",
        title: "TCP connect, request, response, FIN close; 2 threads a side",
        traffic: Traffic { flows: 16, threads: 2, place: Place::BothOnBoth, ..CRR },
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
    use crate::peers::{PEERS, Peer};
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_of_its_own_and_something_to_reach() {
        let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            assert!(!row.checks.is_empty(), "{}", row.name);
            let bulk = row.traffic.kind == Kind::TcpStream;
            assert_eq!(row.writes.is_empty(), !bulk, "{}: peers of bulk have sizes", row.name);
        }
    }

    #[test]
    fn whoever_is_to_agree_is_a_peer() {
        let known: Vec<_> = PEERS.iter().map(|peer| Peer::name(*peer)).collect();
        for check in ROWS.iter().flat_map(|row| row.checks) {
            if let Bound::Agrees(_, peer) = check.bound {
                assert!(known.contains(&peer), "{peer}");
            }
        }
    }
}
