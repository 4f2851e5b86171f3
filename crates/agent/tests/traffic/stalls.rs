//! Stall of known length in the middle of round trips, as seen by an open loop and by a closed loop.

use crate::common::counters::Frames;
use crate::common::{
    act_once, inside, job, lone_namespace, monotonic, open_session, send_signal, stop_process,
};
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::Arc;
use tare_dev::{eventually, topology};
use tare_record::Nanos;
use tare_traffic::{TrialJob, TrialOutcome};

const MS: u64 = 1_000_000;

/// Trial of three seconds of round trips, during which an agent was stopped.
struct StoppedTrial {
    outcome: TrialOutcome,
    duration: u64,
    /// Monotonic time from which the agent was certainly stopped; `to` is the end of that time.
    from: u64,
    to: u64,
}

impl StoppedTrial {
    /// Stops an agent once round trips are running, for at least 200 ms.
    fn trial(role: &str, asked: &[(&str, Value)]) -> Self {
        let namespace = lone_namespace();
        let containers = ["server-0", "client-0"].map(|name| inside(&namespace, name));
        let started = containers.each_ref().map(|one| Arc::clone(&one.started));
        let [server, client] = containers;
        let topology = topology(vec![server], vec![client], |_| crate::common::PORT);
        let mut session = open_session(&topology).unwrap();
        let victim = started[usize::from(role == "client")].lock().unwrap()[0];
        let job = TrialJob { duration: Nanos(3000 * MS), ..job("tcp-rr", &topology, asked) };
        let times = Cell::new((0, 0));
        let flows = || Frames::received_by(&namespace, "lo").packets > 100;
        let outcome = session.run_trial(
            &job,
            &act_once(flows, || {
                stop_process(victim);
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

    /// Returns the latencies of all transactions, ns, with the number of transactions of each.
    fn latencies(&self) -> Vec<(u64, u64)> {
        let intervals = self.outcome.series[0].intervals.iter();
        intervals.filter_map(|one| one.latency.as_ref()).flat_map(|one| one.iter()).collect()
    }

    /// Returns the number of transactions that took at least `least`. Histograms keep three digits.
    fn as_long_as(&self, least: u64) -> u64 {
        let long = self.latencies().into_iter().filter(|(nanos, _)| *nanos >= least / 1000 * 999);
        long.map(|(_, count)| count).sum()
    }
}

#[test]
fn an_open_loop_sees_a_stall_in_all_that_it_held_up() {
    const PERIOD: u64 = 2 * MS;
    for role in ["server", "client"] {
        let stopped = StoppedTrial::trial(role, &[("open_loop", json!(500))]);
        // Transactions due during the stall were done after it: all of those due in its first part (a quarter, then
        // half) waited at least for the rest of it.
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
        let stopped = StoppedTrial::trial(role, &[]);
        // Transactions follow one another: at most two share the stall, and all together are no longer than the trial.
        assert!(stopped.as_long_as(stopped.held() / 2) >= 1, "{role}");
        let all: u64 = stopped.latencies().iter().map(|(nanos, count)| nanos * count).sum();
        assert!(all / 1001 * 1000 <= stopped.duration, "{role}: {all}");
    }
}
