//! The sections of a study: which networks are measured under which workloads in which shapes.

use crate::choose::{Chosen, label_of, misfit};
use crate::layer::{ShapeLists, WorkloadStudy};
use crate::shapes::shapes;
use crate::workloads::{Workloads, check, workloads};
use crate::{Catalogue, Error, Study};
use schemars::JsonSchema;
use serde::Deserialize;
use tare_network::{Missing, Spelled};
use tare_record::{Part, Shape, Skipped, WorkloadPlan};

/// A section of a study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RunStudy {
    /// The labels of its networks; nothing: all of the study's.
    pub networks: Option<Vec<String>>,
    /// Its workloads; nothing: the study's.
    #[serde(rename = "workload")]
    pub workloads: Option<Vec<WorkloadStudy>>,
    /// Its shapes, each key laid over the study's; nothing: the study's.
    #[serde(rename = "shape")]
    pub shapes: Vec<ShapeLists>,
}

impl RunStudy {
    /// This section under an upper layer's networks and shape; nothing where it has none of those networks.
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

/// All workloads and shapes of a study, and how they go together.
#[derive(Default)]
pub(crate) struct Expanded {
    pub(crate) workloads: Workloads,
    pub(crate) shapes: Vec<Shape>,
    /// Nothing where every combination is measured.
    pub(crate) parts: Vec<Part>,
    /// Networks that cannot join the nodes of a section that names them; other sections may have them.
    pub(crate) misfits: Vec<Skipped>,
}

/// The study's sections, or all of it as one.
pub(crate) fn expand(
    study: &Study,
    chosen: &Chosen,
    catalogue: &dyn Catalogue,
) -> Result<Expanded, Error> {
    let mut all = Expanded::default();
    if study.runs.is_empty() {
        let asked = study.workloads.clone().unwrap_or_default();
        all.workloads = workloads(asked, study, catalogue)?;
        all.shapes = shapes(&study.shape)?;
    } else {
        for run in &study.runs {
            all.add(run, study, chosen, catalogue)?;
        }
        // A section of networks that are all skipped, or of other metrics than those wanted, is none.
        all.parts.retain(|part| !part.networks.is_empty() && !part.workloads.is_empty());
    }
    check(&all.workloads, study.metrics.as_deref(), catalogue)?;
    all.drop_unmeasured(study);
    Ok(all)
}

impl Expanded {
    fn add(
        &mut self,
        run: &RunStudy,
        study: &Study,
        chosen: &Chosen,
        catalogue: &dyn Catalogue,
    ) -> Result<(), Error> {
        let mut networks = networks(run, chosen)?;
        let asked: Option<Vec<WorkloadStudy>> = run.workloads.clone().or(study.workloads.clone());
        let found = workloads(asked.unwrap_or_default(), study, catalogue)?;
        let of_run = found.plans.iter().map(|plan| self.workload(plan)).collect();
        self.workloads.remarks(found);
        let lists: Vec<ShapeLists> = match run.shapes.as_slice() {
            [] => vec![study.shape.clone()],
            some => some.iter().map(|one| study.shape.clone().overlaid(one.clone())).collect(),
        };
        let mut places = Vec::new();
        let of_section = lists.iter().map(shapes).collect::<Result<Vec<_>, _>>()?.concat();
        self.leave_misfits_out(&mut networks, &of_section, chosen, catalogue)?;
        for shape in of_section {
            let place = place(&mut self.shapes, shape);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        self.parts.push(Part { networks, workloads: of_run, shapes: places });
        Ok(())
    }

    /// Leaves networks out of a section that cannot join as many nodes as it has.
    fn leave_misfits_out(
        &mut self,
        networks: &mut Vec<usize>,
        shapes: &[Shape],
        chosen: &Chosen,
        catalogue: &dyn Catalogue,
    ) -> Result<(), Error> {
        for place in std::mem::take(networks) {
            let spelled: Spelled = chosen.entries[place].network.parse()?;
            let Some(Missing { reason, remedy }) = misfit(&catalogue.nodes(&spelled)?, shapes)
            else {
                networks.push(place);
                continue;
            };
            let skipped = Skipped { network: spelled.to_string(), reason, remedy };
            if !self.misfits.contains(&skipped) {
                self.misfits.push(skipped);
            }
        }
        Ok(())
    }

    /// The place of a workload among all of them.
    fn workload(&mut self, plan: &WorkloadPlan) -> usize {
        place(&mut self.workloads.plans, plan.clone())
    }

    /// Leaves out workloads none of whose metrics are wanted.
    fn drop_unmeasured(&mut self, study: &Study) {
        if study.metrics.is_none() {
            return;
        }
        let plans = std::mem::take(&mut self.workloads.plans);
        let mut moved: Vec<Option<usize>> = Vec::new();
        for plan in plans {
            let kept = !plan.metrics.is_empty();
            moved.push(kept.then_some(self.workloads.plans.len()));
            if kept {
                self.workloads.plans.push(plan);
            }
        }
        for part in &mut self.parts {
            part.workloads = part.workloads.iter().filter_map(|&place| moved[place]).collect();
        }
        self.parts.retain(|part| !part.workloads.is_empty());
    }
}

/// Where something stands in a list; it is added where it does not.
fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// The places of a section's networks among those that run here.
fn networks(run: &RunStudy, chosen: &Chosen) -> Result<Vec<usize>, Error> {
    let Some(labels) = &run.networks else {
        return Ok((0..chosen.entries.len()).collect());
    };
    let mut places = Vec::new();
    for label in labels {
        match chosen.entries.iter().position(|entry| entry.label == *label) {
            Some(place) => places.push(place),
            None if chosen.absent.contains(label) => {}
            None => {
                let known = chosen.entries.iter().map(|entry| entry.label.as_str());
                return Err(Error::RunLabel {
                    label: label.clone(),
                    labels: known.collect::<Vec<_>>().join(", "),
                });
            }
        }
    }
    Ok(places)
}
