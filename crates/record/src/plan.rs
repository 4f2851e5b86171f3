//! Plan of a run: a validated and expanded study. The journal stores it, so that a run can be resumed from it.

use crate::{
    Ablation, Finding, Metric, Nanos, Parameters, Publication, Shape, SkippedNetwork, SlicePlan,
    Trial,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Network under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkEntry {
    /// Label in this run: the network's name, unless the user gave another.
    pub label: String,
    /// Name with its options: `bridge`, `veth+plain`.
    pub network: String,
}

/// Treatment of the warm-up of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "method", content = "length")]
pub enum WarmUpPolicy {
    /// The warm-up is detected (MSER) if there are enough intervals; otherwise a declared share is removed.
    #[default]
    Auto,
    /// This time is discarded, ns.
    Fixed(Nanos),
}

/// Workload with its parameters and times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadPlan {
    /// Name of the workload.
    pub name: String,
    /// Parameters of the workload.
    pub parameters: Parameters,
    /// Time during which payload flows in a trial, ns.
    pub duration: Nanos,
    /// Length of an interval record, ns.
    pub interval: Nanos,
    /// Treatment of the warm-up.
    pub warm_up: WarmUpPolicy,
    /// Requested metrics.
    pub metrics: Vec<Metric>,
    /// Slices of a trial, if those of all networks are woven; the duration and the interval are those of slice time.
    /// `None`: a trial runs in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<SlicePlan>,
    /// Lengths of a slice that the first blocks try, one each, ns; the run goes on with the best. Empty: all slices have
    /// the same length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slice_lengths: Vec<Nanos>,
    /// Workload of the study that this one replaces, because this build or machine does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

/// Part of a plan: networks, workloads and shapes, by their indices in the plan, of which every combination is
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSection {
    /// Indices of the networks.
    pub networks: Vec<usize>,
    /// Indices of the workloads.
    pub workloads: Vec<usize>,
    /// Indices of the shapes.
    pub shapes: Vec<usize>,
}

impl WorkloadPlan {
    /// Returns the name of one of these workloads, with the parameters that distinguish it from others of that name:
    /// `udp-rate,rate=10mbit`.
    #[must_use]
    pub fn distinct_name(all: &[Self], index: usize) -> String {
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

    /// Returns the index of the workload with this name whose parameters agree with those in force. If several
    /// workloads have the name, the first of those with the most matching parameters is taken. Returns `None` if none
    /// has the name.
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

/// Rule that determines the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum BlockPolicy {
    /// Number that the user or the study fixed.
    Fixed {
        /// Number of blocks.
        blocks: u32,
    },
    /// Number that the pilot's spread requires for a precision.
    Precision {
        /// Half width of a ratio's 95 % confidence interval to reach; `None`: half the metric's margin.
        precision: Option<f64>,
        /// Number of blocks in the pilot.
        pilot: u32,
        /// Smallest number of blocks, whatever the pilot's spread.
        at_least: u32,
        /// Largest number of blocks, whatever the pilot's spread.
        at_most: u32,
    },
    /// Number at which the confidence sequences of all ratios are as narrow as requested. They may be checked after
    /// every block, at the cost of wider intervals.
    Sequence {
        /// Half width to reach; `None`: half the metric's margin.
        precision: Option<f64>,
        /// Smallest number of blocks.
        at_least: u32,
        /// Largest number of blocks.
        at_most: u32,
    },
    /// Number at which a few planned interim analyses find every network decided, and at most the number that the first
    /// blocks' spread requires for a precision.
    GroupSequential {
        /// Half width of a ratio's 95 % confidence interval to reach; `None`: half the metric's margin.
        precision: Option<f64>,
        /// Number of blocks whose spread gives the largest number. They are part of the result.
        pilot: u32,
        /// Smallest number of blocks, and number of blocks before the first interim analysis.
        at_least: u32,
        /// Largest number of blocks, whatever the spread.
        at_most: u32,
    },
}

impl BlockPolicy {
    /// Returns the largest number of blocks of the result, with the decision on it if that is made.
    #[must_use]
    pub fn most_blocks(self, sizing: Option<&Sizing>) -> u32 {
        match self {
            Self::Fixed { blocks } => blocks,
            Self::Sequence { at_most, .. } => at_most,
            Self::Precision { at_most, .. } => sizing.map_or(at_most, |sizing| sizing.blocks),
            // Blocks become shorter as networks leave, so that those which fit into a budget are not known.
            Self::GroupSequential { at_least, at_most, .. } => {
                sizing.map_or(at_most, |sizing| sizing.needed.clamp(at_least, at_most))
            }
        }
    }
}

/// Family of ratios over which Holm's correction is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CorrectionFamily {
    /// Ratios of all networks for one metric of one workload in one shape.
    #[default]
    Metric,
    /// All ratios of one workload in one shape.
    Workload,
    /// All ratios of the study.
    Study,
}

/// Study that is validated, expanded and seeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Name of the study.
    pub study: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Networks under comparison.
    pub networks: Vec<NetworkEntry>,
    /// Networks that are variants of others with one change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ablations: Vec<Ablation>,
    /// Real system that each network is or stands for, by network name.
    #[serde(default)]
    pub stands_for: BTreeMap<String, String>,
    /// Label of the baseline.
    pub baseline: String,
    /// Workloads, each run on every network in every block.
    pub workloads: Vec<WorkloadPlan>,
    /// Requested metrics of the networks themselves, whatever the workload ([`Metric::is_of_network`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raising: Vec<Metric>,
    /// Shapes to measure.
    pub shapes: Vec<Shape>,
    /// Equivalence margin of every metric.
    pub margins: BTreeMap<Metric, f64>,
    /// Family of Holm's correction.
    pub family: CorrectionFamily,
    /// Rule that determines the number of blocks.
    pub blocks: BlockPolicy,
    /// Longest time that the run may take, ns.
    pub budget: Option<Nanos>,
    /// Networks that were requested or belong to `all`, and cannot run here.
    pub skipped: Vec<SkippedNetwork>,
    /// Skipped networks that were requested by name. A run without them has not done everything requested of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Parts that are measured. Without any, every network is measured under every workload in every shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PlanSection>,
    /// Findings from planning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Default TCP congestion control of the network namespaces that tare makes: that of programs which choose none.
    /// `None`: the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_congestion: Option<String>,
    /// Published protocol, figures and conclusions of the study's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
}

impl Plan {
    /// Returns true if a network is measured under a workload in a shape, each by its index in the plan.
    #[must_use]
    pub fn measures(&self, network: usize, workload: usize, shape: usize) -> bool {
        self.parts.is_empty()
            || self.parts.iter().any(|part| {
                part.networks.contains(&network)
                    && part.workloads.contains(&workload)
                    && part.shapes.contains(&shape)
            })
    }

    /// Returns the indices of the workloads that a network is measured under in a shape.
    pub fn workloads_of(&self, network: usize, shape: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.workloads.len()).filter(move |&workload| self.measures(network, workload, shape))
    }

    /// Returns the indices of a turn's network and shape. Returns `None` if the plan does not have them.
    #[must_use]
    pub fn locate_turn(&self, label: &str, shape: &Shape) -> Option<(usize, usize)> {
        let network = self.networks.iter().position(|entry| entry.label == label)?;
        Some((network, self.shapes.iter().position(|one| one == shape)?))
    }

    /// Returns the indices of a trial's shape, workload and network. Returns `None` if the plan does not have them.
    #[must_use]
    pub fn locate_trial(&self, trial: &Trial) -> Option<(usize, usize, usize)> {
        let (network, shape) = self.locate_turn(&trial.label, &trial.shape)?;
        let workload = WorkloadPlan::find(&self.workloads, &trial.workload, &trial.parameters)?;
        Some((shape, workload, network))
    }
}

/// Number of blocks and the reason for it, written to the journal before the main phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizing {
    /// Number of blocks.
    pub blocks: u32,
    /// Number of blocks that the requested precision needs, without regard to the budget.
    pub needed: u32,
    /// Duration of a block, measured in the pilot, ns.
    pub block_time: Nanos,
    /// Rule that decided: `blocks`, `precision` or `budget`.
    pub decided_by: crate::StoppedBy,
    /// Spread of the log ratio over the pilot's blocks, by workload and metric, pooled over networks.
    pub spreads: BTreeMap<String, f64>,
}
