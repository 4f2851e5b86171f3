//! A study as it was written: every key may be missing, and layers lie over one another.

use crate::choose::label_of;
use crate::published::PublishedTable;
use crate::runs::RunStudy;
use crate::{Error, Percent, Span, WarmUpSpan};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tare_record::{
    Conclusion, Factor, Family, FamilyScope, Metric, Offload, Parameters, Placement, ProtocolField,
    Scale,
};

/// What somebody wrote: a TOML file, or flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Study {
    /// Its name.
    pub name: Option<String>,
    /// One line on what it asks.
    pub summary: Option<String>,
    /// Where its protocol was published.
    pub source: Option<String>,
    /// The networks, each `[LABEL=]NAME`; `all` stands for all that run here, `core` for the few that one begins with.
    pub networks: Option<Vec<String>>,
    /// The same under `--quick`.
    pub quick_networks: Option<Vec<String>>,
    /// The label of the network that ratios are against.
    pub baseline: Option<String>,
    /// What is changed, one at a time, of every network: each is measured beside the network itself.
    pub ablate: Option<Vec<Factor>>,
    /// The metrics wanted, of all that the workloads measure.
    pub metrics: Option<Vec<Metric>>,
    /// The workloads.
    #[serde(rename = "workload")]
    pub workloads: Option<Vec<WorkloadStudy>>,
    /// How many of what: every combination is measured.
    pub shape: ShapeLists,
    /// How it is measured.
    pub method: Method,
    /// Sections: which networks are measured under which workloads in which shapes. Without any, every combination is.
    #[serde(rename = "run")]
    pub runs: Vec<RunStudy>,
    /// How it is measured under `--scaled`.
    pub scaled: Method,
    /// The published protocol, field by field.
    pub protocol: Vec<ProtocolField>,
    /// The published figures, by the tables that they stand in.
    pub published: Vec<PublishedTable>,
    /// The published conclusions.
    #[serde(rename = "conclusion")]
    pub conclusions: Vec<Conclusion>,
    /// Who named the networks.
    #[serde(skip)]
    pub named_by: Origin,
    /// Whether `--scaled` has been laid over it.
    #[serde(skip)]
    pub scale: Scale,
    /// What `--scaled` changed, in words.
    #[serde(skip)]
    pub changes: Vec<String>,
}

/// Who named something: what a study of this binary names may be missing here, what a user names may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A user, in a file of theirs or by a flag.
    #[default]
    User,
    /// A study of this binary.
    BuiltIn,
}

/// One workload of a study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadStudy {
    /// Its name.
    pub name: String,
    /// How long payload flows in a trial.
    pub duration: Option<Span>,
    /// How the beginning of a trial is treated, where it is not the method's.
    pub warm_up: Option<WarmUpSpan>,
    /// The duration under `--quick`.
    pub quick_duration: Option<Span>,
    /// Whether `--quick` runs it; it does unless this says otherwise.
    pub quick: Option<bool>,
    /// Its parameters.
    #[serde(default)]
    pub parameters: Parameters,
    /// What is measured in its place where this build or machine lacks it.
    pub stand_in: Option<StandIn>,
    /// What it is under `--scaled`.
    pub scaled: Option<ScaledWorkload>,
    /// Who named it.
    #[serde(skip)]
    pub named_by: Origin,
}

/// A workload that is measured in the place of another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StandIn {
    /// Its name.
    pub name: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: Parameters,
}

/// What a workload is under `--scaled`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScaledWorkload {
    /// How long payload flows in a trial.
    pub duration: Option<Span>,
    /// Parameters other than the published ones.
    #[serde(default)]
    pub parameters: Parameters,
}

/// Lists of which every combination is a shape.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ShapeLists {
    /// Nodes.
    pub nodes: Option<Vec<u32>>,
    /// What the links between nodes are like, each as in `rate=10gbit,delay=100us,loss=0.01%,mtu=1500`.
    pub link: Option<Vec<String>>,
    /// Whether nodes lower the maximum segment size of TCP connections to what fits.
    pub clamp_mss: Option<bool>,
    /// What loads the nodes beside the traffic, each as in `cpu=2`.
    pub background: Option<Vec<String>>,
    /// Server containers.
    pub servers: Option<Vec<u32>>,
    /// Client containers.
    pub clients: Option<Vec<u32>>,
    /// Client processes in each client container.
    pub processes: Option<Vec<u32>>,
    /// Flows of each client process.
    pub flows: Option<Vec<u32>>,
    /// IP families.
    pub family: Option<Vec<Family>>,
    /// MTUs, bytes.
    pub mtu: Option<Vec<u32>>,
    /// Which cores the two sides run on.
    #[schemars(with = "Option<Vec<String>>")]
    pub cpus: Option<Vec<Placement>>,
    /// Offloads that are switched off, all of them in every shape.
    pub without: Option<Vec<Offload>>,
}

/// What ends the measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopping {
    /// The number of blocks that a pilot finds for the precision, fixed before the main phase.
    #[default]
    Pilot,
    /// Confidence sequences as narrow as the precision: looked at after every block.
    Sequence,
}

/// How a study is measured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Method {
    /// How many blocks, whatever the spread.
    pub blocks: Option<u32>,
    /// The half width of a ratio's 95 % interval to reach; nothing: half the metric's margin.
    pub precision: Option<Percent>,
    /// What ends the measuring where the number of blocks is not fixed.
    pub stopping: Option<Stopping>,
    /// The longest that the run may take.
    pub budget: Option<Span>,
    /// Blocks in the pilot; nothing: enough for a spread with six degrees of freedom.
    pub pilot: Option<u32>,
    /// The fewest blocks, whatever the pilot says.
    pub at_least: Option<u32>,
    /// The most blocks, whatever the pilot says.
    pub at_most: Option<u32>,
    /// How long payload flows in a trial, for workloads that do not say it themselves.
    pub duration: Option<Span>,
    /// How long an interval record is.
    pub interval: Option<Span>,
    /// How the beginning of a trial is treated.
    pub warm_up: Option<WarmUpSpan>,
    /// Over which ratios Holm's correction is made.
    pub family: Option<FamilyScope>,
    /// Equivalence margins, by metric.
    pub margins: BTreeMap<Metric, Percent>,
    /// The seed of every random choice.
    pub seed: Option<u64>,
}

impl Study {
    /// Reads a study file.
    ///
    /// # Errors
    /// When it cannot be read, or is not what a study looks like: with line and column.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let mut study = Self::parse(&text, &path.display().to_string())?;
        if study.name.is_none() {
            study.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        Ok(study)
    }

    /// Reads a study's text; `file` is for messages.
    ///
    /// # Errors
    /// When it is not what a study looks like: with line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let (line, column) = position(text, at);
            Error::Syntax {
                file: file.to_owned(),
                line,
                column,
                message: error.message().lines().collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// This study with another laid over it: what the upper one says counts, key by key.
    #[must_use]
    pub fn overlaid(self, upper: Self) -> Self {
        let named_by = if upper.networks.is_some() { upper.named_by } else { self.named_by };
        let networks = upper.networks.map(|labels| by_label(labels, self.networks.as_deref()));
        Self {
            runs: self
                .runs
                .into_iter()
                .filter_map(|run| run.narrowed(networks.as_deref(), &upper.shape))
                .chain(upper.runs)
                .collect(),
            named_by,
            scaled: self.scaled.overlaid(upper.scaled),
            protocol: chosen(self.protocol, upper.protocol),
            published: chosen(self.published, upper.published),
            conclusions: chosen(self.conclusions, upper.conclusions),
            scale: self.scale,
            changes: self.changes,
            name: upper.name.or(self.name),
            summary: upper.summary.or(self.summary),
            source: upper.source.or(self.source),
            quick_networks: upper.quick_networks.or(self.quick_networks),
            baseline: upper.baseline.or(self.baseline.filter(|label| stays(label, &networks))),
            networks: networks.or(self.networks),
            ablate: upper.ablate.or(self.ablate),
            metrics: upper.metrics.or(self.metrics),
            workloads: upper.workloads.or(self.workloads),
            shape: self.shape.overlaid(upper.shape),
            method: self.method.overlaid(upper.method),
        }
    }
}

/// What the upper layer says, or else the lower one.
fn chosen<T>(lower: Vec<T>, upper: Vec<T>) -> Vec<T> {
    if upper.is_empty() { lower } else { upper }
}

/// Networks as the lower layer spells those of these labels: `iptables` is `iptables=macvlan-nat` where it says so.
fn by_label(labels: Vec<String>, lower: Option<&[String]>) -> Vec<String> {
    let spelled = |label: String| {
        let lower = lower.unwrap_or_default().iter();
        let mut same = lower.filter(|text| label_of(text) == label);
        same.next().cloned().unwrap_or(label)
    };
    labels.into_iter().map(spelled).collect()
}

/// Whether the lower layer's baseline is among the upper layer's networks, where those are named.
fn stays(baseline: &str, networks: &Option<Vec<String>>) -> bool {
    let is = |text: &String| ["all", "core"].contains(&text.as_str()) || label_of(text) == baseline;
    networks.as_ref().is_none_or(|networks| networks.iter().any(is))
}

impl Study {
    /// All workloads that the study and its sections name.
    pub fn all_workloads_mut(&mut self) -> impl Iterator<Item = &mut WorkloadStudy> {
        let of_runs = self.runs.iter_mut().flat_map(|run| run.workloads.iter_mut().flatten());
        self.workloads.iter_mut().flatten().chain(of_runs)
    }
}

impl ShapeLists {
    /// These lists with others laid over them, key by key.
    pub(crate) fn overlaid(self, upper: Self) -> Self {
        Self {
            nodes: upper.nodes.or(self.nodes),
            processes: upper.processes.or(self.processes),
            link: upper.link.or(self.link),
            clamp_mss: upper.clamp_mss.or(self.clamp_mss),
            background: upper.background.or(self.background),
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

impl Method {
    /// This method with another laid over it, key by key.
    pub(crate) fn overlaid(self, upper: Self) -> Self {
        // Blocks and precision exclude each other, so the upper layer's choice of either displaces both below.
        let (blocks, precision) = if upper.blocks.is_some() || upper.precision.is_some() {
            (upper.blocks, upper.precision)
        } else {
            (self.blocks, self.precision)
        };
        let mut margins = self.margins;
        margins.extend(upper.margins);
        Self {
            blocks,
            precision,
            stopping: upper.stopping.or(self.stopping),
            budget: upper.budget.or(self.budget),
            pilot: upper.pilot.or(self.pilot),
            at_least: upper.at_least.or(self.at_least),
            at_most: upper.at_most.or(self.at_most),
            duration: upper.duration.or(self.duration),
            interval: upper.interval.or(self.interval),
            warm_up: upper.warm_up.or(self.warm_up),
            family: upper.family.or(self.family),
            margins,
            seed: upper.seed.or(self.seed),
        }
    }
}

/// Line and column, from 1, of a byte offset; columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_have_line_and_column() {
        let cases = [
            ("name = \"x\"\nnetwork = [\"bridge\"]\n", "s.toml:2:1: unknown field `network`"),
            ("[method]\nblocks = \"many\"\n", "s.toml:2:10: invalid type"),
            ("[method]\nbudget = \"soon\"\n", "s.toml:2:10: `soon` is no span of time"),
            ("networks = [\n", "s.toml:"),
        ];
        for (text, begin) in cases {
            let error = Study::parse(text, "s.toml").unwrap_err().to_string();
            assert!(error.starts_with(begin), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn the_upper_layer_counts_key_by_key() {
        let lower = Study::parse(
            "baseline = \"host\"\n[method]\nprecision = \"1%\"\npilot = 3\n[shape]\nflows = [1, 2]\n",
            "lower",
        );
        let upper = Study::parse("[method]\nblocks = 7\n[shape]\nclients = [4]\n", "upper");
        let both = lower.unwrap().overlaid(upper.unwrap());
        assert_eq!(both.baseline.as_deref(), Some("host"));
        assert_eq!(both.method.blocks, Some(7));
        assert_eq!(both.method.precision, None);
        assert_eq!(both.method.pilot, Some(3));
        assert_eq!(both.shape.flows, Some(vec![1, 2]));
        assert_eq!(both.shape.clients, Some(vec![4]));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in ".{0,80}") {
            let _ = Study::parse(&text, "x");
        }
    }
}
