//! Requests and responses by UDP, counted on the wire: each that was sent, and what became of it.

use crate::common::filter::Filter;
use crate::common::{NEVER, job, joined, sound};
use tare_dev::{Namespace, Pair};
use tare_record::{LatencyHistogram, Nanos};
use tare_traffic::{Outcome, Session};

/// Rules that let introductions pass, which are longer than any request here; requests go to the port.
const INTRODUCTION: &str = "udp dport 7001 udp length 28 accept";
const REQUEST: &str = "udp dport 7001";
const RESPONSE: &str = "udp sport 7001 counter accept";

/// Counters of requests and of responses that leave a namespace in which both sides are.
pub(crate) struct Wire<'n>(Filter<'n>);

impl<'n> Wire<'n> {
    /// Counters of messages of which requests have so many bytes.
    pub(crate) fn of(namespace: &'n Namespace, request: u32) -> Self {
        let request = format!("{REQUEST} udp length {} counter accept", request + 8);
        let rules = [INTRODUCTION, &request, RESPONSE];
        Self(Filter::new(namespace, "inet", "output", &rules))
    }

    /// Requests and responses so far.
    pub(crate) fn counts(&self) -> [u64; 2] {
        self.0.packets().try_into().unwrap()
    }
}

/// What both ends have counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Requests that the client sent.
    pub(crate) requests: u64,
    answered: u64,
    completed: u64,
}

impl Counted {
    /// Of a trial. Over TCP all requests are answered.
    pub(crate) fn by(outcome: &Outcome) -> Self {
        let ends = outcome.ends;
        let requests = match ends.datagrams_sent {
            0 => ends.answered,
            sent => sent - ends.answered,
        };
        Self { requests, answered: ends.answered, completed: ends.completed }
    }

    /// Requests that the client did not wait for any more.
    pub(crate) fn given_up(self) -> u64 {
        self.requests - self.completed
    }

    /// Nothing completes that was not answered, and nothing is answered that was not asked.
    pub(crate) fn is_ordered(self, what: &str) {
        let Self { requests, answered, completed } = self;
        assert!(completed <= answered && answered <= requests, "{what}: {self:?}");
    }

    /// Each message was on the wire, and no other.
    pub(crate) fn agrees(self, before: [u64; 2], after: [u64; 2], what: &str) {
        self.is_ordered(what);
        let wire = [0, 1].map(|kind| after[kind] - before[kind]);
        assert_eq!([self.requests, self.answered], wire, "{what}");
    }
}

/// The latencies of all round trips together.
pub(crate) fn round_trips(outcome: &Outcome) -> LatencyHistogram {
    let mut all = LatencyHistogram::new().unwrap();
    let intervals = outcome.series.iter().flat_map(|series| &series.intervals);
    intervals.filter_map(|one| one.latency.as_ref()).for_each(|one| all.merge(one).unwrap());
    all
}

/// Trial during which a filter on one side drops 3 % of the requests at random.
fn filtered(side: &str, hook: &str) {
    const FLOWS: u64 = 8;
    let pair = Pair::new();
    let namespace = if side == "client" { &pair.client } else { &pair.server };
    let drop = format!("{REQUEST} numgen random mod 100 < 3 counter drop");
    let pass = format!("{REQUEST} counter accept");
    let requests = Filter::new(namespace, "inet", hook, &[INTRODUCTION, &drop, &pass]);
    let responses = Filter::new(&pair.server, "ip", "output", &[RESPONSE]);
    let topology = joined(&pair);
    let mut session = Session::open(&topology).unwrap();
    let mut job = job("udp-rr", &topology, &[]);
    job.shape.flows = FLOWS as u32;
    job.duration = Nanos(3_000_000_000);
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    let counted = Counted::by(&outcome);
    let [dropped, passed] = requests.packets().try_into().unwrap();
    let what = format!("{side}: {counted:?}, {dropped} dropped");
    counted.agrees([0, 0], [dropped + passed, responses.packets()[0]], &what);
    assert!(dropped > 0, "{what}");
    // What passed was answered and completed, but for the last of a flow that the machine came to too late.
    assert!((dropped..=dropped + FLOWS).contains(&counted.given_up()), "{what}");
    let datagrams = outcome.series[0].intervals.iter().map(|one| one.datagrams.unwrap());
    let (sent, received) =
        datagrams.fold((0, 0), |(sent, received), one| (sent + one.sent, received + one.received));
    assert_eq!((sent, received), (counted.requests, counted.completed), "{what}");
    // The lost ones have no latency; a flow may complete a late one and another after the end.
    let latencies = round_trips(&outcome).count();
    assert!((received - 2 * FLOWS..=received).contains(&latencies), "{what}: {latencies}");
}

#[test]
fn requests_that_a_filter_drops_are_counted_one_by_one_and_the_rest_goes_on() {
    filtered("server", "input");
    // Here the sender is told (EPERM): they are lost all the same.
    filtered("client", "output");
}
