//! Request and response over UDP, counted on the wire: each request that was sent, and its fate.

use crate::common::filter::NftFilter;
use crate::common::{NEVER, assert_sound, job, open_session, pair_topology};
use tare_dev::{NamespacePair, TestNamespace};
use tare_record::{LatencyHistogram, Nanos};
use tare_traffic::TrialOutcome;

/// Rule that lets handshake datagrams pass, which are longer than any request here; matches of requests and responses
/// by port.
const INTRODUCTION: &str = "udp dport 7001 udp length 28 accept";
const REQUEST: &str = "udp dport 7001";
const RESPONSE: &str = "udp sport 7001 counter accept";

/// Counters of requests and of responses that leave a namespace in which both sides run.
pub(crate) struct MessageCounters<'n>(NftFilter<'n>);

impl<'n> MessageCounters<'n> {
    /// Creates counters for requests of `request` bytes.
    pub(crate) fn for_requests(namespace: &'n TestNamespace, request: u32) -> Self {
        let request = format!("{REQUEST} udp length {} counter accept", request + 8);
        let rules = [INTRODUCTION, &request, RESPONSE];
        Self(NftFilter::new(namespace, "inet", "output", &rules))
    }

    /// Returns the number of requests and of responses so far.
    pub(crate) fn counts(&self) -> [u64; 2] {
        self.0.packets().try_into().unwrap()
    }
}

/// Counts of both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTripCounts {
    /// Requests that the client sent.
    pub(crate) requests: u64,
    answered: u64,
    completed: u64,
}

impl RoundTripCounts {
    /// Reads the counts of a trial. Over TCP all requests are answered.
    pub(crate) fn from_outcome(outcome: &TrialOutcome) -> Self {
        let ends = outcome.ends;
        let requests = match ends.datagrams_sent {
            0 => ends.answered,
            sent => sent - ends.answered,
        };
        Self { requests, answered: ends.answered, completed: ends.completed }
    }

    /// Returns the number of requests that the client gave up.
    pub(crate) fn given_up(self) -> u64 {
        self.requests - self.completed
    }

    /// Asserts that no request completes without an answer, and that none is answered that was not sent.
    pub(crate) fn assert_ordered(self, what: &str) {
        let Self { requests, answered, completed } = self;
        assert!(completed <= answered && answered <= requests, "{what}: {self:?}");
    }

    /// Asserts that each message was on the wire, and no other.
    pub(crate) fn assert_agrees(self, before: [u64; 2], after: [u64; 2], what: &str) {
        self.assert_ordered(what);
        let wire = [0, 1].map(|kind| after[kind] - before[kind]);
        assert_eq!([self.requests, self.answered], wire, "{what}");
    }
}

/// Merges the latencies of all round trips.
pub(crate) fn round_trips(outcome: &TrialOutcome) -> LatencyHistogram {
    let mut all = LatencyHistogram::new().unwrap();
    let intervals = outcome.series.iter().flat_map(|series| &series.intervals);
    intervals.filter_map(|one| one.latency.as_ref()).for_each(|one| all.merge(one).unwrap());
    all
}

/// Runs a trial during which a filter on one side drops 3 % of the requests at random.
fn filtered(side: &str, hook: &str) {
    const FLOWS: u64 = 8;
    let pair = NamespacePair::new();
    let namespace = if side == "client" { &pair.client } else { &pair.server };
    let drop = format!("{REQUEST} numgen random mod 100 < 3 counter drop");
    let pass = format!("{REQUEST} counter accept");
    let requests = NftFilter::new(namespace, "inet", hook, &[INTRODUCTION, &drop, &pass]);
    let responses = NftFilter::new(&pair.server, "ip", "output", &[RESPONSE]);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let mut job = job("udp-rr", &topology, &[]);
    job.shape.flows = FLOWS as u32;
    job.duration = Nanos(3_000_000_000);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert_sound(&outcome);
    let counted = RoundTripCounts::from_outcome(&outcome);
    let [dropped, passed] = requests.packets().try_into().unwrap();
    let what = format!("{side}: {counted:?}, {dropped} dropped");
    counted.assert_agrees([0, 0], [dropped + passed, responses.packets()[0]], &what);
    assert!(dropped > 0, "{what}");
    // All requests that passed were answered and completed, except for the last of a flow that the machine handled too
    // late.
    assert!((dropped..=dropped + FLOWS).contains(&counted.given_up()), "{what}");
    let datagrams = outcome.series[0].intervals.iter().map(|one| one.datagrams.unwrap());
    let (sent, received) =
        datagrams.fold((0, 0), |(sent, received), one| (sent + one.sent, received + one.received));
    assert_eq!((sent, received), (counted.requests, counted.completed), "{what}");
    // Lost requests have no latency; a flow may complete a late one and another after the end.
    let latencies = round_trips(&outcome).count();
    assert!((received - 2 * FLOWS..=received).contains(&latencies), "{what}: {latencies}");
}

#[test]
fn requests_that_a_filter_drops_are_counted_one_by_one_and_the_rest_goes_on() {
    filtered("server", "input");
    // Here the sender gets an error (EPERM): the requests are lost all the same.
    filtered("client", "output");
}
