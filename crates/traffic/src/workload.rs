//! Workload: its two sides, and their reports.

use crate::placement::{SideCores, TrafficRole};
use crate::tcp::GrantedOptions;
use crate::{Error, Parameter, TrialTask, parameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_network::UnmetRequirement;
use tare_record::{
    EndCounts, Finding, Metric, Nanos, Parameters, RateSearch, Series, Shape, SliceKind, ThreadCpu,
};

/// Description of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// Name, as users write it.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Equivalent traffic in other tools.
    pub stands_for: &'static str,
    /// URL of the definition of that traffic.
    pub source: &'static str,
}

/// Request for a workload, before a network exists to run it on.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadRequest<'a> {
    /// Parameters, resolved.
    pub parameters: &'a Parameters,
    /// Numbers of clients, processes and flows, and their cores.
    pub shape: &'a Shape,
    /// Time for which payload flows.
    pub duration: Nanos,
    /// Number of networks that are up at once, each with servers of its own.
    pub networks: u32,
}

impl WorkloadRequest<'_> {
    /// Returns the number of servers that run at the same time.
    #[must_use]
    pub fn servers_at_once(&self) -> u32 {
        self.shape.servers.saturating_mul(self.networks.max(1))
    }

    /// Returns the number of client processes, of all clients together.
    #[must_use]
    pub fn client_processes(&self) -> u32 {
        self.shape.clients.saturating_mul(self.shape.processes.max(1))
    }
}

/// Kind of traffic.
///
/// A new workload is a file in `workloads/` and a line in the registry.
pub trait Workload: Send + Sync {
    /// Returns the workload's description.
    fn info(&self) -> WorkloadInfo;

    /// Returns the metrics that the workload measures.
    fn metrics(&self) -> &'static [Metric];

    /// Returns the number of listening ports that the workload needs in each server.
    fn port_count(&self) -> usize;

    /// Returns the parameters, with their defaults and limits.
    fn parameters(&self) -> &'static [Parameter];

    /// Validates the given parameters, and fills in the defaults. Resolving twice changes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] and [`Error::BadParameter`], each with the valid choices.
    fn resolve(&self, asked: &Parameters) -> Result<Parameters, Error> {
        parameters::resolve(self.info().name, self.parameters(), asked)
    }

    /// Returns the external programs that this workload starts. A workload with external programs runs in agents only,
    /// never in a public listener, which serves strangers.
    fn programs(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns a requirement of this request that this machine does not meet, such as a program. Returns `None` if none
    /// is missing.
    fn missing(&self, _asked: &Parameters) -> Option<UnmetRequirement> {
        None
    }

    /// Checks that the workload can do this request.
    ///
    /// # Errors
    /// [`Error::Job`], with the impossible part in one line.
    fn validate(&self, _asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Prepares data that servers need and that takes long to make, once for all runs.
    ///
    /// # Errors
    /// Returns an error if there is no room for the data or they cannot be made, and [`Error::Cancelled`] if the caller
    /// cancels.
    fn prepare(
        &self,
        _asked: &WorkloadRequest<'_>,
        _say: &mut dyn FnMut(&str),
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the time that a server may take to start in addition to the usual limit.
    fn startup_allowance(&self, _parameters: &Parameters) -> Duration {
        Duration::ZERO
    }

    /// Returns the time for which a client of this task generates traffic: the task's duration, unless the workload
    /// overrides it.
    fn duration(&self, task: &TrialTask) -> Duration {
        task.duration.into()
    }

    /// Returns the payload that a client offers in one direction, bits/s, at most. Returns `None` if it sends as fast
    /// as it can.
    ///
    /// The task's parameters are as [`Workload::resolve`] returns them.
    fn offered_load(&self, task: &TrialTask) -> Option<f64> {
        parameters::offered_load(self.parameters(), &task.parameters)
    }

    /// Returns the number of sockets that carry payload at the same time for each flow of a task, at most.
    fn carriers_per_flow(&self, _parameters: &Parameters) -> u64 {
        1
    }

    /// Returns true if the workload's connections have the default congestion control of their network namespace, because
    /// its programs choose none.
    fn has_default_congestion(&self, _parameters: &Parameters) -> bool {
        false
    }

    /// Returns the kind of slices in which trials can run. Returns `None` if they run in one piece only.
    fn slice_kind(&self) -> Option<SliceKind> {
        None
    }

    /// Starts the serving side. It listens on all addresses of the task when this returns.
    ///
    /// # Errors
    /// Returns an error if it cannot listen.
    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error>;

    /// Prepares the generating side. All its flows are connected, and known to their server, when this returns.
    ///
    /// # Errors
    /// Returns an error if a server cannot be reached.
    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error>;
}

/// Payload bytes that a server has sent so far, in all slices of a trial, by the index of the client process that
/// receives them.
pub type SentBytes = BTreeMap<u32, u64>;

/// Serving side of one trial. Dropping it ends it.
pub trait Server: Send {
    /// Ends a slice of a trial in slices: waits until all payload that the clients have sent so far has arrived, this
    /// many bytes, and until the server itself sends nothing more in the slice; then awaits the next one. Returns what
    /// the server has sent and the clients have to receive before that; empty if it sends only answers.
    ///
    /// # Errors
    /// Returns an error if that takes too long, or if the workload cannot run in slices.
    fn settle(&mut self, _sent: u64) -> Result<SentBytes, Error> {
        Err(Error::not_in_slices())
    }

    /// Waits until everything that the clients sent has arrived, up to a time limit, and returns the counts.
    ///
    /// # Errors
    /// Returns an error if a flow broke.
    fn finish(self: Box<Self>) -> Result<SideReport, Error>;
}

/// Serving side of a trial whose server exists: tare starts nothing.
#[derive(Clone, Copy, Debug)]
pub struct ExistingServer;

impl Server for ExistingServer {
    fn settle(&mut self, _sent: u64) -> Result<SentBytes, Error> {
        Ok(SentBytes::new())
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        Ok(SideReport::default())
    }
}

/// Generating side of one trial. Dropping it closes its flows.
pub trait Client: Send {
    /// Generates traffic for the task's duration by this side's clock, and returns the counts.
    ///
    /// # Errors
    /// Returns an error if a flow broke.
    fn run(self: Box<Self>) -> Result<SideReport, Error>;

    /// Generates traffic for one slice, and leaves all flows connected. Returns the payload bytes sent so far, in all
    /// slices, that the server must have received before the next slice.
    ///
    /// # Errors
    /// Returns an error if a flow broke, or if the workload cannot run in slices.
    fn run_slice(&mut self) -> Result<u64, Error> {
        Err(Error::not_in_slices())
    }

    /// Ends a slice in which the server sent: waits until all payload that it has sent so far has arrived, this many
    /// bytes.
    ///
    /// # Errors
    /// Returns an error if it does not arrive in time, or if this workload's servers send only answers.
    fn settle(&mut self, _sent: u64) -> Result<(), Error> {
        Err(Error::not_in_slices())
    }

    /// Ends all flows after the last slice, and returns the counts of all slices.
    ///
    /// # Errors
    /// Returns an error if a flow broke, or if the workload cannot run in slices.
    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        Err(Error::not_in_slices())
    }
}

/// Report of one side of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideReport {
    /// Interval records by client. Records of one client from both sides are added up interval by interval; bytes are
    /// in those of the receiving side.
    pub series: Vec<Series>,
    /// Counts of this side over the whole trial.
    pub ends: EndCounts,
    /// Effective parameters of this side.
    pub parameters: Parameters,
    /// Findings of this side.
    pub findings: Vec<Finding>,
    /// CPU time of the threads that carried traffic (user and system, softirq run in their context included), ns.
    pub cpu: Nanos,
    /// CPU time of these threads by interval, over all threads of this side.
    #[serde(default)]
    pub cpu_by_interval: Vec<ThreadCpu>,
    /// Beginning of this side's intervals, by its monotonic clock. `None` if the side has no clock of its own.
    #[serde(default)]
    pub epoch: Option<Nanos>,
    /// Rates that a search tried, and its result.
    #[serde(default)]
    pub search: Option<RateSearch>,
}

impl SideReport {
    /// Returns the report with these counts.
    #[must_use]
    pub fn with_ends(mut self, ends: EndCounts) -> Self {
        self.ends = ends;
        self
    }

    /// Returns the report with the options granted to a side's sockets, and the cores of the side.
    pub(crate) fn with_granted(
        mut self,
        granted: &GrantedOptions,
        cores: &SideCores,
        role: TrafficRole,
    ) -> Self {
        self.parameters.extend(granted.parameters.clone());
        self.findings.extend(granted.findings.iter().cloned());
        self.parameters.insert(role.cores_parameter().to_owned(), cores.list().into());
        self
    }
}
