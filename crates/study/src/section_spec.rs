//! Section of a study as written.

use crate::label::label_of;
use crate::spec::{ShapeLists, WorkloadSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// Section of a study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StudySection {
    /// Labels of its networks; nothing: all of the study's.
    pub networks: Option<Vec<String>>,
    /// Workloads of the section; nothing: the study's.
    #[serde(rename = "workload")]
    pub workloads: Option<Vec<WorkloadSpec>>,
    /// Shapes of the section, each key laid over the study's; nothing: the study's.
    #[serde(rename = "shape")]
    pub shapes: Vec<ShapeLists>,
}

impl StudySection {
    /// Returns this section under an upper layer's networks and shape. Returns `None` if it has none of those networks.
    pub(crate) fn narrowed(
        mut self,
        networks: Option<&[String]>,
        shape: &ShapeLists,
    ) -> Option<Self> {
        if let (Some(labels), Some(upper)) = (&mut self.networks, networks) {
            labels.retain(|label| upper.iter().any(|text| label_of(text) == label));
            if labels.is_empty() {
                return None;
            }
        }
        for one in &mut self.shapes {
            *one = std::mem::take(one).overlaid(shape.clone());
        }
        Some(self)
    }
}
