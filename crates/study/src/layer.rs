//! Study as written: every key may be missing, and layers are overlaid.

use crate::Error;
use crate::label::label_of;
use crate::published_table::PublishedTable;
use crate::section_spec::StudySection;
use crate::spec::{NameOrigin, ShapeLists, StudyMethod, WorkloadSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;
use tare_record::{
    AblationFactor, Conclusion, Metric, ProtocolField, ProtocolScale, StudyQuestion,
};

/// Study as written in a TOML file or by flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Study {
    /// Name of the study.
    pub name: Option<String>,
    /// Summary of its question in one line.
    pub summary: Option<String>,
    /// Publication of its protocol.
    pub source: Option<String>,
    /// Networks, each `[LABEL=]NAME`; `all` stands for all that run here, `core` for a small selection.
    pub networks: Option<Vec<String>>,
    /// Networks under `--quick`, each `[LABEL=]NAME`.
    pub quick_networks: Option<Vec<String>>,
    /// Label of the network that ratios refer to.
    pub baseline: Option<String>,
    /// Changes to every network, one at a time: each variant is measured beside the network itself.
    pub ablate: Option<Vec<AblationFactor>>,
    /// Metrics to report, of all that the workloads measure.
    pub metrics: Option<Vec<Metric>>,
    /// Workloads to run.
    #[serde(rename = "workload")]
    pub workloads: Option<Vec<WorkloadSpec>>,
    /// Shapes: every combination of the values is measured.
    pub shape: ShapeLists,
    /// Method of measurement.
    pub method: StudyMethod,
    /// Sections: the networks that are measured under certain workloads in certain shapes. Without sections, every
    /// combination is measured.
    #[serde(rename = "run")]
    pub runs: Vec<StudySection>,
    /// Method of measurement under `--scaled`.
    pub scaled: StudyMethod,
    /// Question that the study answers by its conclusions.
    pub question: Option<StudyQuestion>,
    /// Published protocol, field by field.
    pub protocol: Vec<ProtocolField>,
    /// Published figures, by table.
    pub published: Vec<PublishedTable>,
    /// Published conclusions.
    #[serde(rename = "conclusion")]
    pub conclusions: Vec<Conclusion>,
    /// Origin of the names of the networks.
    #[serde(skip)]
    pub named_by: NameOrigin,
    /// Scale, which says whether `--scaled` has been applied.
    #[serde(skip)]
    pub scale: ProtocolScale,
    /// Changes by `--scaled`, in words.
    #[serde(skip)]
    pub changes: Vec<String>,
}

impl Study {
    /// Reads a study file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if it is not a valid study; the error has line and column.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let mut study = Self::parse(&text, &path.display().to_string())?;
        if study.name.is_none() {
            study.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        Ok(study)
    }

    /// Parses the text of a study; `file` is used in error messages.
    ///
    /// # Errors
    /// Fails if the text is not a valid study; the error has line and column.
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

    /// Returns this study with another laid over it. The upper study's value of a key takes precedence.
    #[must_use]
    pub fn overlaid(self, upper: Self) -> Self {
        let named_by = if upper.networks.is_some() { upper.named_by } else { self.named_by };
        let networks =
            upper.networks.map(|labels| spell_by_label(labels, self.networks.as_deref()));
        Self {
            runs: self
                .runs
                .into_iter()
                .filter_map(|run| run.narrowed(networks.as_deref(), &upper.shape))
                .chain(upper.runs)
                .collect(),
            named_by,
            scaled: self.scaled.overlaid(upper.scaled),
            question: upper.question.or(self.question),
            protocol: upper_or_lower(self.protocol, upper.protocol),
            published: upper_or_lower(self.published, upper.published),
            conclusions: upper_or_lower(self.conclusions, upper.conclusions),
            scale: self.scale,
            changes: self.changes,
            name: upper.name.or(self.name),
            summary: upper.summary.or(self.summary),
            source: upper.source.or(self.source),
            quick_networks: upper.quick_networks.or(self.quick_networks),
            baseline: upper
                .baseline
                .or(self.baseline.filter(|label| has_baseline(label, &networks))),
            networks: networks.or(self.networks),
            ablate: upper.ablate.or(self.ablate),
            metrics: upper.metrics.or(self.metrics),
            workloads: upper.workloads.or(self.workloads),
            shape: self.shape.overlaid(upper.shape),
            method: self.method.overlaid(upper.method),
        }
    }
}

/// Returns the upper layer's list, or the lower one's if it is empty.
fn upper_or_lower<T>(lower: Vec<T>, upper: Vec<T>) -> Vec<T> {
    if upper.is_empty() { lower } else { upper }
}

/// Spells networks as the lower layer spells those with the same labels: `iptables` becomes `iptables=macvlan-nat` if
/// the lower layer says so.
fn spell_by_label(labels: Vec<String>, lower: Option<&[String]>) -> Vec<String> {
    let spelled = |label: String| {
        let lower = lower.unwrap_or_default().iter();
        let mut same = lower.filter(|text| label_of(text) == label);
        same.next().cloned().unwrap_or(label)
    };
    labels.into_iter().map(spelled).collect()
}

/// Returns true if the lower layer's baseline is among the upper layer's networks, or if that names none.
fn has_baseline(baseline: &str, networks: &Option<Vec<String>>) -> bool {
    let is = |text: &String| ["all", "core"].contains(&text.as_str()) || label_of(text) == baseline;
    networks.as_ref().is_none_or(|networks| networks.iter().any(is))
}

impl Study {
    /// Returns all workloads that the study and its sections name.
    pub fn all_workloads_mut(&mut self) -> impl Iterator<Item = &mut WorkloadSpec> {
        let of_runs = self.runs.iter_mut().flat_map(|run| run.workloads.iter_mut().flatten());
        self.workloads.iter_mut().flatten().chain(of_runs)
    }
}

/// Returns line and column, from 1, of a byte offset; columns count characters.
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
            ("[method]\nbudget = \"soon\"\n", "s.toml:2:10: invalid time span `soon`"),
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
