//! Environment of a run: a place to raise networks and run trials, a clock, and a request to stop.

use std::time::Duration;
use tare_record::{
    AgentsCpu, EndCounts, Finding, Hop, HostActivity, Metric, Nanos, NetworkEntry,
    NetworkInspection, Parameters, RateSearch, Series, Shape, SlicePlan, WorkloadPlan,
};
use tare_traffic::TrialOutcome;

/// Environment of a run.
pub trait RunEnvironment {
    /// Raises a network for all workloads of a block.
    ///
    /// # Errors
    /// Fails if the network cannot be raised, or if the run was interrupted.
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError>;

    /// Returns true if a network that broke may work when it is raised anew: it is then tried once again.
    fn can_raise_anew(&self, _network: &NetworkEntry) -> bool {
        true
    }

    /// Returns the time since the run began. A resumed run continues the clock from where it was cut off.
    fn elapsed(&self) -> Nanos;

    /// Stops the clock for a pause that has ended, as for the time in which a resumed run was cut off. Without a clock
    /// of real time there is nothing to do.
    fn exclude_pause(&mut self, _pause: Duration) {}

    /// Returns whether the user asked the run to stop.
    fn is_interrupted(&self) -> bool;
}

/// Turn of one network.
#[derive(Clone, Copy, Debug)]
pub struct TurnSetup<'a> {
    /// Network to raise, with its label.
    pub entry: &'a NetworkEntry,
    /// Shape in which it is raised.
    pub shape: &'a Shape,
    /// All workloads of the plan, in the plan's order.
    pub workloads: &'a [WorkloadPlan],
}

/// A network that is up. Dropping it takes it down.
pub trait RunningNetwork {
    /// Returns the hops that a packet passes.
    fn hops(&self) -> Vec<Hop>;

    /// Returns the time that the network took to come up. Returns `None` if that is not known.
    fn setup_time(&self) -> Option<Nanos> {
        None
    }

    /// Returns the network's own figures for these metrics, after its trials. Without means to inspect it, there are none.
    fn inspect(&mut self, _metrics: &[Metric]) -> NetworkInspection {
        NetworkInspection::default()
    }

    /// Takes the network down, and returns the time that this took. Returns `None` if that is not known.
    fn tear_down(self: Box<Self>) -> Option<Nanos> {
        None
    }

    /// Runs one trial of the workload with this index in the plan.
    ///
    /// # Errors
    /// Fails if the workload breaks, or if the run was interrupted.
    fn run_trial(&mut self, workload: usize) -> Result<TrialMeasurement, AttemptError>;

    /// Connects the flows of a trial of this workload in these slices, of which none runs yet.
    ///
    /// # Errors
    /// Fails if the workload breaks, if it cannot run in slices here, or if the run was interrupted.
    fn begin_slices(&mut self, _workload: usize, _slices: SlicePlan) -> Result<(), AttemptError> {
        Err(AttemptError::Failed {
            reason: "cannot run a trial in slices here".to_owned(),
            remedy: "use --slice off".to_owned(),
        })
    }

    /// Runs the next slice of the trial. A slice of the warm-up is not `counted`.
    ///
    /// # Errors
    /// As [`RunningNetwork::run_trial`].
    fn run_slice(&mut self, _counted: bool) -> Result<(), AttemptError> {
        Ok(())
    }

    /// Ends the trial in slices, and returns its result.
    ///
    /// # Errors
    /// As [`RunningNetwork::run_trial`].
    fn finish_slices(&mut self) -> Result<TrialMeasurement, AttemptError> {
        Ok(TrialMeasurement::default())
    }
}

/// Result of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialMeasurement {
    /// Series of counted intervals.
    pub series: Vec<Series>,
    /// Totals counted at each end.
    pub ends: EndCounts,
    /// Parameters that were really in force.
    pub parameters: Parameters,
    /// Findings of the trial.
    pub findings: Vec<Finding>,
    /// CPU time of the threads that carried traffic.
    pub agents: AgentsCpu,
    /// Trials and result of a rate search; `None` for other workloads.
    pub search: Option<RateSearch>,
    /// Activity of the machine during the trial.
    pub meanwhile: HostActivity,
}

impl TrialMeasurement {
    /// Builds the result of a trial from its outcome, with findings about the machine added.
    pub(crate) fn from_outcome(
        outcome: TrialOutcome,
        meanwhile: HostActivity,
        noticed: impl IntoIterator<Item = Finding>,
    ) -> Self {
        let mut findings = outcome.findings;
        findings.extend(noticed);
        Self {
            series: outcome.series,
            ends: outcome.ends,
            agents: outcome.agents,
            search: outcome.search,
            parameters: outcome.parameters,
            findings,
            meanwhile,
        }
    }
}

/// Reason why a network or a trial gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// The user asked the run to stop.
    Interrupted,
    /// It failed; it is left out of the rest of the run.
    Failed {
        /// Failed operation and cause, in one line.
        reason: String,
        /// Remedy; may be empty.
        remedy: String,
    },
}
