//! A stall of known length in the middle of round trips: what an open loop and a closed one see of it.

use crate::common::counters::Frames;
use crate::common::{inside, job, lone_namespace, monotonic, once, send_signal, stop};
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::Arc;
use tare_dev::{eventually, topology};
use tare_record::Nanos;
use tare_traffic::{Job, Outcome, Session};

const MS: u64 = 1_000_000;

/// Round trips of three seconds, in which an agent was stopped.
struct Stopped {
    outcome: Outcome,
    duration: u64,
    /// When it stood still, by the monotonic clock: from here to there at least.
    from: u64,
    to: u64,
}

impl Stopped {
    /// Stops an agent once round trips are made, for at least 200 ms.
    fn trial(role: &str, asked: &[(&str, Value)]) -> Self {
        let namespace = lone_namespace();
        let containers = ["server-0", "client-0"].map(|name| inside(&namespace, name));
        let started = containers.each_ref().map(|one| Arc::clone(&one.started));
        let [server, client] = containers;
        let topology = topology(vec![server], vec![client], |_| crate::common::PORT);
        let mut session = Session::open(&topology).unwrap();
        let victim = started[usize::from(role == "client")].lock().unwrap()[0];
        let job = Job { duration: Nanos(3000 * MS), ..job("tcp-rr", &topology, asked) };
        let times = Cell::new((0, 0));
        let flows = || Frames::received_by(&namespace, "lo").packets > 100;
        let outcome = session.trial(
            &job,
            &once(flows, || {
                stop(victim);
                let from = monotonic().0;
                eventually("200 ms are over", || monotonic().0 >= from + 200 * MS);
                times.set((from, monotonic().0));
                send_signal(victim, rustix::process::Signal::CONT);
            }),
        );
        let (outcome, (from, to)) = (outcome.unwrap(), times.get());
        let end = outcome.epoch.unwrap().0 + job.duration.0;
        assert!(from > 0 && to + 500 * MS < end, "it was stopped at the end of the trial");
        Self { outcome, duration: job.duration.0, from, to }
    }

    fn held(&self) -> u64 {
        self.to - self.from
    }

    /// Latencies of all transactions, ns, with how many had each.
    fn latencies(&self) -> Vec<(u64, u64)> {
        let intervals = self.outcome.series[0].intervals.iter();
        intervals.filter_map(|one| one.latency.as_ref()).flat_map(|one| one.iter()).collect()
    }

    /// Transactions that took at least so long. Histograms keep three digits.
    fn as_long_as(&self, least: u64) -> u64 {
        let long = self.latencies().into_iter().filter(|(nanos, _)| *nanos >= least / 1000 * 999);
        long.map(|(_, count)| count).sum()
    }
}

#[test]
fn an_open_loop_sees_a_stall_in_all_that_it_held_up() {
    const PERIOD: u64 = 2 * MS;
    for role in ["server", "client"] {
        let stopped = Stopped::trial(role, &[("open_loop", json!(500))]);
        // What was due meanwhile was done after it: of the first part of the stall all waited for the rest of it.
        let epoch = stopped.outcome.epoch.unwrap().0;
        for share in [4, 2] {
            let until = stopped.from + stopped.held() / share;
            let due = |until: u64| (until - epoch).div_ceil(PERIOD);
            let due = due(until) - due(stopped.from);
            let found = stopped.as_long_as(stopped.to - until);
            assert!(due > 0 && found >= due, "{role}: {found} of {due} due");
        }
        assert!(stopped.as_long_as(stopped.held() - PERIOD) >= 1, "{role}");
    }
}

#[test]
fn a_closed_loop_sees_a_stall_once() {
    for role in ["server", "client"] {
        let stopped = Stopped::trial(role, &[]);
        // One transaction follows on another: at most two share the stall, and all of them together are no longer than the
        // trial.
        assert!(stopped.as_long_as(stopped.held() / 2) >= 1, "{role}");
        let all: u64 = stopped.latencies().iter().map(|(nanos, count)| nanos * count).sum();
        assert!(all / 1001 * 1000 <= stopped.duration, "{role}: {all}");
    }
}
