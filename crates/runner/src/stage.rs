//! What a runner needs of the world: somewhere to raise a network and run a trial, a clock, and a way to be told to stop.

use tare_record::{
    AgentsCpu, Ends, Entry, Finding, Hop, Meanwhile, Nanos, Parameters, Search, Series, Shape,
    WorkloadPlan,
};
use tare_traffic::Outcome;

/// The world.
pub trait Stage {
    /// Raises a network for all workloads of a block.
    ///
    /// # Errors
    /// Why it could not be raised, or that the run was interrupted.
    fn raise(&mut self, scene: &Scene<'_>) -> Result<Box<dyn Raised>, Broken>;

    /// Time since the run began; a resumed run goes on where it was cut off.
    fn elapsed(&self) -> Nanos;

    /// Whether somebody asked the run to stop.
    fn interrupted(&self) -> bool;
}

/// One network's turn.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The network.
    pub entry: &'a Entry,
    /// The shape.
    pub shape: &'a Shape,
    /// All workloads of the plan, in the plan's order.
    pub workloads: &'a [WorkloadPlan],
}

/// A network that is up. Dropping it takes it down.
pub trait Raised {
    /// What a packet passes.
    fn hops(&self) -> Vec<Hop>;

    /// How long it took to bring up, where that is known.
    fn raised_in(&self) -> Option<Nanos> {
        None
    }

    /// Takes it down, and says how long that took, where that is known.
    fn lower(self: Box<Self>) -> Option<Nanos> {
        None
    }

    /// Runs one trial of the workload at this place in the plan; `elapsed` is the run's clock at its beginning.
    ///
    /// # Errors
    /// Why it broke, or that the run was interrupted.
    fn trial(&mut self, workload: usize) -> Result<Measured, Broken>;
}

/// What a trial gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The figures.
    pub series: Vec<Series>,
    /// What each end counted.
    pub ends: Ends,
    /// What was really in force.
    pub parameters: Parameters,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// CPU time of the threads that carried traffic.
    pub agents: AgentsCpu,
    /// What a search tried and found.
    pub search: Option<Search>,
    /// What the machine did meanwhile.
    pub meanwhile: Meanwhile,
}

impl Measured {
    /// What came of a trial, with what was noticed of the machine beside it.
    pub(crate) fn of(
        outcome: Outcome,
        meanwhile: Meanwhile,
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

/// Why a network or a trial gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Somebody asked the run to stop.
    Interrupted,
    /// It failed: it is left out of the rest of the run.
    Failed {
        /// What failed and why, in one line.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}
