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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocks, Ends, Meanwhile};
    use serde_json::json;

    fn shape(flows: u32) -> Shape {
        Shape { flows, ..Shape::default() }
    }

    /// Two networks, two workloads of one name, two shapes.
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
            "blocks": Blocks::Fixed { blocks: 2 }, "budget": null, "skipped": [],
        }))
        .unwrap()
    }

    fn broke(shape: Option<Shape>, size: Option<u64>) -> Failure {
        Failure {
            network: "bridge".to_owned(),
            shape,
            workload: size.map(|_| "tcp-stream".to_owned()),
            parameters: size.map(|size| ("size".to_owned(), size.into())).into_iter().collect(),
            ..Failure::default()
        }
    }

    fn trial(label: &str, size: u64, flows: u32, block: u32) -> Trial {
        serde_json::from_value(json!({
            "block": block, "phase": Phase::Main, "position": 0, "label": label, "network": label,
            "workload": "tcp-stream", "parameters": { "size": size }, "shape": shape(flows),
            "began": 0, "took": 1, "series": [], "hops": [], "findings": [],
            "ends": Ends::default(), "meanwhile": Meanwhile::default(),
        }))
        .unwrap()
    }

    #[test]
    fn a_failure_takes_out_what_it_names_and_nothing_else() {
        let plan = plan();
        let one = Standing::after(&plan, [&broke(Some(shape(16)), Some(4096))]);
        assert_eq!((one.trials(), one.turns()), (7, 4));
        assert!(!one.has_trial(1, 1, 1) && one.has_trial(1, 0, 1) && one.has_trial(1, 1, 0));
        let turn = Standing::after(&plan, [&broke(Some(shape(16)), None)]);
        assert_eq!((turn.trials(), turn.turns()), (6, 3));
        assert!(!turn.has_turn(1, 1) && turn.has_turn(1, 0) && turn.has_turn(0, 1));
        let all = Standing::after(&plan, [&broke(None, None)]);
        assert_eq!((all.trials(), all.turns()), (4, 2));
        let unknown = Standing::after(&plan, [&broke(Some(shape(16)), Some(9000))]);
        assert_eq!(unknown, turn, "what cannot be told apart is not measured");
    }

    #[test]
    fn a_turn_ends_with_its_last_workload() {
        let plan = plan();
        let failures = [64, 4096].map(|size| broke(Some(shape(1)), Some(size)));
        let standing = Standing::after(&plan, &failures);
        assert!(!standing.has_turn(1, 0) && standing.has_turn(1, 1) && !standing.is_empty());
    }

    #[test]
    fn a_block_is_whole_by_what_stands() {
        let plan = plan();
        let standing = Standing::after(&plan, [&broke(None, None)]);
        let of = |block| {
            [(64, 1), (64, 16), (4096, 1), (4096, 16)]
                .map(|(size, flows)| trial("veth", size, flows, block))
        };
        let mut trials: Vec<Trial> = of(0).into_iter().chain(of(1)).collect();
        trials.pop();
        trials.push(trial("bridge", 4096, 16, 1));
        let all: Vec<&Trial> = trials.iter().collect();
        assert_eq!(standing.whole_blocks(&plan, &all, Phase::Main), [0].into());
        assert!(standing.whole_blocks(&plan, &all, Phase::Pilot).is_empty());
        let none = Standing::after(
            &plan,
            [&broke(None, None), &Failure { network: "veth".to_owned(), ..broke(None, None) }],
        );
        assert!(none.is_empty() && none.whole_blocks(&plan, &all, Phase::Main).is_empty());
    }
}
