//! Sections of a study: the networks that are measured under certain workloads in certain shapes.

use crate::network_selection::{NetworkSelection, unsupported_nodes};
use crate::section_spec::StudySection;
use crate::shapes::expand_shapes;
use crate::spec::{ShapeLists, WorkloadSpec};
use crate::workloads::{StudyWorkloads, check_workloads, expand_workloads};
use crate::{Catalogue, Error, Study};
use tare_network::{NetworkSpec, UnmetRequirement};
use tare_record::{PlanSection, Shape, SkippedNetwork, WorkloadPlan};

/// Workloads and shapes of a study, and their combinations.
#[derive(Default)]
pub(crate) struct ExpandedStudy {
    pub(crate) workloads: StudyWorkloads,
    pub(crate) shapes: Vec<Shape>,
    /// Parts that are measured; empty if every combination is.
    pub(crate) parts: Vec<PlanSection>,
    /// Networks that cannot join the nodes of a section that names them; other sections may have them.
    pub(crate) misfits: Vec<SkippedNetwork>,
}

/// Expands the study's sections, or the whole study as one section.
pub(crate) fn expand_sections(
    study: &Study,
    chosen: &NetworkSelection,
    catalogue: &dyn Catalogue,
) -> Result<ExpandedStudy, Error> {
    let mut all = ExpandedStudy::default();
    if study.runs.is_empty() {
        let asked = study.workloads.clone().unwrap_or_default();
        all.workloads = expand_workloads(asked, study, catalogue)?;
        all.shapes = expand_shapes(&study.shape)?;
    } else {
        for run in &study.runs {
            all.add(run, study, chosen, catalogue)?;
        }
        // A section whose networks are all skipped, or whose workloads have none of the requested metrics, is removed.
        all.parts.retain(|part| !part.networks.is_empty() && !part.workloads.is_empty());
    }
    check_workloads(&all.workloads, study.metrics.as_deref(), catalogue)?;
    all.drop_unmeasured(study);
    Ok(all)
}

impl ExpandedStudy {
    fn add(
        &mut self,
        run: &StudySection,
        study: &Study,
        chosen: &NetworkSelection,
        catalogue: &dyn Catalogue,
    ) -> Result<(), Error> {
        let mut networks = section_networks(run, chosen)?;
        let asked: Option<Vec<WorkloadSpec>> = run.workloads.clone().or(study.workloads.clone());
        let found = expand_workloads(asked.unwrap_or_default(), study, catalogue)?;
        let of_run = found.plans.iter().map(|plan| self.workload_index(plan)).collect();
        self.workloads.merge_findings(found);
        let lists: Vec<ShapeLists> = match run.shapes.as_slice() {
            [] => vec![study.shape.clone()],
            some => some.iter().map(|one| study.shape.clone().overlaid(one.clone())).collect(),
        };
        let mut places = Vec::new();
        let of_section = lists.iter().map(expand_shapes).collect::<Result<Vec<_>, _>>()?.concat();
        self.leave_misfits_out(&mut networks, &of_section, chosen, catalogue)?;
        for shape in of_section {
            let place = find_or_push(&mut self.shapes, shape);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        self.parts.push(PlanSection { networks, workloads: of_run, shapes: places });
        Ok(())
    }

    /// Removes networks from a section that cannot join as many nodes as it has.
    fn leave_misfits_out(
        &mut self,
        networks: &mut Vec<usize>,
        shapes: &[Shape],
        chosen: &NetworkSelection,
        catalogue: &dyn Catalogue,
    ) -> Result<(), Error> {
        for place in std::mem::take(networks) {
            let entry = &chosen.entries[place];
            let spelled: NetworkSpec = entry.network.parse()?;
            let Some(UnmetRequirement { reason, remedy }) =
                unsupported_nodes(&spelled, shapes, catalogue)?
            else {
                networks.push(place);
                continue;
            };
            let skipped = SkippedNetwork::new(&entry.label, spelled.to_string(), reason, remedy);
            if !self.misfits.contains(&skipped) {
                self.misfits.push(skipped);
            }
        }
        Ok(())
    }

    /// Returns the index of a workload among all workloads, and adds it if it is new.
    fn workload_index(&mut self, plan: &WorkloadPlan) -> usize {
        find_or_push(&mut self.workloads.plans, plan.clone())
    }

    /// Removes workloads that have none of the requested metrics.
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

/// Returns the index of an element in a list, and appends it if it is missing.
fn find_or_push<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// Returns the indices of a section's networks among those that run here.
fn section_networks(run: &StudySection, chosen: &NetworkSelection) -> Result<Vec<usize>, Error> {
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
