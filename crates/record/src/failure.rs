//! Failures of networks, and the part of a plan that remains after them.

use crate::{InterimAnalysis, Parameters, Phase, Plan, Shape, Trial, WorkloadPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Failure of a network that could run. From then on the network is left out of what it failed in: one workload in one
/// shape, or the whole shape if it could not be set up in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkFailure {
    /// Label of the network in this run.
    pub network: String,
    /// Shape in which the network failed. Without a shape, the network is left out of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Workload in which the network failed, if it failed in a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Parameters of that workload in the plan, which distinguish workloads of the same name.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Phase in which the network failed. Without a phase: the main phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Block in which the network failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Description of the failure.
    pub reason: String,
    /// Action to try.
    pub remedy: String,
}

impl NetworkFailure {
    /// Returns the phase in which the network failed.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase.unwrap_or(Phase::Main)
    }

    /// Returns the number of the first block that the failure concerns: 0 if it has no block.
    #[must_use]
    pub fn first_block(&self) -> u32 {
        self.block.unwrap_or_default()
    }
}

/// Combination of network, shape and workload, each by its index in the plan; the workload is `None` if the plan has
/// none.
type PlanCombination = (usize, usize, Option<usize>);

/// Part of a plan that remains after failures: the networks that are measured, in which shapes and under which
/// workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingPlan(BTreeSet<PlanCombination>);

impl RemainingPlan {
    /// Returns the part of a plan that remains after these failures.
    #[must_use]
    pub fn after_failures<'a>(
        plan: &Plan,
        failures: impl IntoIterator<Item = &'a NetworkFailure>,
    ) -> Self {
        let mut standing = Self(plan_combinations(plan).collect());
        for failure in failures {
            standing.remove_failed(plan, failure);
        }
        standing
    }

    /// Removes the combinations that a failure excludes.
    pub fn remove_failed(&mut self, plan: &Plan, failure: &NetworkFailure) {
        let broke = |one: &WorkloadPlan| {
            failure.workload.as_ref() == Some(&one.name) && failure.parameters == one.parameters
        };
        // A workload that the plan does not know cannot be told apart from the others: all are removed.
        let workload = plan.workloads.iter().position(broke);
        self.0.retain(|&(network, shape, of)| {
            let here = plan.networks[network].label == failure.network
                && failure.shape.as_ref().is_none_or(|broke| *broke == plan.shapes[shape]);
            !here || (failure.shape.is_some() && workload.is_some() && workload != of)
        });
    }

    /// Removes the networks that an interim analysis decided, and the baseline from every shape in which nothing else is
    /// left to compare with it.
    pub fn remove_decided(&mut self, plan: &Plan, analysis: &InterimAnalysis) {
        self.0.retain(|&(network, shape, _)| {
            !analysis.decides(&plan.networks[network].label, &plan.shapes[shape])
        });
        let compared: BTreeSet<usize> = self
            .0
            .iter()
            .filter(|(network, ..)| plan.networks[*network].label != plan.baseline)
            .map(|&(_, shape, _)| shape)
            .collect();
        self.0.retain(|(_, shape, _)| compared.contains(shape));
    }

    /// Returns true if no combination remains.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a network has a turn in a shape, each by its index in the plan.
    #[must_use]
    pub fn has_turn(&self, network: usize, shape: usize) -> bool {
        self.0.range((network, shape, None)..=(network, shape, Some(usize::MAX))).next().is_some()
    }

    /// Returns true if a network is measured under a workload in a shape, each by its index in the plan.
    #[must_use]
    pub fn has_trial(&self, network: usize, workload: usize, shape: usize) -> bool {
        self.0.contains(&(network, shape, Some(workload)))
    }

    /// Returns the number of turns in a block.
    #[must_use]
    pub fn turn_count(&self) -> usize {
        self.0.iter().map(|&(network, shape, _)| (network, shape)).collect::<BTreeSet<_>>().len()
    }

    /// Returns the number of trials in a block.
    #[must_use]
    pub fn trial_count(&self) -> usize {
        self.0.iter().filter(|place| place.2.is_some()).count()
    }

    /// Returns the blocks of a phase that have a trial of everything that never failed and was not decided before them.
    #[must_use]
    pub fn whole_blocks(
        plan: &Plan,
        trials: &[&Trial],
        phase: Phase,
        failures: &[&NetworkFailure],
        analyses: &[InterimAnalysis],
    ) -> BTreeSet<u32> {
        let mut standing = Self::after_failures(plan, failures.iter().copied());
        let (mut whole, mut from) = (BTreeSet::new(), 0);
        for analysis in analyses {
            let before = standing.complete_blocks(plan, trials, phase);
            whole.extend(before.range(from..analysis.blocks.max(from)));
            standing.remove_decided(plan, analysis);
            from = analysis.blocks.max(from);
        }
        whole.extend(standing.complete_blocks(plan, trials, phase).range(from..));
        whole
    }

    /// Returns the blocks of a phase that have a trial of every remaining combination; none if nothing remains.
    fn complete_blocks(&self, plan: &Plan, trials: &[&Trial], phase: Phase) -> BTreeSet<u32> {
        let mut seen: BTreeMap<u32, BTreeSet<PlanCombination>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.phase == phase) {
            let place = plan.locate_trial(trial);
            let place = place.map(|(shape, workload, network)| (network, shape, Some(workload)));
            seen.entry(trial.block).or_default().extend(place.filter(|at| self.0.contains(at)));
        }
        let all = self.trial_count();
        let whole = |(block, places): (u32, BTreeSet<PlanCombination>)| {
            (!places.is_empty() && places.len() == all).then_some(block)
        };
        seen.into_iter().filter_map(whole).collect()
    }
}

/// Returns every combination that a plan measures.
fn plan_combinations(plan: &Plan) -> impl Iterator<Item = PlanCombination> + '_ {
    let turns = (0..plan.networks.len())
        .flat_map(|network| (0..plan.shapes.len()).map(move |shape| (network, shape)));
    turns.flat_map(|(network, shape)| {
        let traffic = plan.workloads_of(network, shape).map(Some);
        let none = plan.workloads.is_empty().then_some(None);
        traffic.chain(none).map(move |workload| (network, shape, workload))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockPolicy, DecidedNetwork, EndCounts, HostActivity};
    use serde_json::json;

    fn shape(flows: u32) -> Shape {
        Shape { flows, ..Shape::default() }
    }

    /// Returns a plan of two networks, two workloads of one name and two shapes.
    fn plan() -> Plan {
        let workload = |size: u64| {
            json!({
                "name": "tcp-stream", "parameters": { "size": size }, "duration": 1, "interval": 1,
                "warm_up": { "method": "auto" }, "metrics": [],
            })
        };
        let networks = ["veth", "bridge"].map(|name| json!({ "label": name, "network": name }));
        serde_json::from_value(json!({
            "study": "test", "seed": 1, "baseline": "veth", "margins": {}, "family": "metric",
            "networks": networks,
            "workloads": [workload(64), workload(4096)],
            "shapes": [shape(1), shape(16)],
            "blocks": BlockPolicy::Fixed { blocks: 2 }, "budget": null, "skipped": [],
        }))
        .unwrap()
    }

    fn broke(shape: Option<Shape>, size: Option<u64>) -> NetworkFailure {
        NetworkFailure {
            network: "bridge".to_owned(),
            shape,
            workload: size.map(|_| "tcp-stream".to_owned()),
            parameters: size.map(|size| ("size".to_owned(), size.into())).into_iter().collect(),
            ..NetworkFailure::default()
        }
    }

    fn trial(label: &str, size: u64, flows: u32, block: u32) -> Trial {
        serde_json::from_value(json!({
            "block": block, "phase": Phase::Main, "position": 0, "label": label, "network": label,
            "workload": "tcp-stream", "parameters": { "size": size }, "shape": shape(flows),
            "began": 0, "took": 1, "series": [], "hops": [], "findings": [],
            "ends": EndCounts::default(), "meanwhile": HostActivity::default(),
        }))
        .unwrap()
    }

    #[test]
    fn a_failure_takes_out_what_it_names_and_nothing_else() {
        let plan = plan();
        let one = RemainingPlan::after_failures(&plan, [&broke(Some(shape(16)), Some(4096))]);
        assert_eq!((one.trial_count(), one.turn_count()), (7, 4));
        assert!(!one.has_trial(1, 1, 1) && one.has_trial(1, 0, 1) && one.has_trial(1, 1, 0));
        let turn = RemainingPlan::after_failures(&plan, [&broke(Some(shape(16)), None)]);
        assert_eq!((turn.trial_count(), turn.turn_count()), (6, 3));
        assert!(!turn.has_turn(1, 1) && turn.has_turn(1, 0) && turn.has_turn(0, 1));
        let all = RemainingPlan::after_failures(&plan, [&broke(None, None)]);
        assert_eq!((all.trial_count(), all.turn_count()), (4, 2));
        let unknown = RemainingPlan::after_failures(&plan, [&broke(Some(shape(16)), Some(9000))]);
        assert_eq!(unknown, turn, "what cannot be told apart is not measured");
    }

    #[test]
    fn a_turn_ends_with_its_last_workload() {
        let plan = plan();
        let failures = [64, 4096].map(|size| broke(Some(shape(1)), Some(size)));
        let standing = RemainingPlan::after_failures(&plan, &failures);
        assert!(!standing.has_turn(1, 0) && standing.has_turn(1, 1) && !standing.is_empty());
    }

    #[test]
    fn a_decided_network_leaves_its_shape_and_the_baseline_is_the_last() {
        let plan = plan();
        let decided = |shapes: &[Shape]| InterimAnalysis {
            blocks: 1,
            information: 0.5,
            decided: shapes
                .iter()
                .map(|shape| DecidedNetwork { network: "bridge".into(), shape: shape.clone() })
                .collect(),
        };
        let mut standing = RemainingPlan::after_failures(&plan, &[]);
        standing.remove_decided(&plan, &decided(&[]));
        assert_eq!(standing.turn_count(), 4);
        standing.remove_decided(&plan, &decided(&[shape(16)]));
        assert_eq!(standing.turn_count(), 2, "nothing is left to compare the baseline with");
        assert!(standing.has_turn(0, 0) && standing.has_turn(1, 0));
        standing.remove_decided(&plan, &decided(&[shape(1)]));
        assert!(standing.is_empty());
        // The first block has both shapes, the second one what was left.
        let trials: Vec<Trial> = [(0, 1), (0, 16), (1, 1), (2, 16)]
            .into_iter()
            .flat_map(|(block, flows)| {
                ["veth", "bridge"].into_iter().flat_map(move |label| {
                    [64, 4096].map(move |size| trial(label, size, flows, block))
                })
            })
            .collect();
        let all: Vec<&Trial> = trials.iter().collect();
        let whole = |analyses: &[InterimAnalysis]| {
            RemainingPlan::whole_blocks(&plan, &all, Phase::Main, &[], analyses)
        };
        assert_eq!(whole(&[]), [0].into());
        assert_eq!(whole(&[decided(&[shape(16)])]), [0, 1].into());
        assert_eq!(whole(&[decided(&[shape(1), shape(16)])]), [0].into());
    }

    #[test]
    fn a_block_is_whole_by_what_stands() {
        let plan = plan();
        let standing = RemainingPlan::after_failures(&plan, [&broke(None, None)]);
        let of = |block| {
            [(64, 1), (64, 16), (4096, 1), (4096, 16)]
                .map(|(size, flows)| trial("veth", size, flows, block))
        };
        let mut trials: Vec<Trial> = of(0).into_iter().chain(of(1)).collect();
        trials.pop();
        trials.push(trial("bridge", 4096, 16, 1));
        let all: Vec<&Trial> = trials.iter().collect();
        assert_eq!(standing.complete_blocks(&plan, &all, Phase::Main), [0].into());
        assert!(standing.complete_blocks(&plan, &all, Phase::Pilot).is_empty());
        let none = RemainingPlan::after_failures(
            &plan,
            [
                &broke(None, None),
                &NetworkFailure { network: "veth".to_owned(), ..broke(None, None) },
            ],
        );
        assert!(none.is_empty() && none.complete_blocks(&plan, &all, Phase::Main).is_empty());
    }
}
