//! CSV of samples for statistics programs, one row for each sample: tidy data in the terms of R and Python.

use crate::Error;
use crate::csv_table::CsvTable;
use tare_record::{Cell, Document};

/// Columns after those that identify a cell.
const SAMPLE_COLUMNS: [&str; 5] = ["metric", "unit", "better", "block", "value"];

/// Writes every sample of every cell as a separate row (RFC 4180, with a heading row), in full precision. Parameters
/// are JSON. A withheld figure has no rows.
///
/// # Errors
/// Fails if a cell's parameters cannot be written as JSON.
pub fn samples(document: &Document) -> Result<String, Error> {
    let mut table = CsvTable::with_heads(columns())?;
    for cell in &document.cells {
        let what = key_fields(cell)?;
        for (block, value) in cell.blocks.iter().zip(&cell.samples) {
            let sample = [block.to_string(), value.to_string()];
            table.push(what.iter().chain(&sample))?;
        }
    }
    table.into_text()
}

/// Returns the names of the columns, in order.
pub(crate) fn columns() -> impl Iterator<Item = &'static str> {
    crate::export::csv::key_columns().chain(SAMPLE_COLUMNS)
}

/// Returns the fields that all samples of a cell share: all columns except the last two.
pub(crate) fn key_fields(cell: &Cell) -> Result<Vec<String>, Error> {
    let mut fields = crate::export::csv::key_fields(cell)?;
    fields.extend([
        cell.metric.to_string(),
        cell.unit.clone(),
        crate::export::csv::better(cell).to_owned(),
    ]);
    Ok(fields)
}
