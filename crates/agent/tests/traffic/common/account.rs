//! Byte-exact accounts of the frames that the devices of a pair have received: TCP payload, headers, and the rest.

use super::counters::{Frames, counter, sent_again};
use super::filter::{NftFilter, RuleCount};
use tare_dev::{NamespacePair, TestNamespace, eventually};
use tare_traffic::TrialOutcome;

/// TCP payload bytes of each connection that are not a trial's: its greeting and the answer.
const GREETING: u64 = 28 + 1;

/// Possible lengths of a TCP header, in words of 4 bytes.
const HEADERS: std::ops::RangeInclusive<u64> = 5..=15;

/// IPv4 header without options (`IP`), and Ethernet header (`ETHERNET`), bytes.
const IP: u64 = 20;
const ETHERNET: u64 = 14;

/// Accounts of both ends of a pair over IPv4.
pub(crate) struct PairAccounts<'p> {
    pair: &'p NamespacePair,
    ends: [AccountEnd<'p>; 2],
}

/// Data that a pair has carried up to some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarriedPayload {
    /// TCP payload bytes received by either end, including repeated ones.
    payload: u64,
    /// Retransmitted segments.
    again: u64,
    /// Accepted connections.
    connections: u64,
}

struct AccountEnd<'n> {
    namespace: &'n TestNamespace,
    before: Frames,
    filter: NftFilter<'n>,
}

impl<'p> PairAccounts<'p> {
    /// Opens the accounts of both ends.
    pub(crate) fn open(pair: &'p NamespacePair) -> Self {
        let namespaces = [&pair.client, &pair.server];
        // Neighbour discovery may send at any time.
        for namespace in namespaces {
            namespace.run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1");
        }
        let ends = namespaces.map(|namespace| {
            let length = |words| format!("ip protocol tcp tcp doff {words} counter accept");
            let rest = "counter accept".to_owned();
            let rules: Vec<String> = HEADERS.map(length).chain([rest]).collect();
            let filter = NftFilter::new(namespace, "netdev", "ingress", &rules);
            let before = unfiltered(namespace, &filter);
            AccountEnd { namespace, before, filter }
        });
        Self { pair, ends }
    }

    /// Returns the data carried so far, after the filter has seen every frame that the devices have received.
    pub(crate) fn carried(&self) -> CarriedPayload {
        let payload = self.ends.iter().map(AccountEnd::payload).sum();
        let connections = [&self.pair.client, &self.pair.server]
            .map(|namespace| counter(namespace, "Tcp", "PassiveOpens"));
        CarriedPayload {
            payload,
            again: sent_again(self.pair),
            connections: connections.iter().sum(),
        }
    }

    /// Returns the frames received by the server.
    pub(crate) fn frames_to_server(&self) -> Frames {
        total(&self.ends[1].filter.counts())
    }
}

impl AccountEnd<'_> {
    fn payload(&self) -> u64 {
        let counts = eventually("the filter has seen what the device has received", || {
            let counts = self.filter.counts();
            let since = Frames::received_by(self.namespace, "eth0").since(self.before);
            let all = total(&counts);
            if all == since { Ok(counts) } else { Err(format!("{all:?} of {since:?}")) }
        });
        let payload =
            |(words, count): (u64, &RuleCount)| count.bytes - count.packets * (IP + 4 * words);
        HEADERS.zip(&counts).map(payload).sum()
    }
}

/// Returns the frames that the device received before its filter was installed. A late IPv6 frame may come at any time:
/// it is in both counts, and only their difference must be the same twice.
fn unfiltered(namespace: &TestNamespace, filter: &NftFilter<'_>) -> Frames {
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

/// Adds up all frames, in the device's units.
fn total(counts: &[RuleCount]) -> Frames {
    counts.iter().fold(Frames::default(), |sum, one| Frames {
        packets: sum.packets + one.packets,
        bytes: sum.bytes + one.bytes + one.packets * ETHERNET,
    })
}

impl CarriedPayload {
    /// Asserts that the devices received what the trial's outcome says: all payload but greetings, `more` additional
    /// bytes, and repeated bytes, which are no more than were retransmitted.
    pub(crate) fn assert_agrees(before: Self, after: Self, outcome: &TrialOutcome, more: u64) {
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
