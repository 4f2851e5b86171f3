//! Replication of a study's source: published figures, orders and conclusions beside the measured ones.

mod conclusion_test;
mod evidence;
mod offered_load;
mod protocol;
mod rank_agreement;

#[cfg(test)]
mod tests;

use crate::select::plan_lookup::find_workload_plan;
use tare_record::{
    Cell, CellPattern, FigurePair, FigureProvenance, MeasuredFigure, Plan, Publication,
    PublishedFigure, Replication, ShapePattern, SkippedNetwork,
};

/// Compares the published with what was measured in so many blocks. Returns `None` if the study has no publication.
pub(crate) fn compare_with_publication(
    plan: &Plan,
    cells: &[Cell],
    blocks: u32,
) -> Option<Replication> {
    let publication = plan.publication.as_ref()?;
    let here = MeasuredRun { plan, cells };
    let figures: Vec<FigurePair> =
        publication.figures.iter().map(|figure| here.pair_figure(figure, publication)).collect();
    let conclusions = &publication.conclusions;
    Some(Replication {
        question: publication.question.clone(),
        scale: publication.scale,
        protocol: protocol::protocol_of_run(plan, &publication.protocol, blocks),
        ranks: rank_agreement::rank_agreements(&figures),
        figures,
        conclusions: conclusions.iter().map(|one| conclusion_test::conclude(&here, one)).collect(),
    })
}

/// Plan and cells of this run.
struct MeasuredRun<'a> {
    plan: &'a Plan,
    cells: &'a [Cell],
}

impl MeasuredRun<'_> {
    /// Finds the cell of this description.
    fn find(&self, part: &CellPattern) -> Option<&Cell> {
        self.cells.iter().find(|cell| self.matches(cell, part))
    }

    fn matches(&self, cell: &Cell, part: &CellPattern) -> bool {
        let workload = find_workload_plan(cell, self.plan);
        let stands_in =
            workload.is_some_and(|plan| plan.stands_for.as_ref() == Some(&part.workload));
        let asked = workload.map(|plan| &plan.parameters);
        cell.label == part.network
            && cell.scope == "aggregate"
            && cell.metric == part.metric
            && (cell.workload == part.workload || stands_in)
            && part.shape.matches(&cell.shape)
            && part.parameters.iter().all(|(name, value)| {
                // A stand-in need not have all parameters of what it stands for.
                asked.and_then(|asked| asked.get(name)).map_or(stands_in, |asked| asked == value)
            })
    }

    fn pair_figure(&self, figure: &PublishedFigure, publication: &Publication) -> FigurePair {
        let found = self.find(&figure.cell).and_then(|cell| {
            let parts = figure.cell.per.divisor(&cell.shape);
            Some((cell, measured_figure(cell, parts, self.plan)?))
        });
        let provenance = found.and_then(|(cell, _)| self.provenance(cell));
        let measured = found.map(|(_, figure)| figure);
        FigurePair {
            published: figure.clone(),
            published_ratio: figure.ratio.or_else(|| self.published_ratio(figure, publication)),
            provenance,
            unit: figure.cell.metric.unit().to_owned(),
            absent: measured.is_none().then(|| self.absence_reason(&figure.cell)),
            measured,
        }
    }

    /// Returns what was run for a cell.
    fn provenance(&self, cell: &Cell) -> Option<FigureProvenance> {
        let workload = find_workload_plan(cell, self.plan)?;
        Some(FigureProvenance {
            workload: workload.name.clone(),
            duration: workload.duration,
            slice: workload.slices.as_ref().map(|slices| slices.length),
        })
    }

    /// Returns the ratio to the published figure of the baseline in the same column of the same table.
    fn published_ratio(&self, figure: &PublishedFigure, publication: &Publication) -> Option<f64> {
        let of_baseline =
            CellPattern { network: self.plan.baseline.clone(), ..figure.cell.clone() };
        // A baseline that was measured once stands for all columns.
        let once = CellPattern { shape: ShapePattern::default(), ..of_baseline.clone() };
        let of_table = |part: &CellPattern| {
            publication.figures.iter().find(|other| {
                other.cell == *part && other.table == figure.table && other.unit == figure.unit
            })
        };
        let baseline = of_table(&of_baseline).or_else(|| of_table(&once))?;
        let (value, baseline) = (figure.value?, baseline.value?);
        (baseline > 0.0).then(|| value / baseline)
    }

    /// Returns the reason why there is no measured figure.
    fn absence_reason(&self, part: &CellPattern) -> String {
        let network = &part.network;
        if !self.plan.networks.iter().any(|entry| entry.label == *network) {
            return match self.plan.skipped.iter().find(|skipped| skipped.label() == network) {
                Some(SkippedNetwork { reason, remedy, .. }) => {
                    format!("{network} was not measured: {reason}: {remedy}")
                }
                None => format!("{network} was not measured"),
            };
        }
        let measured = |name: &str| {
            let mut workloads = self.plan.workloads.iter();
            workloads.any(|plan| plan.name == name || plan.stands_for.as_deref() == Some(name))
        };
        if !measured(&part.workload) {
            return format!("{} was not measured", part.workload);
        }
        match self.find(part) {
            Some(Cell { withheld: Some(withheld), .. }) => withheld.reason.clone(),
            Some(_) => "the cell has no figure".to_owned(),
            None => "the run has no such cell".to_owned(),
        }
    }
}

/// Returns a cell's figure, divided by the number of parts over which the published figure was averaged.
fn measured_figure(cell: &Cell, parts: f64, plan: &Plan) -> Option<MeasuredFigure> {
    let ratio = cell.ratio.as_ref().filter(|ratio| ratio.baseline == plan.baseline);
    let is_baseline = cell.label == plan.baseline;
    Some(MeasuredFigure {
        value: cell.mean? / parts,
        ci95: cell.ci95.map(|ends| ends.map(|end| end / parts)),
        n: cell.n,
        ratio: if is_baseline { Some(1.0) } else { ratio.map(|ratio| ratio.value) },
        ratio_ci95: ratio.map(|ratio| ratio.ci95),
        verdict: ratio.map(|ratio| ratio.verdict),
    })
}
