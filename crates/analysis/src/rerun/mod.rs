//! What a study's source published, beside what was measured: figures, orders, conclusions.

mod conclude;
mod ranks;

#[cfg(test)]
mod tests;

use crate::asked::asked;
use tare_record::{
    Cell, CellPart, FigurePair, MeasuredFigure, Plan, Publication, PublishedFigure, Rerun,
    ShapePart,
};

/// The published beside the measured; nothing where the study publishes nothing.
pub(crate) fn rerun(plan: &Plan, cells: &[Cell]) -> Option<Rerun> {
    let publication = plan.publication.as_ref()?;
    let here = Here { plan, cells };
    let figures: Vec<FigurePair> =
        publication.figures.iter().map(|figure| here.beside(figure, publication)).collect();
    let conclusions = &publication.conclusions;
    Some(Rerun {
        scale: publication.scale,
        protocol: publication.protocol.clone(),
        ranks: ranks::ranks(&figures),
        figures,
        conclusions: conclusions.iter().map(|one| conclude::conclude(&here, one)).collect(),
    })
}

/// What was measured here.
struct Here<'a> {
    plan: &'a Plan,
    cells: &'a [Cell],
}

impl Here<'_> {
    /// The cell of this description.
    fn find(&self, part: &CellPart) -> Option<&Cell> {
        self.cells.iter().find(|cell| self.is(cell, part))
    }

    fn is(&self, cell: &Cell, part: &CellPart) -> bool {
        let workload = asked(cell, self.plan);
        let stands_in =
            workload.is_some_and(|plan| plan.stands_for.as_ref() == Some(&part.workload));
        let asked = workload.map(|plan| &plan.parameters);
        cell.label == part.network
            && cell.scope == "aggregate"
            && cell.metric == part.metric
            && (cell.workload == part.workload || stands_in)
            && part.shape.is_of(&cell.shape)
            && part.parameters.iter().all(|(name, value)| {
                // A stand-in need not have all parameters of what it stands for.
                asked.and_then(|asked| asked.get(name)).map_or(stands_in, |asked| asked == value)
            })
    }

    fn beside(&self, figure: &PublishedFigure, publication: &Publication) -> FigurePair {
        let measured = self
            .find(&figure.cell)
            .and_then(|cell| measured(cell, figure.cell.per.parts(&cell.shape), self.plan));
        FigurePair {
            published: figure.clone(),
            published_ratio: figure.ratio.or_else(|| self.published_ratio(figure, publication)),
            unit: figure.cell.metric.unit().to_owned(),
            absent: measured.is_none().then(|| self.why_absent(&figure.cell)),
            measured,
        }
    }

    /// The ratio to the published figure of the baseline in the same column of the same table.
    fn published_ratio(&self, figure: &PublishedFigure, publication: &Publication) -> Option<f64> {
        let of_baseline = CellPart { network: self.plan.baseline.clone(), ..figure.cell.clone() };
        // A baseline that was measured once stands for all columns.
        let once = CellPart { shape: ShapePart::default(), ..of_baseline.clone() };
        let of_table = |part: &CellPart| {
            publication.figures.iter().find(|other| {
                other.cell == *part && other.table == figure.table && other.unit == figure.unit
            })
        };
        let baseline = of_table(&of_baseline).or_else(|| of_table(&once))?;
        let (value, baseline) = (figure.value?, baseline.value?);
        (baseline > 0.0).then(|| value / baseline)
    }

    /// Why there is no measured figure.
    fn why_absent(&self, part: &CellPart) -> String {
        let network = &part.network;
        if !self.plan.networks.iter().any(|entry| entry.label == *network) {
            return format!("{network} was not measured: see what was skipped");
        }
        let measured = |name: &str| {
            let mut workloads = self.plan.workloads.iter();
            workloads.any(|plan| plan.name == name || plan.stands_for.as_deref() == Some(name))
        };
        if !measured(&part.workload) {
            return format!("{} was not measured", part.workload);
        }
        "not in this run, or without a figure".to_owned()
    }
}

/// A cell's figure, over what the published one was averaged over.
fn measured(cell: &Cell, parts: f64, plan: &Plan) -> Option<MeasuredFigure> {
    let ratio = cell.ratio.as_ref().filter(|ratio| ratio.baseline == plan.baseline);
    let is_baseline = cell.label == plan.baseline;
    Some(MeasuredFigure {
        value: cell.mean? / parts,
        ci95: cell.ci95.map(|ends| ends.map(|end| end / parts)),
        n: cell.n,
        ratio: if is_baseline { Some(1.0) } else { ratio.map(|ratio| ratio.value) },
        ratio_ci95: ratio.map(|ratio| ratio.ci95),
    })
}
