//! Two sides of runs beside each other: another kernel, another version of a plugin, another machine.
//!
//! Cells are matched by what was asked for ([`CellKey`](tare_record::CellKey)), never by what was in force, which is
//! among the things that may differ. The unit is the session: two boots of the same machine differ by more than the
//! blocks of one of them do. With one run a side there are only blocks, and the comparison says so.

mod change;
mod environment;
mod gate;
mod matching;
mod session;

#[cfg(test)]
mod tests;

use crate::Error;
use session::Read;
use tare_record::journal::Journal;
use tare_record::{Compared, Comparison, Metric, Unit};

/// What is asked of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Which figures are compared.
    pub of: Compared,
    /// Only these metrics; all where there is none.
    pub metrics: Vec<Metric>,
    /// The intended change, as the differences are named.
    pub vary: Vec<String>,
    /// The limit beyond which a regression fails, a share of 1.
    pub fail_on: Option<f64>,
}

/// A journal with the name of its directory.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The directory, as it was named.
    pub directory: &'a str,
    /// What is in it.
    pub journal: &'a Journal,
}

/// The new side's runs beside the base side's; `tare` is the version that compares.
///
/// # Errors
/// When a trial's histograms cannot be added up, or an intended change is nothing that could differ.
pub fn compare(
    tare: &str,
    base: &[Named<'_>],
    new: &[Named<'_>],
    asked: &Asked,
) -> Result<Comparison, Error> {
    let read = |side: &[Named<'_>]| {
        side.iter().map(|one| Read::of(one, asked)).collect::<Result<Vec<_>, Error>>()
    };
    let (base, new) = (read(base)?, read(new)?);
    let unit = if base.len() == 1 && new.len() == 1 { Unit::Block } else { Unit::Session };
    let differences = environment::differences(&base, &new, &asked.vary)?;
    let (drafts, unmatched) = matching::matched(&base, &new, unit);
    let judged: Vec<bool> = drafts.iter().map(|draft| gate::judges(&draft.cell, asked)).collect();
    let mut cells = change::finish(drafts, &judged, asked.fail_on);
    let gate = asked.fail_on.map(|limit| gate::judge(&mut cells, &judged, &unmatched, limit));
    Ok(Comparison {
        tare: tare.to_owned(),
        base: base.into_iter().map(|run| run.session).collect(),
        new: new.into_iter().map(|run| run.session).collect(),
        unit,
        of: asked.of,
        vary: asked.vary.clone(),
        differences,
        cells,
        unmatched,
        gate,
    })
}
