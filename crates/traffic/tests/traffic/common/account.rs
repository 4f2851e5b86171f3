//! What the devices of a pair have received, to the byte: TCP payload, headers, and the rest.

use super::counters::{Frames, counter, sent_again};
use super::filter::{Count, Filter};
use tare_dev::{Namespace, Pair, eventually};
use tare_traffic::Outcome;

/// Payload bytes of TCP that are not a trial's: of each connection its greeting and the answer to that.
const GREETING: u64 = 24 + 1;

/// The lengths that a TCP header may have, in words of 4 bytes.
const HEADERS: std::ops::RangeInclusive<u64> = 5..=15;

/// IPv4 header without options, and the Ethernet header before it, bytes.
const IP: u64 = 20;
const ETHERNET: u64 = 14;

/// Accounts of both ends of a pair over IPv4.
pub(crate) struct Account<'p> {
    pair: &'p Pair,
    ends: [End<'p>; 2],
}

/// What a pair has carried up to some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Payload bytes of TCP that came to either end, those that came twice included.
    payload: u64,
    /// Segments that were sent again.
    again: u64,
    /// Connections that were accepted.
    connections: u64,
}

struct End<'n> {
    namespace: &'n Namespace,
    before: Frames,
    filter: Filter<'n>,
}

impl<'p> Account<'p> {
    /// Opens the accounts.
    pub(crate) fn open(pair: &'p Pair) -> Self {
        let namespaces = [&pair.client, &pair.server];
        // Neighbour discovery comes at any time.
        namespaces.map(|one| one.run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1"));
        let ends = namespaces.map(|namespace| {
            let length = |words| format!("ip protocol tcp tcp doff {words} counter accept");
            let rest = "counter accept".to_owned();
            let rules: Vec<String> = HEADERS.map(length).chain([rest]).collect();
            let filter = Filter::new(namespace, "netdev", "ingress", &rules);
            let before = unfiltered(namespace, &filter);
            End { namespace, before, filter }
        });
        Self { pair, ends }
    }

    /// What has been carried up to now. The filter has seen every frame that the devices have received.
    pub(crate) fn carried(&self) -> Carried {
        let payload = self.ends.iter().map(End::payload).sum();
        let connections = [&self.pair.client, &self.pair.server]
            .map(|namespace| counter(namespace, "Tcp", "PassiveOpens"));
        Carried { payload, again: sent_again(self.pair), connections: connections.iter().sum() }
    }

    /// Frames that came to the server.
    pub(crate) fn frames_to_server(&self) -> Frames {
        total(&self.ends[1].filter.counts())
    }
}

impl End<'_> {
    fn payload(&self) -> u64 {
        let counts = eventually("the filter has seen what the device has received", || {
            let counts = self.filter.counts();
            let since = Frames::received_by(self.namespace, "eth0").since(self.before);
            let all = total(&counts);
            if all == since { Ok(counts) } else { Err(format!("{all:?} of {since:?}")) }
        });
        let payload =
            |(words, count): (u64, &Count)| count.bytes - count.packets * (IP + 4 * words);
        HEADERS.zip(&counts).map(payload).sum()
    }
}

/// Frames that the device received before its filter was there. A last word of IPv6 comes when it will: it is in both
/// counts, and only their difference is asked to be the same twice.
fn unfiltered(namespace: &Namespace, filter: &Filter) -> Frames {
    let mut last = None;
    eventually("device and filter count alike", || {
        let before = Frames::received_by(namespace, "eth0");
        let filtered = total(&filter.counts());
        let still = before == Frames::received_by(namespace, "eth0");
        let difference = still.then(|| before.since(filtered));
        let again = difference.is_some() && difference == last;
        last = difference;
        difference.filter(|_| again)
    })
}

/// All frames, as a device counts them.
fn total(counts: &[Count]) -> Frames {
    counts.iter().fold(Frames::default(), |sum, one| Frames {
        packets: sum.packets + one.packets,
        bytes: sum.bytes + one.bytes + one.packets * ETHERNET,
    })
}

impl Carried {
    /// The trial since then received what the devices did: all payload but greetings, `more` bytes beside them, and what
    /// came a second time, which is no more than was sent again.
    pub(crate) fn agrees(before: Self, after: Self, outcome: &Outcome, more: u64) {
        const SEGMENT: u64 = 1448;
        let greetings = (after.connections - before.connections) * GREETING + more;
        let payload = after.payload - before.payload - greetings;
        let (ends, again) = (outcome.ends, after.again - before.again);
        assert_eq!(ends.sent, ends.received);
        let twice = payload.checked_sub(ends.received);
        assert!(
            twice.is_some_and(|twice| twice <= again * SEGMENT),
            "{payload} bytes came, of which {} are told; {again} segments were sent again",
            ends.received
        );
    }
}
