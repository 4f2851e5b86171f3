//! Job: one trial as a runner asks for it, and the tasks of the processes among which it is divided.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use tare_record::{Nanos, Parameters, Placement, Shape, SlicePlan};

/// One trial to run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialJob {
    /// Name of the workload.
    pub workload: String,
    /// Parameters, resolved.
    pub parameters: Parameters,
    /// Numbers of processes and flows, and their cores.
    pub shape: Shape,
    /// Ports of the site on which this workload serves.
    pub ports: Vec<u16>,
    /// Time for which payload flows, ns.
    pub duration: Nanos,
    /// Length of an interval record, ns.
    pub interval: Nanos,
    /// Slices of the trial; its duration and interval are then in slice time. `None`: it runs in one piece.
    pub slices: Option<SlicePlan>,
}

/// Task of one side of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialTask {
    /// Name of the workload.
    pub workload: String,
    /// Parameters, resolved.
    pub parameters: Parameters,
    /// Addresses on which a server listens, or to which a client connects, one a port.
    pub addresses: Vec<SocketAddr>,
    /// Number of flows: for a server, all that it expects; for a client, those that it opens.
    pub flows: u32,
    /// Number of the client, from 0; the processes of one client share it. 0 for a server.
    pub client: u32,
    /// Index of this process among those of its side, from 0.
    pub index: u32,
    /// Number of processes of this side.
    pub peers: u32,
    /// Number of processes of all clients. A server refuses flows that claim a higher number.
    pub client_processes: u32,
    /// Number of processes of each client, which together offer the client's load.
    #[serde(default = "one")]
    pub processes: u32,
    /// Cores on which the two sides run.
    pub cpus: Placement,
    /// Time to generate traffic, ns.
    pub duration: Nanos,
    /// Length of an interval record, ns.
    pub interval: Nanos,
    /// Slices of the trial; its duration and interval are then in slice time. `None`: it runs in one piece.
    #[serde(default)]
    pub slices: Option<SlicePlan>,
    /// Token of the trial, by which a server refuses strangers and stragglers.
    pub token: u64,
    /// Highest rate at which a server may send answers, bits/s of payload. `None`: unlimited.
    #[serde(default)]
    pub answer_rate: Option<u64>,
    /// True if both sides read the same monotonic clock, so that the one-way time between them can be measured.
    pub one_clock: bool,
}

impl TrialTask {
    /// Returns the time for which a client sends: in slices, their uncounted parts and those of the warm-up included.
    pub(crate) fn sending_time(&self) -> Nanos {
        self.slices.map_or(self.duration, |plan| {
            Nanos(plan.slice_time().0.saturating_mul(u64::from(plan.slice_count())))
        })
    }

    /// Returns this process's share of a rate that its client is to offer, per second.
    #[must_use]
    pub fn process_share(&self, offered: f64) -> f64 {
        offered / f64::from(self.processes.max(1))
    }

    /// Returns the fraction of the period between two sendings at which this process's first is due, 0 to 1, so that
    /// processes of one client do not begin in step.
    pub(crate) fn stagger(&self) -> f64 {
        let processes = self.processes.max(1);
        f64::from(self.index % processes) / f64::from(processes)
    }

    /// Most flows of one process: each is a descriptor.
    const MAX_FLOWS: u32 = 16_384;
    /// Most interval records of one trial.
    const MAX_INTERVALS: u64 = 1_000_000;

    /// Validates the numbers, which may come from another process.
    ///
    /// # Errors
    /// [`Error::Job`], with the valid range.
    pub fn validate(&self) -> Result<(), Error> {
        if self.addresses.is_empty() {
            return Err(Error::Job(
                "the task has no address to listen on or to connect to".to_owned(),
            ));
        }
        self.validate_numbers()
    }

    /// Validates the numbers of a task that has no addresses yet.
    ///
    /// # Errors
    /// As [`TrialTask::validate`].
    pub fn validate_numbers(&self) -> Result<(), Error> {
        let refused = |why: String| Err(Error::Job(why));
        if !(1..=Self::MAX_FLOWS).contains(&self.flows) {
            return refused(format!(
                "invalid number of flows in a process `{}`: expected 1 to {} flows",
                self.flows,
                Self::MAX_FLOWS
            ));
        }
        if self.interval.0 == 0 || self.interval > self.duration {
            return refused(format!(
                "intervals of {} are too long for a trial of {}: use a shorter --interval, so that at least one interval fits",
                self.interval, self.duration
            ));
        }
        if self.duration.0 / self.interval.0 > Self::MAX_INTERVALS {
            return refused(format!(
                "intervals of {} are too short for a trial of {}: tare keeps at most {} intervals: use a longer --interval",
                self.interval,
                self.duration,
                Self::MAX_INTERVALS
            ));
        }
        Ok(())
    }
}

fn one() -> u32 {
    1
}

impl TrialTask {
    /// Creates a task of one flow of one client, on any cores, with these parameters and times. The addresses are still
    /// empty.
    #[must_use]
    pub fn single_flow(
        workload: &str,
        parameters: Parameters,
        duration: Nanos,
        interval: Nanos,
    ) -> Self {
        Self {
            workload: workload.to_owned(),
            parameters,
            addresses: Vec::new(),
            flows: 1,
            client: 0,
            index: 0,
            peers: 1,
            client_processes: 1,
            processes: 1,
            cpus: Placement::Free,
            duration,
            interval,
            slices: None,
            token: 0,
            answer_rate: None,
            one_clock: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_client_share_what_it_offers_and_do_not_begin_in_step() {
        let alone = TrialTask::for_test("udp-rate", vec![([127, 0, 0, 1], 7).into()]);
        assert_eq!((alone.process_share(1000.0), alone.stagger()), (1000.0, 0.0));
        let second = TrialTask { processes: 4, index: 9, ..alone };
        assert_eq!((second.process_share(1000.0), second.stagger()), (250.0, 0.25));
    }

    #[test]
    fn absurd_numbers_are_refused() {
        let good = TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        assert!(good.validate().is_ok());
        for bad in [
            TrialTask { flows: 0, ..good.clone() },
            TrialTask { flows: u32::MAX, ..good.clone() },
            TrialTask { interval: Nanos(0), ..good.clone() },
            TrialTask { interval: Nanos(60_000_000), ..good.clone() },
            TrialTask { interval: Nanos(1), ..good.clone() },
            TrialTask { addresses: Vec::new(), ..good },
        ] {
            assert!(matches!(bad.validate(), Err(Error::Job(_))), "{bad:?}");
        }
    }
}
