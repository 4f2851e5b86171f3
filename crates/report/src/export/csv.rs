//! CSV of cells for spreadsheets and statistics programs: one row for each cell, in full precision.

use crate::Error;
use crate::csv_table::CsvTable;
use tare_record::{Cell, Document};

/// Columns, in order. `ratio` and all columns that begin with it are empty for the baseline, `difference` nearly
/// always.
const COLUMNS: [&str; 46] = [
    "network",
    "label",
    "workload",
    "scope",
    "nodes",
    "servers",
    "clients",
    "processes",
    "flows",
    "family",
    "mtu",
    "cpus",
    "link",
    "without",
    "parameters",
    "metric",
    "unit",
    "better",
    "n",
    "mean",
    "median",
    "ci95_low",
    "ci95_high",
    "uncut_mean",
    "best",
    "baseline",
    "ratio",
    "ratio_ci90_low",
    "ratio_ci90_high",
    "ratio_ci95_low",
    "ratio_ci95_high",
    "p",
    "p_adjusted",
    "family_of_tests",
    "margin",
    "verdict",
    "detectable",
    "blocks_to_decide",
    "pairs",
    "difference",
    "difference_ci95_low",
    "difference_ci95_high",
    "stands_for",
    "withheld",
    "findings",
    "samples",
];

/// Writes the cells as CSV (RFC 4180) with a heading row. Parameters are JSON; samples and findings are separated by `;
/// `.
///
/// # Errors
/// Fails if a cell's parameters cannot be written as JSON.
pub fn csv(document: &Document) -> Result<String, Error> {
    let mut table = CsvTable::with_heads(COLUMNS)?;
    for cell in &document.cells {
        let stands_for = document.stands_for.get(&cell.network).map(String::as_str);
        table.push(row(cell, stands_for.unwrap_or_default())?)?;
    }
    table.into_text()
}

fn row(cell: &Cell, stands_for: &str) -> Result<Vec<String>, Error> {
    let mut fields = key_fields(cell)?;
    fields.extend(figure_fields(cell));
    fields.extend(baseline_fields(cell));
    fields.push(stands_for.to_owned());
    fields.extend(remark_fields(cell));
    Ok(fields)
}

/// Returns the columns that identify a cell: those before `metric`.
pub(crate) fn key_columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().take_while(|column| *column != "metric")
}

/// Returns the fields that identify a cell, in the order of [`key_columns`].
pub(crate) fn key_fields(cell: &Cell) -> Result<Vec<String>, Error> {
    let shape = &cell.shape;
    Ok(vec![
        cell.network.clone(),
        cell.label.clone(),
        cell.workload.clone(),
        cell.scope.clone(),
        shape.nodes.to_string(),
        shape.servers.to_string(),
        shape.clients.to_string(),
        shape.processes.to_string(),
        shape.flows.to_string(),
        shape.family.to_string(),
        shape.mtu.to_string(),
        shape.cpus.to_string(),
        shape.link.clone().unwrap_or_default(),
        shape.without.to_string(),
        serde_json::to_string(&cell.parameters)?,
    ])
}

/// Returns the direction in which the cell's metric is better.
pub(crate) fn better(cell: &Cell) -> &'static str {
    match cell.better {
        tare_record::Better::Higher => "higher",
        tare_record::Better::Lower => "lower",
    }
}

/// Returns the fields of the cell's own figures.
fn figure_fields(cell: &Cell) -> Vec<String> {
    vec![
        cell.metric.to_string(),
        cell.unit.clone(),
        better(cell).to_owned(),
        cell.n.to_string(),
        text(cell.mean),
        text(cell.median),
        text(cell.ci95.map(|ci| ci[0])),
        text(cell.ci95.map(|ci| ci[1])),
        text(cell.uncut_mean),
        cell.best.to_string(),
    ]
}

/// Returns the fields of the cell's ratio or difference to the baseline.
fn baseline_fields(cell: &Cell) -> Vec<String> {
    let ratio = cell.ratio.as_ref();
    let difference = cell.difference.as_ref();
    vec![
        text(crate::columns::baseline(cell)),
        text(ratio.map(|ratio| ratio.value)),
        text(ratio.map(|ratio| ratio.ci90[0])),
        text(ratio.map(|ratio| ratio.ci90[1])),
        text(ratio.map(|ratio| ratio.ci95[0])),
        text(ratio.map(|ratio| ratio.ci95[1])),
        text(ratio.map(|ratio| ratio.p)),
        text(ratio.map(|ratio| ratio.p_adjusted)),
        text(ratio.map(|ratio| &ratio.family)),
        text(ratio.map(|ratio| ratio.margin)),
        text(ratio.map(|ratio| ratio.verdict)),
        text(ratio.map(|ratio| ratio.detectable)),
        text(ratio.and_then(|ratio| ratio.blocks_to_decide)),
        text(ratio.map(|ratio| ratio.pairs)),
        text(difference.map(|difference| difference.value)),
        text(difference.map(|difference| difference.ci95[0])),
        text(difference.map(|difference| difference.ci95[1])),
    ]
}

/// Returns the fields for a withheld figure, the findings and the samples.
fn remark_fields(cell: &Cell) -> Vec<String> {
    vec![
        text(cell.withheld.as_ref().map(|withheld| &withheld.reason)),
        joined(&cell.findings),
        joined(&cell.samples),
    ]
}

/// Formats a value by its `Display`. Empty if there is none.
fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
