//! Outcome of a trial.

use tare_record::{AgentsCpu, EndCounts, Finding, Nanos, Parameters, RateSearch, Series};

/// Outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialOutcome {
    /// Interval records, one series for each client.
    pub series: Vec<Series>,
    /// Counts of each end over the whole trial.
    pub ends: EndCounts,
    /// Effective parameters: the job's parameters, congestion control, buffers granted, cores.
    pub parameters: Parameters,
    /// Findings of the trial.
    pub findings: Vec<Finding>,
    /// CPU time of all threads that carried traffic, ns.
    pub agents_cpu: Nanos,
    /// CPU time of these threads by side and interval.
    pub agents: AgentsCpu,
    /// Time of the first payload by the agents' monotonic clock. `None` if they do not share a clock.
    pub epoch: Option<Nanos>,
    /// Trials and result of a search.
    pub search: Option<RateSearch>,
}
