//! What broke, and what of a plan is left to measure after it.

use crate::{Parameters, Phase, Plan, Shape, Trial, WorkloadPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A network that could run, and broke. It is left out from there on of what it broke in: of one workload in one shape, or of
/// the shape where it could not be raised in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Its label in this run.
    pub network: String,
    /// The shape in which it broke. Without one it is left out of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// The workload, where it broke in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The workload's parameters in the plan, which tell workloads of one name apart.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The block in which it broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// What broke.
    pub reason: String,
    /// What to try.
    pub remedy: String,
}

/// One combination of a plan, each part by its place there; without a workload where the plan has none.
type Place = (usize, usize, Option<usize>);

/// What is left of a plan after failures: which networks are measured, in which shapes, under which workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing(BTreeSet<Place>);

impl Standing {
    /// What these failures leave of a plan.
    #[must_use]
    pub fn after<'a>(plan: &Plan, failures: impl IntoIterator<Item = &'a Failure>) -> Self {
        let mut standing = Self(all(plan).collect());
        for failure in failures {
            standing.lose(plan, failure);
        }
        standing
    }

    /// Takes out what a failure takes out.
    pub fn lose(&mut self, plan: &Plan, failure: &Failure) {
        let broke = |one: &WorkloadPlan| {
            failure.workload.as_ref() == Some(&one.name) && failure.parameters == one.parameters
        };
        // Of a workload that the plan does not know nothing is left to tell it by: all are taken out then.
        let workload = plan.workloads.iter().position(broke);
        self.0.retain(|&(network, shape, of)| {
            let here = plan.networks[network].label == failure.network
                && failure.shape.as_ref().is_none_or(|broke| *broke == plan.shapes[shape]);
            !here || (failure.shape.is_some() && workload.is_some() && workload != of)
        });
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a network has a turn in a shape, each by its place in the plan.
    #[must_use]
    pub fn has_turn(&self, network: usize, shape: usize) -> bool {
        self.0.range((network, shape, None)..=(network, shape, Some(usize::MAX))).next().is_some()
    }

    /// Whether a network is measured under a workload in a shape, each by its place in the plan.
    #[must_use]
    pub fn has_trial(&self, network: usize, workload: usize, shape: usize) -> bool {
        self.0.contains(&(network, shape, Some(workload)))
    }

    /// How many turns a block has.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.0.iter().map(|&(network, shape, _)| (network, shape)).collect::<BTreeSet<_>>().len()
    }

    /// How many trials a block has.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.0.iter().filter(|place| place.2.is_some()).count()
    }

    /// The blocks of a phase that have a trial of everything that stands; none where nothing does.
    #[must_use]
    pub fn whole_blocks(&self, plan: &Plan, trials: &[&Trial], phase: Phase) -> BTreeSet<u32> {
        let mut seen: BTreeMap<u32, BTreeSet<Place>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.phase == phase) {
            let place = plan.place(trial);
            let place = place.map(|(shape, workload, network)| (network, shape, Some(workload)));
            seen.entry(trial.block).or_default().extend(place.filter(|at| self.0.contains(at)));
        }
        let all = self.trials();
        let whole = |(block, places): (u32, BTreeSet<Place>)| {
            (!places.is_empty() && places.len() == all).then_some(block)
        };
        seen.into_iter().filter_map(whole).collect()
    }
}

/// Every combination that a plan measures.
fn all(plan: &Plan) -> impl Iterator<Item = Place> + '_ {
    let turns = (0..plan.networks.len())
        .flat_map(|network| (0..plan.shapes.len()).map(move |shape| (network, shape)));
    turns.flat_map(|(network, shape)| {
        let traffic = plan.workloads_of(network, shape).map(Some);
        let none = plan.workloads.is_empty().then_some(None);
        traffic.chain(none).map(move |workload| (network, shape, workload))
    })
}
