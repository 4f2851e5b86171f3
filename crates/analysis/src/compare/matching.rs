//! Which cells the two sides have in common.

use super::change::Draft;
use super::session::{Figures, Read};
use tare_record::{Beside, CellKey, Side, Unit, Unmatched};
use tare_stats::describe::mean;

/// The cells of both sides in the order in which they first come, and those that some run lacks.
pub(super) fn matched(base: &[Read], new: &[Read], unit: Unit) -> (Vec<Draft>, Vec<Unmatched>) {
    let mut keys: Vec<&Figures> = Vec::new();
    for figures in base.iter().chain(new).flat_map(|run| &run.cells) {
        if !keys.iter().any(|other| other.key == figures.key) {
            keys.push(figures);
        }
    }
    let (mut drafts, mut unmatched) = (Vec::new(), Vec::new());
    for first in keys {
        let (of_base, of_new) = (of(base, &first.key), of(new, &first.key));
        if of_base.len() < base.len() || of_new.len() < new.len() {
            unmatched.push(Unmatched {
                cell: first.key.clone(),
                base: count(of_base.len()),
                new: count(of_new.len()),
            });
        }
        if !of_base.is_empty() && !of_new.is_empty() {
            drafts.push(Draft::of(first, side(&of_base, unit), side(&of_new, unit)));
        }
    }
    (drafts, unmatched)
}

/// The figures of a cell in each run that has it.
fn of<'a>(side: &'a [Read], key: &CellKey) -> Vec<&'a Figures> {
    side.iter()
        .filter_map(|run| run.cells.iter().find(|figures| figures.key == *key))
        .filter(|figures| !figures.samples.is_empty())
        .collect()
}

/// One figure a unit; nothing where a figure has no logarithm and needs one.
fn side(of: &[&Figures], unit: Unit) -> Option<Side> {
    let beside = of.first()?.key.metric.beside();
    let samples = match unit {
        Unit::Block => of.iter().flat_map(|run| run.samples.iter().copied()).collect(),
        Unit::Session => {
            of.iter().map(|run| centre(&run.samples, beside)).collect::<Option<Vec<_>>>()?
        }
    };
    let mean = centre(&samples, beside)?;
    Some(Side { n: count(samples.len()), samples, mean })
}

/// The mean, on the scale on which the metric is compared; nothing where there is none.
fn centre(samples: &[f64], beside: Beside) -> Option<f64> {
    let centre = match beside {
        Beside::Ratio => mean(&samples.iter().map(|sample| sample.ln()).collect::<Vec<_>>())?.exp(),
        Beside::Difference => mean(samples)?,
    };
    (centre.is_finite() && (beside == Beside::Difference || centre > 0.0)).then_some(centre)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
