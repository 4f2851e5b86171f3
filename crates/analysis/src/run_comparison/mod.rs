//! Comparison of two sides of runs: another kernel, another version of a plugin, another machine.
//!
//! Cells are matched by their planned parameters ([`CellKey`](tare_record::CellKey)), never by the parameters in force,
//! which are among the things that may differ. The unit is the session: two boots of the same machine differ by more
//! than the blocks of one boot. With one run on each side there are only blocks, and the comparison says so.

mod change;
mod cluster_facts;
mod comparison_input;
mod gate;
mod matching;
mod run_facts;

/// Returns the facts of a side's runs.
fn facts_of(side: &[ComparisonInput]) -> Vec<&run_facts::Facts> {
    side.iter().map(|run| &run.facts).collect()
}

#[cfg(test)]
mod tests;

use crate::Error;
use comparison_input::ComparisonInput;
use tare_record::journal::Journal;
use tare_record::{Comparison, ComparisonBasis, Metric, SampleUnit};

/// Options of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Kind of figures that are compared.
    pub compared: ComparisonBasis,
    /// Metrics that are compared; all if empty.
    pub metrics: Vec<Metric>,
    /// Intended changes, by the names of the differences.
    pub vary: Vec<String>,
    /// Limit above which a regression fails, a share of 1.
    pub fail_on: Option<f64>,
}

/// Journal with the name of its directory.
#[derive(Clone, Copy, Debug)]
pub struct NamedJournal<'a> {
    /// Directory, as the user named it.
    pub directory: &'a str,
    /// Journal in the directory.
    pub journal: &'a Journal,
}

/// Compares the new side's runs with the base side's; `tare` is the version that compares.
///
/// # Errors
/// Returns an error if a run was measured under emulation, if a trial's histograms cannot be added up, or if an
/// intended change is nothing that could differ.
pub fn compare(
    tare: &str,
    base: &[NamedJournal<'_>],
    new: &[NamedJournal<'_>],
    asked: &CompareOptions,
) -> Result<Comparison, Error> {
    let read = |side: &[NamedJournal<'_>]| {
        side.iter()
            .map(|one| ComparisonInput::from_journal(one, asked))
            .collect::<Result<Vec<_>, Error>>()
    };
    let (base, new) = (read(base)?, read(new)?);
    let unit =
        if base.len() == 1 && new.len() == 1 { SampleUnit::Block } else { SampleUnit::Session };
    let differences = run_facts::differences(&facts_of(&base), &facts_of(&new), &asked.vary)?;
    let (drafts, unmatched) = matching::match_cells(&base, &new, unit);
    let judged: Vec<bool> =
        drafts.iter().map(|draft| gate::is_judged(&draft.cell, asked)).collect();
    let mut cells = change::apply_corrections(drafts, &judged, asked.fail_on);
    let gate = asked.fail_on.map(|limit| gate::judge(&mut cells, &judged, &unmatched, limit));
    Ok(Comparison {
        tare: tare.to_owned(),
        base: base.into_iter().map(|run| run.session).collect(),
        new: new.into_iter().map(|run| run.session).collect(),
        unit,
        of: asked.compared,
        vary: asked.vary.clone(),
        differences,
        cells,
        unmatched,
        gate,
    })
}
