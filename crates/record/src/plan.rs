//! What will be measured: a study, validated and expanded. The journal keeps it, so that a run can be resumed on it.

use crate::{Ablation, Finding, Metric, Nanos, Parameters, Publication, Shape, Skipped, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its label in this run: its name unless the user gave another.
    pub label: String,
    /// Its name, with its options: `bridge`, `veth+plain`.
    pub network: String,
}

/// How the beginning of a trial is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "method", content = "length")]
pub enum WarmUp {
    /// Find it (MSER), where there are enough intervals; else cut a declared share.
    #[default]
    Auto,
    /// Discard this long, ns.
    Fixed(Nanos),
}

/// A workload with its parameters and times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadPlan {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// How long payload flows in a trial, ns.
    pub duration: Nanos,
    /// How long an interval record is, ns.
    pub interval: Nanos,
    /// How the beginning is treated.
    pub warm_up: WarmUp,
    /// The metrics asked of it.
    pub metrics: Vec<Metric>,
    /// The workload in whose place it stands, where this build or machine lacks that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

/// Networks, workloads and shapes of which every combination is measured, by their places in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The networks.
    pub networks: Vec<usize>,
    /// The workloads.
    pub workloads: Vec<usize>,
    /// The shapes.
    pub shapes: Vec<usize>,
}

impl WorkloadPlan {
    /// The name of one of these workloads, with the parameters that tell it from others of that name:
    /// `udp-rate,rate=10mbit`.
    #[must_use]
    pub fn variant(all: &[Self], index: usize) -> String {
        let one = &all[index];
        let others = || all.iter().filter(|other| other.name == one.name);
        let telling = one
            .parameters
            .iter()
            .filter(|(name, value)| {
                others().any(|other| other.parameters.get(*name) != Some(*value))
            })
            .map(|(name, value)| match value.as_str() {
                Some(text) => format!(",{name}={text}"),
                None => format!(",{name}={value}"),
            });
        std::iter::once(one.name.clone()).chain(telling).collect()
    }

    /// Which of these workloads had these parameters in force: that of its name; of several with that name the first
    /// of those whose parameters agree most.
    #[must_use]
    pub fn find(all: &[Self], name: &str, in_force: &Parameters) -> Option<usize> {
        let agreeing = |asked: &Parameters| {
            asked.iter().filter(|(name, value)| in_force.get(*name) == Some(*value)).count()
        };
        all.iter()
            .enumerate()
            .filter(|(_, workload)| workload.name == name)
            .rev()
            .max_by_key(|(_, workload)| agreeing(&workload.parameters))
            .map(|(index, _)| index)
    }
}

/// How the number of blocks is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Blocks {
    /// As many as the user said.
    Fixed {
        /// How many.
        blocks: u32,
    },
    /// As many as the pilot's spread asks for.
    Precision {
        /// The half width of a ratio's 95 % interval to reach; nothing: half the metric's margin.
        precision: Option<f64>,
        /// Blocks in the pilot.
        pilot: u32,
        /// The fewest blocks, whatever the pilot says.
        at_least: u32,
        /// The most blocks, whatever the pilot says.
        at_most: u32,
    },
    /// Until the confidence sequences of all ratios are as narrow as asked: looked at after every block, and paid for by wider
    /// intervals.
    Sequence {
        /// The half width to reach; nothing: half the metric's margin.
        precision: Option<f64>,
        /// The fewest blocks.
        at_least: u32,
        /// The most blocks.
        at_most: u32,
    },
}

/// Over which ratios Holm's correction is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FamilyScope {
    /// All networks' ratios of one metric of one workload in one shape.
    #[default]
    Metric,
    /// All ratios of one workload in one shape.
    Workload,
    /// All ratios of the study.
    Study,
}

/// A study, validated, expanded and seeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The study's name.
    pub study: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// The networks under comparison.
    pub networks: Vec<Entry>,
    /// Which of them are others with one thing changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ablations: Vec<Ablation>,
    /// Which real system each network is or stands for, by the network's name.
    #[serde(default)]
    pub stands_for: BTreeMap<String, String>,
    /// The label of the baseline.
    pub baseline: String,
    /// The workloads, each run on every network in every block.
    pub workloads: Vec<WorkloadPlan>,
    /// The metrics asked of the networks themselves, whatever the workload ([`Metric::of_network`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raising: Vec<Metric>,
    /// The shapes.
    pub shapes: Vec<Shape>,
    /// The equivalence margin of every metric.
    pub margins: BTreeMap<Metric, f64>,
    /// Holm's family.
    pub family: FamilyScope,
    /// How the number of blocks is found.
    pub blocks: Blocks,
    /// The longest that the run may take, ns.
    pub budget: Option<Nanos>,
    /// Networks that were asked for or belong to `all`, and cannot run here.
    pub skipped: Vec<Skipped>,
    /// Those of them that were asked for by name: a run without them has failed to do all it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Which combinations are measured; nothing: every network under every workload in every shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What was noticed while planning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the study's source published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
}

impl Plan {
    /// Whether a network is measured under a workload in a shape, each by its place in the plan.
    #[must_use]
    pub fn measures(&self, network: usize, workload: usize, shape: usize) -> bool {
        self.parts.is_empty()
            || self.parts.iter().any(|part| {
                part.networks.contains(&network)
                    && part.workloads.contains(&workload)
                    && part.shapes.contains(&shape)
            })
    }

    /// The workloads that a network is measured under in a shape, by their places in the plan.
    pub fn workloads_of(&self, network: usize, shape: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.workloads.len()).filter(move |&workload| self.measures(network, workload, shape))
    }

    /// The network and the shape of a turn, by their places in this plan.
    #[must_use]
    pub fn place_of_turn(&self, label: &str, shape: &Shape) -> Option<(usize, usize)> {
        let network = self.networks.iter().position(|entry| entry.label == label)?;
        Some((network, self.shapes.iter().position(|one| one == shape)?))
    }

    /// A trial's shape, workload and network in this plan.
    #[must_use]
    pub fn place(&self, trial: &Trial) -> Option<(usize, usize, usize)> {
        let (network, shape) = self.place_of_turn(&trial.label, &trial.shape)?;
        let workload = WorkloadPlan::find(&self.workloads, &trial.workload, &trial.parameters)?;
        Some((shape, workload, network))
    }
}

/// How many blocks there will be and why: written to the journal before the main phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizing {
    /// How many blocks.
    pub blocks: u32,
    /// How many the asked precision needs, were there no budget.
    pub needed: u32,
    /// How long a block takes, as the pilot saw it, ns.
    pub block_time: Nanos,
    /// What decided: `blocks`, `precision` or `budget`.
    pub decided_by: crate::StoppedBy,
    /// The spread of the log ratio over the pilot's blocks, per workload and metric, pooled over networks.
    pub spreads: BTreeMap<String, f64>,
}
