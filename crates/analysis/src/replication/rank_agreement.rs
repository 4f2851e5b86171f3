//! Agreement of the order of networks here with the order in the published table.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use tare_record::{Better, CellPattern, FigurePair, RankAgreement, unquoted_value};
use tare_stats::kendall;

/// Fewest networks whose order means anything.
const MIN_NETWORKS: usize = 3;

/// Returns the agreement for each column of a published table with at least three networks that were measured here.
pub(super) fn rank_agreements(figures: &[FigurePair]) -> Vec<RankAgreement> {
    let mut columns: Vec<Vec<&FigurePair>> = Vec::new();
    for figure in figures {
        match columns.iter_mut().find(|column| is_same_column(column[0], figure)) {
            Some(column) => column.push(figure),
            None => columns.push(vec![figure]),
        }
    }
    columns.iter().filter_map(|column| column_agreement(column)).collect()
}

/// Returns `true` if two figures differ only in the network. Figures of different units cannot be ranked.
fn is_same_column(one: &FigurePair, other: &FigurePair) -> bool {
    let (one, other) = (&one.published, &other.published);
    let same_network = CellPattern { network: one.cell.network.clone(), ..other.cell.clone() };
    one.table == other.table && one.unit == other.unit && one.cell == same_network
}

fn column_agreement(column: &[&FigurePair]) -> Option<RankAgreement> {
    let mut rows: BTreeSet<&str> = BTreeSet::new();
    let measured: Vec<&FigurePair> = column
        .iter()
        .copied()
        .filter(|figure| figure.measured.is_some())
        // Of the networks that share a row, the first that was measured stands for it.
        .filter(|figure| figure.published.row.as_deref().is_none_or(|row| rows.insert(row)))
        .collect();
    // A ratio that was printed without a figure has its place among ratios only.
    let by_figure = measured.iter().all(|figure| figure.published.value.is_some());
    let mut both: Vec<(f64, f64, &str)> = measured
        .iter()
        .filter_map(|figure| {
            let published = if by_figure { figure.published.value } else { figure.published_ratio };
            Some((published?, figure.measured?.value, figure.published.cell.network.as_str()))
        })
        .collect();
    if both.len() < MIN_NETWORKS {
        return None;
    }
    let first = &column[0].published;
    both.sort_by(|one, other| better_first(first.cell.metric.better(), one.0, other.0));
    let pairs: Vec<(f64, f64)> = both.iter().map(|&(then, now, _)| (then, now)).collect();
    let agreement = kendall(&pairs)?;
    Some(RankAgreement {
        table: first.table.clone(),
        column: column_name(&first.cell),
        networks: both.into_iter().map(|(.., network)| network.to_owned()).collect(),
        tau: agreement.tau,
        chance: agreement.chance,
    })
}

fn better_first(better: Better, one: f64, other: f64) -> Ordering {
    match better {
        Better::Higher => other.total_cmp(&one),
        Better::Lower => one.total_cmp(&other),
    }
}

/// Returns the workload, metric, shape and parameters that distinguish a column from the others of its table.
fn column_name(cell: &CellPattern) -> String {
    let mut name = format!("{} {}", cell.workload, cell.metric);
    let shape = cell.shape.to_string();
    if !shape.is_empty() {
        name.push_str(&format!(", {shape}"));
    }
    for (parameter, value) in &cell.parameters {
        name.push_str(&format!(", {parameter}={}", unquoted_value(value)));
    }
    name
}
