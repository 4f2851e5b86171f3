//! Parts of a study as written: workloads, lists of shapes, the method.

use crate::{Percent, SliceLength, TimeSpan, WarmUpSpan};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use tare_record::{CorrectionFamily, Family, Metric, Offload, Parameters, Placement};

/// Origin of a name. A network or workload that a built-in study names may be missing here; one that a user names may
/// not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameOrigin {
    /// User, in a study file or by a flag.
    #[default]
    User,
    /// Built-in study.
    BuiltIn,
}

/// Workload of a study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadSpec {
    /// Name of the workload.
    pub name: String,
    /// Time during which payload flows in a trial.
    pub duration: Option<TimeSpan>,
    /// Treatment of the warm-up, if it is not the method's.
    pub warm_up: Option<WarmUpSpan>,
    /// Duration under `--quick`.
    pub quick_duration: Option<TimeSpan>,
    /// Time during which payload flows in the slices of a block together, if the networks are woven; nothing: the
    /// duration.
    pub woven_duration: Option<TimeSpan>,
    /// False if `--quick` leaves the workload out.
    pub quick: Option<bool>,
    /// Parameters of the workload.
    #[serde(default)]
    pub parameters: Parameters,
    /// Workload that is measured instead if this build or machine does not have this one.
    pub stand_in: Option<StandIn>,
    /// Workload of the source that this one replaces wherever the study is run.
    pub stands_for: Option<ReplacedWorkload>,
    /// Changes under `--scaled`.
    pub scaled: Option<ScaledWorkload>,
    /// Origin of the name.
    #[serde(skip)]
    pub named_by: NameOrigin,
}

/// Workload that is measured instead of another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StandIn {
    /// Name of the workload.
    pub name: String,
    /// Parameters of the workload.
    #[serde(default)]
    pub parameters: Parameters,
}

/// Workload of a study's source that cannot be measured as the source did, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplacedWorkload {
    /// Name of the workload, with which the published figures and the conclusions are given.
    pub name: String,
    /// Reason, and the shapes that it concerns: it completes `USED was measured instead of NAME: …`.
    pub reason: String,
}

/// Changes to a workload under `--scaled`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScaledWorkload {
    /// Time during which payload flows in a trial.
    pub duration: Option<TimeSpan>,
    /// Parameters that differ from the published ones.
    #[serde(default)]
    pub parameters: Parameters,
    /// Names of published parameters that are left out.
    #[serde(default)]
    pub without: Vec<String>,
    /// Workload that is measured instead, because the published one does not fit into short trials.
    pub stand_in: Option<ScaledStandIn>,
}

/// Workload that is measured instead of the published one under `--scaled`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScaledStandIn {
    /// Name of the workload.
    pub name: String,
    /// Parameters of the workload.
    #[serde(default)]
    pub parameters: Parameters,
    /// Reason: it completes `USED was measured instead of NAME: …`.
    pub reason: String,
}

/// Lists of which every combination is a shape.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ShapeLists {
    /// Numbers of nodes.
    pub nodes: Option<Vec<u32>>,
    /// Links between nodes, each as in `rate=10gbit,delay=100us,loss=0.01%,mtu=1500`.
    pub link: Option<Vec<String>>,
    /// True if nodes lower the maximum segment size of TCP connections to what fits.
    pub clamp_mss: Option<bool>,
    /// Background loads of the nodes, each as in `cpu=2`.
    pub background: Option<Vec<String>>,
    /// Number of pairs of a cluster's nodes, each of which is measured.
    pub node_pairs: Option<u32>,
    /// Numbers of server containers.
    pub servers: Option<Vec<u32>>,
    /// Numbers of client containers.
    pub clients: Option<Vec<u32>>,
    /// Numbers of client processes in each client container.
    pub processes: Option<Vec<u32>>,
    /// Numbers of flows of each client process.
    pub flows: Option<Vec<u32>>,
    /// IP families.
    pub family: Option<Vec<Family>>,
    /// MTUs, bytes.
    pub mtu: Option<Vec<u32>>,
    /// Placements of the two sides on cores.
    #[schemars(with = "Option<Vec<String>>")]
    pub cpus: Option<Vec<Placement>>,
    /// Offloads to disable, all of them in every shape.
    pub without: Option<Vec<Offload>>,
}

impl ShapeLists {
    /// Returns these lists with others laid over them, key by key.
    pub(crate) fn overlaid(self, upper: Self) -> Self {
        Self {
            nodes: upper.nodes.or(self.nodes),
            processes: upper.processes.or(self.processes),
            link: upper.link.or(self.link),
            clamp_mss: upper.clamp_mss.or(self.clamp_mss),
            background: upper.background.or(self.background),
            node_pairs: upper.node_pairs.or(self.node_pairs),
            servers: upper.servers.or(self.servers),
            clients: upper.clients.or(self.clients),
            flows: upper.flows.or(self.flows),
            family: upper.family.or(self.family),
            mtu: upper.mtu.or(self.mtu),
            cpus: upper.cpus.or(self.cpus),
            without: upper.without.or(self.without),
        }
    }
}

/// Stopping rule of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppingRule {
    /// A few planned analyses decide network by network whether more blocks are needed. The rule of woven networks.
    GroupSequential,
    /// The pilot determines the number of blocks for the precision, before the main phase. The rule of trials in one
    /// piece.
    Pilot,
    /// The measurement ends when confidence sequences are as narrow as the precision; they are checked after every
    /// block.
    Sequence,
}

/// Number of blocks of a woven run, and its budget: a block takes as long as the slices of all networks, however many
/// they are, so the time decides how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WovenMethod {
    /// Largest number of blocks.
    pub blocks: u32,
    /// Longest time that the run may take.
    pub budget: TimeSpan,
}

/// Method of measurement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StudyMethod {
    /// Number of blocks, whatever the spread. Laid over another method, it ends that method's budget.
    pub blocks: Option<u32>,
    /// Half width of a ratio's 95 % confidence interval to reach; nothing: half the metric's margin.
    pub precision: Option<Percent>,
    /// Stopping rule if the number of blocks is not fixed; nothing: that of woven networks, or of trials in one piece.
    pub stopping: Option<StoppingRule>,
    /// Longest time that the run may take.
    pub budget: Option<TimeSpan>,
    /// Number of blocks in the pilot; nothing: enough for a spread with six degrees of freedom.
    pub pilot: Option<u32>,
    /// Smallest number of blocks, whatever the pilot's spread.
    pub at_least: Option<u32>,
    /// Largest number of blocks, whatever the pilot's spread.
    pub at_most: Option<u32>,
    /// Time during which payload flows in a trial, for workloads without a duration of their own.
    pub duration: Option<TimeSpan>,
    /// Length of an interval record.
    pub interval: Option<TimeSpan>,
    /// Treatment of the warm-up of a trial.
    pub warm_up: Option<WarmUpSpan>,
    /// Length of the slices in which the networks of a block are woven; nothing: trials run in one piece. A duration, an
    /// interval or a warm-up that is laid over it turns it off.
    pub slice: Option<SliceLength>,
    /// Number of blocks and budget if the networks are woven, in the place of the method's.
    pub woven: Option<WovenMethod>,
    /// Family of ratios over which Holm's correction is computed.
    pub family: Option<CorrectionFamily>,
    /// Equivalence margins, by metric.
    pub margins: BTreeMap<Metric, Percent>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
}

impl StudyMethod {
    /// Returns this method with another laid over it, key by key.
    pub(crate) fn overlaid(self, upper: Self) -> Self {
        // Blocks and precision exclude each other, so the upper layer's choice of either replaces both below.
        let (blocks, precision) = if upper.blocks.is_some() || upper.precision.is_some() {
            (upper.blocks, upper.precision)
        } else {
            (self.blocks, self.precision)
        };
        let is_timed =
            upper.duration.is_some() || upper.interval.is_some() || upper.warm_up.is_some();
        let below = if is_timed { self.slice.map(|_| SliceLength::Off) } else { self.slice };
        let is_sized = upper.blocks.is_some() || upper.precision.is_some();
        let woven_below = self
            .woven
            .filter(|_| !is_sized)
            .map(|woven| WovenMethod { budget: upper.budget.unwrap_or(woven.budget), ..woven });
        // A number of blocks ends a budget below it as well: a request for fifty blocks is one for all fifty.
        let budget_below = self.budget.filter(|_| upper.blocks.is_none());
        let mut margins = self.margins;
        margins.extend(upper.margins);
        Self {
            blocks,
            precision,
            stopping: upper.stopping.or(self.stopping),
            budget: upper.budget.or(budget_below),
            pilot: upper.pilot.or(self.pilot),
            at_least: upper.at_least.or(self.at_least),
            at_most: upper.at_most.or(self.at_most),
            duration: upper.duration.or(self.duration),
            interval: upper.interval.or(self.interval),
            warm_up: upper.warm_up.or(self.warm_up),
            slice: upper.slice.or(below),
            woven: upper.woven.or(woven_below),
            family: upper.family.or(self.family),
            margins,
            seed: upper.seed.or(self.seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(text: &str) -> StudyMethod {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_budget_laid_over_is_that_of_woven_networks_too_and_a_number_of_blocks_ends_it() {
        let below = "[woven]\nblocks = 1000\nbudget = \"56s\"\n";
        let woven = |upper: &str| method(below).overlaid(method(upper)).woven;
        let of = |budget: &str| method(&below.replace("56s", budget)).woven;
        assert_eq!(woven(""), of("56s"));
        assert_eq!(woven("budget = \"2m\""), of("2m"));
        assert_eq!(woven("blocks = 5"), None);
        assert_eq!(woven("blocks = 5\nbudget = \"2m\""), None);
        assert_eq!(woven("precision = \"1%\""), None);
    }

    #[test]
    fn a_number_of_blocks_ends_the_budget_below_it() {
        let five_minutes = method("budget = \"5m\"");
        let budget = |upper: &str| five_minutes.clone().overlaid(method(upper)).budget;
        assert_eq!(budget("precision = \"1%\""), five_minutes.budget);
        assert_eq!(budget("blocks = 50"), None);
        assert_eq!(budget("blocks = 50\nbudget = \"2m\""), method("budget = \"2m\"").budget);
    }
}
