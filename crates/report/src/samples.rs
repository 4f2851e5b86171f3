//! One row a sample, for statistics programs: what R and Python call tidy data.

use crate::Error;
use tare_record::{Cell, Document};

/// The columns after those that say what a cell is of.
const SAMPLE: [&str; 5] = ["metric", "unit", "better", "block", "value"];

/// Every sample of every cell as a row of its own (RFC 4180, with a heading row), in full precision. Parameters are
/// JSON. A figure that is withheld has no rows.
///
/// # Errors
/// When a cell's parameters cannot be written as JSON.
pub fn samples(document: &Document) -> Result<String, Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns())?;
    for cell in &document.cells {
        let what = what(cell)?;
        for (block, value) in cell.blocks.iter().zip(&cell.samples) {
            let sample = [block.to_string(), value.to_string()];
            writer.write_record(what.iter().chain(&sample))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| ::csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The columns, in order.
pub(crate) fn columns() -> impl Iterator<Item = &'static str> {
    crate::csv::what_columns().chain(SAMPLE)
}

/// What all samples of a cell share: the columns before the last two.
pub(crate) fn what(cell: &Cell) -> Result<Vec<String>, Error> {
    let mut fields = crate::csv::what(cell)?;
    fields.extend([
        cell.metric.to_string(),
        cell.unit.clone(),
        crate::csv::better(cell).to_owned(),
    ]);
    Ok(fields)
}
