//! Matching of the two sides' cells.

use super::change::ComparedCellDraft;
use super::comparison_input::{CellFigures, ComparisonInput};
use crate::count::count;
use tare_record::{CellKey, ComparedBy, ComparedSide, SampleUnit, UnmatchedCell};
use tare_stats::describe::mean;

/// Returns the drafts of the cells that both sides have, in the order of their first appearance, and the cells that a
/// run lacks.
pub(super) fn match_cells(
    base: &[ComparisonInput],
    new: &[ComparisonInput],
    unit: SampleUnit,
) -> (Vec<ComparedCellDraft>, Vec<UnmatchedCell>) {
    let mut keys: Vec<&CellFigures> = Vec::new();
    for figures in base.iter().chain(new).flat_map(|run| &run.cells) {
        if !keys.iter().any(|other| other.key == figures.key) {
            keys.push(figures);
        }
    }
    let (mut drafts, mut unmatched) = (Vec::new(), Vec::new());
    for first in keys {
        let (of_base, of_new) =
            (figures_per_run(base, &first.key), figures_per_run(new, &first.key));
        if of_base.len() < base.len() || of_new.len() < new.len() {
            unmatched.push(UnmatchedCell {
                cell: first.key.clone(),
                base: count(of_base.len()),
                new: count(of_new.len()),
            });
        }
        if !of_base.is_empty() && !of_new.is_empty() {
            drafts.push(ComparedCellDraft::new(
                first,
                build_side(&of_base, unit),
                build_side(&of_new, unit),
            ));
        }
    }
    (drafts, unmatched)
}

/// Returns the figures of a cell in each run that has it.
fn figures_per_run<'a>(side: &'a [ComparisonInput], key: &CellKey) -> Vec<&'a CellFigures> {
    side.iter()
        .filter_map(|run| run.cells.iter().find(|figures| figures.key == *key))
        .filter(|figures| !figures.samples.is_empty())
        .collect()
}

/// Returns one sample for each unit. Returns `None` if a figure needs a logarithm and has none.
fn build_side(of: &[&CellFigures], unit: SampleUnit) -> Option<ComparedSide> {
    let beside = of.first()?.key.metric.compared_by();
    let samples = match unit {
        SampleUnit::Block => of.iter().flat_map(|run| run.samples.iter().copied()).collect(),
        SampleUnit::Session => {
            of.iter().map(|run| scale_mean(&run.samples, beside)).collect::<Option<Vec<_>>>()?
        }
    };
    let mean = scale_mean(&samples, beside)?;
    Some(ComparedSide { n: count(samples.len()), samples, mean })
}

/// Returns the mean on the comparison scale of the metric. Returns `None` if it does not exist.
fn scale_mean(samples: &[f64], beside: ComparedBy) -> Option<f64> {
    let centre = match beside {
        ComparedBy::Ratio => {
            mean(&samples.iter().map(|sample| sample.ln()).collect::<Vec<_>>())?.exp()
        }
        ComparedBy::Difference => mean(samples)?,
    };
    (centre.is_finite() && (beside == ComparedBy::Difference || centre > 0.0)).then_some(centre)
}
