//! What a workload is: its two sides, what each is told, and what each says in the end.

use crate::placement::{Cores, Role};
use crate::tcp::Granted;
use crate::{Error, Parameter, parameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;
use tare_network::Missing;
use tare_record::{
    Ends, Finding, Metric, Nanos, Parameters, Placement, Search, Series, Shape, ThreadCpu,
};

/// What a workload is, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, as users spell it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it is or stands for in other tools.
    pub stands_for: &'static str,
    /// Where that is defined.
    pub source: &'static str,
}

/// What is asked of a workload, before there is anything to do it on.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its parameters, resolved.
    pub parameters: &'a Parameters,
    /// How many of what.
    pub shape: &'a Shape,
    /// How long payload flows.
    pub duration: Nanos,
}

impl Asked<'_> {
    /// How many client processes there are, in all clients together.
    #[must_use]
    pub fn client_processes(&self) -> u32 {
        self.shape.clients.saturating_mul(self.shape.processes.max(1))
    }
}

/// A kind of traffic.
///
/// A new one is a file in `workloads/` and a line in the registry.
pub trait Workload: Send + Sync {
    /// What it is.
    fn about(&self) -> About;

    /// What it measures.
    fn metrics(&self) -> &'static [Metric];

    /// How many listening ports it needs in each server.
    fn ports(&self) -> usize;

    /// Its parameters, with their defaults and limits.
    fn parameters(&self) -> &'static [Parameter];

    /// Validates what was asked, and fills in the defaults. Resolving twice changes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] and [`Error::BadParameter`], each with what is allowed.
    fn resolve(&self, asked: &Parameters) -> Result<Parameters, Error> {
        parameters::resolve(self.about().name, self.parameters(), asked)
    }

    /// The programs of others that it starts. Where there are any it is an agent's alone, never a listener's, who serves
    /// strangers.
    fn programs(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What it cannot do without, as it was asked for, and this machine does not have: a program, say.
    fn lacks(&self, _asked: &Parameters) -> Option<Missing> {
        None
    }

    /// Whether it can do what was asked of it.
    ///
    /// # Errors
    /// [`Error::Job`], with what it cannot, in one line.
    fn fits(&self, _asked: &Asked<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Makes what its servers will need and what takes long, once and for all runs: data.
    ///
    /// # Errors
    /// When there is no room for it, or it cannot be made; [`Error::Cancelled`] where the caller wished so.
    fn prepare(
        &self,
        _asked: &Asked<'_>,
        _say: &mut dyn FnMut(&str),
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// How much longer than usual its server may take to start.
    fn starts_within(&self, _parameters: &Parameters) -> Duration {
        Duration::ZERO
    }

    /// How long its client generates in such a task: the task's duration, unless it says otherwise.
    fn lasts(&self, task: &Task) -> Duration {
        task.duration.into()
    }

    /// The most payload that its client offers in one direction, bits/s; nothing where it goes as fast as it can.
    ///
    /// The task's parameters are as [`Workload::resolve`] gives them.
    fn offers(&self, task: &Task) -> Option<f64> {
        parameters::offered(self.parameters(), &task.parameters)
    }

    /// Starts the serving side. It is listening on all addresses of the task when this returns.
    ///
    /// # Errors
    /// When it cannot listen.
    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error>;

    /// Prepares the generating side. All its flows are connected, and known to their server, when this returns.
    ///
    /// # Errors
    /// When a server cannot be reached.
    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error>;
}

/// The serving side of one trial. Dropping it ends it.
pub trait Server: Send {
    /// Waits until everything that the clients sent has come, but not for ever, and says what was counted.
    ///
    /// # Errors
    /// When a flow broke.
    fn finish(self: Box<Self>) -> Result<Report, Error>;
}

/// The generating side of one trial. Dropping it closes its flows.
pub trait Client: Send {
    /// Generates for the task's duration by this side's clock, and says what was counted.
    ///
    /// # Errors
    /// When a flow broke.
    fn run(self: Box<Self>) -> Result<Report, Error>;
}

/// What one side of a trial is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The workload's name.
    pub workload: String,
    /// Its parameters, resolved.
    pub parameters: Parameters,
    /// Where a server listens; what a client dials, one address a port.
    pub addresses: Vec<SocketAddr>,
    /// How many flows a server shall expect in all; how many a client shall open.
    pub flows: u32,
    /// Which client this is, from 0; the processes of one client share it. 0 for a server.
    pub client: u32,
    /// The place of this process among those of its side, from 0.
    pub index: u32,
    /// How many processes its side has.
    pub peers: u32,
    /// How many processes each client has: what a client is to offer they offer together.
    #[serde(default = "one")]
    pub processes: u32,
    /// Which cores the two sides run on.
    pub cpus: Placement,
    /// How long to generate, ns.
    pub duration: Nanos,
    /// How long an interval record is, ns.
    pub interval: Nanos,
    /// Names the trial, so that a server refuses strangers and stragglers.
    pub token: u64,
    /// Whether both sides read the same monotonic clock, so that the time from one to the other can be told.
    pub one_clock: bool,
}

/// What one side of a trial counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Interval records by client. Those of one client, of either side, are added up interval by interval: bytes are in
    /// those of the receiving side.
    pub series: Vec<Series>,
    /// What this side counted over the whole trial.
    pub ends: Ends,
    /// What was really in force on this side.
    pub parameters: Parameters,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// CPU time of the threads that carried traffic (user and system, softirq run in their context included), ns.
    pub cpu: Nanos,
    /// The same by interval, over all threads of this side.
    #[serde(default)]
    pub cpu_by_interval: Vec<ThreadCpu>,
    /// When this side's intervals began, by its monotonic clock; nothing where it has none of its own.
    #[serde(default)]
    pub epoch: Option<Nanos>,
    /// The rates that a search tried, and what it found.
    #[serde(default)]
    pub search: Option<Search>,
}

impl Report {
    /// The same report with what was counted.
    pub(crate) fn counted(mut self, ends: Ends) -> Self {
        self.ends = ends;
        self
    }

    /// The same report with what was granted to a side's sockets, and the cores it ran on.
    pub(crate) fn with(mut self, granted: &Granted, cores: &Cores, role: Role) -> Self {
        self.parameters.extend(granted.parameters.clone());
        self.findings.extend(granted.findings.iter().cloned());
        self.parameters.insert(role.cores().to_owned(), cores.list().into());
        self
    }
}

impl Task {
    /// This process's share of what its client is to offer, a second.
    pub(crate) fn share(&self, offered: f64) -> f64 {
        offered / f64::from(self.processes.max(1))
    }

    /// How far into the time between two of its own sendings the first is due, 0 to 1: processes of one client do not
    /// begin in step.
    pub(crate) fn stagger(&self) -> f64 {
        let processes = self.processes.max(1);
        f64::from(self.index % processes) / f64::from(processes)
    }

    /// The most flows of one process: each is a descriptor.
    const MOST_FLOWS: u32 = 16_384;
    /// The most interval records of one trial.
    const MOST_INTERVALS: u64 = 1_000_000;

    /// Whether the numbers make sense, whoever sent them.
    ///
    /// # Errors
    /// [`Error::Job`], with what is allowed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.addresses.is_empty() {
            return Err(Error::Job("no address to listen on or to dial".to_owned()));
        }
        self.check_numbers()
    }

    /// The same for a task that has no addresses yet.
    ///
    /// # Errors
    /// As [`Task::check`].
    pub(crate) fn check_numbers(&self) -> Result<(), Error> {
        let refused = |why: String| Err(Error::Job(why));
        if !(1..=Self::MOST_FLOWS).contains(&self.flows) {
            return refused(format!(
                "{} flows in a process: it is 1 to {}",
                self.flows,
                Self::MOST_FLOWS
            ));
        }
        if self.interval.0 == 0 || self.interval > self.duration {
            return refused(format!(
                "intervals of {} in a trial of {}: at least one has to fit",
                self.interval, self.duration
            ));
        }
        if self.duration.0 / self.interval.0 > Self::MOST_INTERVALS {
            return refused(format!(
                "intervals of {} in a trial of {}: at most {} are kept",
                self.interval,
                self.duration,
                Self::MOST_INTERVALS
            ));
        }
        Ok(())
    }
}

fn one() -> u32 {
    1
}

impl Task {
    /// One flow of one client, on any cores, as long as it says: where it goes is still to be told.
    pub(crate) fn of_one_flow(
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
            processes: 1,
            cpus: Placement::Free,
            duration,
            interval,
            token: 0,
            one_clock: false,
        }
    }
}

#[cfg(any(test, fuzzing))]
impl Task {
    /// One that nobody has asked for: of one flow, 50 ms long, with the workload's own parameters.
    pub(crate) fn made_up(workload: &str, addresses: Vec<SocketAddr>) -> Self {
        let registry = crate::workloads();
        let found = registry.find(workload);
        let parameters = found.and_then(|one| one.resolve(&Parameters::new())).unwrap_or_default();
        let alone = Self::of_one_flow(workload, parameters, Nanos(50_000_000), Nanos(10_000_000));
        Self { addresses, token: 1, one_clock: true, ..alone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_client_share_what_it_offers_and_do_not_begin_in_step() {
        let alone = Task::made_up("udp-rate", vec![([127, 0, 0, 1], 7).into()]);
        assert_eq!((alone.share(1000.0), alone.stagger()), (1000.0, 0.0));
        let second = Task { processes: 4, index: 9, ..alone };
        assert_eq!((second.share(1000.0), second.stagger()), (250.0, 0.25));
    }

    #[test]
    fn absurd_numbers_are_refused() {
        let good = Task::made_up("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        assert!(good.check().is_ok());
        for bad in [
            Task { flows: 0, ..good.clone() },
            Task { flows: u32::MAX, ..good.clone() },
            Task { interval: Nanos(0), ..good.clone() },
            Task { interval: Nanos(60_000_000), ..good.clone() },
            Task { interval: Nanos(1), ..good.clone() },
            Task { addresses: Vec::new(), ..good },
        ] {
            assert!(matches!(bad.check(), Err(Error::Job(_))), "{bad:?}");
        }
    }
}
