//! Tables of published figures beside those of this run: a table for each published table, workload and unit.
//!
//! What all rows share is in the caption; remarks on rows are footnotes, each once.

use super::{column, printed_unit};
use crate::columns::{self, NOTHING};
use crate::grid::{CellPiece, Grid, GridColumn};
use crate::number;
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{
    AveragingUnit, FigurePair, MeasuredFigure, RankAgreement, Replication, counted, unquoted_value,
};

/// Published table with the figures of this run.
pub(crate) struct FigureComparison {
    /// Heading of the source.
    pub(crate) heading: String,
    /// Facts that all rows share.
    pub(crate) caption: String,
    /// Rows of the table.
    pub(crate) grid: Grid,
    /// Remarks on single rows, each with its number.
    pub(crate) footnotes: Vec<String>,
    /// Agreement of the order of the networks with the published order, if it is known.
    pub(crate) order: Option<String>,
    /// True if a figure of the table was measured.
    pub(crate) is_measured: bool,
}

/// Builds all tables, in the order of the source.
pub(crate) fn comparisons(rerun: &Replication) -> Vec<FigureComparison> {
    let mut tables: Vec<Vec<&FigurePair>> = Vec::new();
    for figure in &rerun.figures {
        match tables.iter_mut().find(|table| is_same_table(table[0], figure)) {
            Some(table) => table.push(figure),
            None => tables.push(vec![figure]),
        }
    }
    tables.iter().map(|rows| comparison(rows, &rerun.ranks)).collect()
}

fn is_same_table(one: &FigurePair, other: &FigurePair) -> bool {
    let (one, other) = (&one.published, &other.published);
    (&one.table, &one.cell.workload, &one.unit) == (&other.table, &other.cell.workload, &other.unit)
}

fn comparison(rows: &[&FigurePair], ranks: &[RankAgreement]) -> FigureComparison {
    let facts: Vec<Vec<String>> = rows.iter().map(|row| facts(row)).collect();
    let shared: Vec<String> = facts[0]
        .iter()
        .filter(|fact| facts.iter().all(|row| row.contains(fact)))
        .cloned()
        .collect();
    let doubt = shared_value(rows, |row| row.published.ambiguous.clone());
    let mut footnotes = Footnotes::default();
    let names = rows
        .iter()
        .zip(&facts)
        .map(|(row, facts)| {
            let telling = facts.iter().filter(|fact| !shared.contains(fact)).cloned();
            let marks = remarks(row, doubt.is_some()).into_iter().map(|text| footnotes.mark(text));
            let words = std::iter::once(row.published.cell.network.clone()).chain(telling);
            one_line(&words.chain(marks).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let unit = &rows[0].published.unit;
    let factor = printed_unit::factor(rows[0].published.cell.metric, unit);
    FigureComparison {
        heading: one_line(&rows[0].published.table),
        caption: one_line(&caption(rows, shared, doubt)),
        grid: Grid {
            names: column("", "cell", names, Tone::Strong),
            columns: columns(rows, factor),
        },
        footnotes: footnotes.lines(),
        order: order(&rows[0].published.table, &rows[0].published.cell.workload, ranks),
        is_measured: rows.iter().any(|row| row.measured.is_some()),
    }
}

/// Returns what a row's cell is, beside its network and workload.
fn facts(row: &FigurePair) -> Vec<String> {
    let cell = &row.published.cell;
    let shape = cell.shape.to_string();
    let shape = shape.split(',').filter(|fact| !fact.is_empty()).map(str::to_owned);
    let parameters =
        cell.parameters.iter().map(|(name, value)| format!("{name}={}", unquoted_value(value)));
    std::iter::once(cell.metric.to_string()).chain(shape).chain(parameters).collect()
}

/// Returns a value that all rows have, or `None`.
fn shared_value<T: PartialEq>(
    rows: &[&FigurePair],
    value: impl Fn(&FigurePair) -> Option<T>,
) -> Option<T> {
    let first = value(rows[0])?;
    rows.iter().all(|row| value(row).as_ref() == Some(&first)).then_some(first)
}

/// Writes what all rows share: workload, metric and shape; then what was run, and in how many blocks.
fn caption(rows: &[&FigurePair], shared: Vec<String>, doubt: Option<String>) -> String {
    let measured: Vec<&FigurePair> =
        rows.iter().filter(|row| row.measured.is_some()).copied().collect();
    let mut parts = vec![rows[0].published.cell.workload.clone()];
    parts.extend(shared);
    match rows[0].published.cell.per {
        AveragingUnit::Run => {}
        AveragingUnit::Container => parts.push("average of a client container".to_owned()),
        AveragingUnit::Process => parts.push("average of a client process".to_owned()),
    }
    if !measured.is_empty() {
        parts.extend(shared_value(&measured, run));
        let n = |row: &FigurePair| row.measured.map(|figure| figure.n);
        parts.extend(shared_value(&measured, n).map(|n| blocks(&measured, n)));
    }
    parts.extend(doubt.map(|doubt| format!("in doubt: {doubt}")));
    parts.join(" · ")
}

/// Describes what was run for a row: the workload, and how long a trial took.
fn run(row: &FigurePair) -> Option<String> {
    let run = row.provenance.as_ref()?;
    let stand_in = if run.workload == row.published.cell.workload {
        String::new()
    } else {
        format!("{} in its place, ", run.workload)
    };
    let slices = run.slice.map_or_else(String::new, |slice| format!(" in slices of {slice}"));
    Some(format!("here: {stand_in}trials of {}{slices}", run.duration))
}

/// Says how many blocks were run, and if they are too few for an interval.
fn blocks(measured: &[&FigurePair], n: u32) -> String {
    let has_interval =
        measured.iter().filter_map(|row| row.measured).any(|one| interval(&one).is_some());
    let words = counted(n, "block", "blocks");
    if has_interval { words } else { format!("{words}: no interval") }
}

fn interval(figure: &MeasuredFigure) -> Option<[f64; 2]> {
    number::telling_interval(figure.value, figure.ci95, figure.n)
}

/// Builds the columns: published, its ratio, here, its ratio, verdict. Columns without any text are left out.
fn columns(rows: &[&FigurePair], factor: Option<f64>) -> Vec<GridColumn> {
    let printed = rows[0].published.unit.clone();
    let here = if factor.is_some() { printed.clone() } else { rows[0].unit.clone() };
    let factor = factor.unwrap_or(1.0);
    let aligned = |text: &dyn Fn(&FigurePair) -> String| {
        number::align(&rows.iter().map(|row| text(row)).collect::<Vec<_>>())
    };
    let plain = |group: &str, name: &str, unit: &str, cells: Vec<String>| GridColumn {
        unit: one_line(unit),
        ..column(group, name, cells, Tone::Plain)
    };
    let verdicts = rows.iter().map(|row| vec![verdict(row)]).collect();
    let all = [
        plain("published", "figure", &printed, aligned(&published)),
        plain("published", "ratio", "", aligned(&published_ratio)),
        plain("here", "figure", &here, measured(rows, factor)),
        plain("here", "ratio", "", aligned(&measured_ratio)),
        GridColumn { cells: verdicts, ..column("here", "verdict", Vec::new(), Tone::Plain) },
    ];
    let is_used = |column: &GridColumn| (0..rows.len()).any(|row| column.has_text(row));
    all.into_iter().filter(is_used).collect()
}

/// Returns the published figure as the source prints it.
fn published(row: &FigurePair) -> String {
    let published = &row.published;
    let printed = published.printed.as_deref().map(one_line);
    let value = || published.value.map(|value| value.to_string());
    printed.or_else(value).unwrap_or_else(|| NOTHING.to_owned())
}

/// Returns the ratio as the source prints it, or as computed from two published figures.
fn published_ratio(row: &FigurePair) -> String {
    match (row.published.ratio, row.published_ratio) {
        (Some(printed), _) => format!("{printed}×"),
        (None, Some(ratio)) => format!("{}×", number::three_digits(ratio)),
        (None, None) => String::new(),
    }
}

/// Formats the figures of this run with half widths, both aligned.
fn measured(rows: &[&FigurePair], factor: f64) -> Vec<String> {
    let figures: Vec<(String, String)> = rows
        .iter()
        .map(|row| match row.measured {
            None => (NOTHING.to_owned(), String::new()),
            Some(figure) => {
                let ends = figure.ci95.map(|ends| ends.map(|end| end * factor));
                let (value, half) = number::figure(figure.value * factor, ends, figure.n);
                (value, half.map_or_else(String::new, |half| format!(" ± {half}")))
            }
        })
        .collect();
    let values = number::align(&figures.iter().map(|(value, _)| value.clone()).collect::<Vec<_>>());
    values.into_iter().zip(figures).map(|(value, (_, half))| format!("{value}{half}")).collect()
}

fn measured_ratio(row: &FigurePair) -> String {
    let Some(figure) = row.measured else { return String::new() };
    match figure.ratio.zip(figure.ratio_ci95) {
        Some((ratio, interval)) => format!("{}×", number::short_ratio(ratio, interval)),
        None => figure.ratio.map_or_else(String::new, |_| "1×".to_owned()),
    }
}

fn verdict(row: &FigurePair) -> CellPiece {
    match row.measured {
        Some(MeasuredFigure { verdict: Some(verdict), .. }) => {
            CellPiece::new(columns::tone(verdict), verdict.to_string())
        }
        Some(MeasuredFigure { ratio: Some(_), ratio_ci95: None, .. }) => {
            CellPiece::new(Tone::Faint, "baseline")
        }
        _ => CellPiece::default(),
    }
}

/// Returns the remarks on one row: a conflict, a doubt that not all rows share, the reason why nothing was measured,
/// too few blocks.
fn remarks(row: &FigurePair, is_doubt_shared: bool) -> Vec<String> {
    let published = &row.published;
    let conflict = published.conflict.as_ref().map(|text| format!("conflict: {text}"));
    let doubt = published.ambiguous.as_ref().filter(|_| !is_doubt_shared);
    let doubt = doubt.map(|text| format!("in doubt: {text}"));
    [conflict, doubt, row.absent.clone()].into_iter().flatten().collect()
}

/// Remarks below a table, each once.
#[derive(Default)]
struct Footnotes {
    texts: Vec<String>,
}

impl Footnotes {
    /// Returns the mark of a remark, `[2]`.
    fn mark(&mut self, text: String) -> String {
        let at = self.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        format!("[{}]", at + 1)
    }

    fn lines(self) -> Vec<String> {
        let numbered = self.texts.into_iter().enumerate();
        numbered.map(|(at, text)| one_line(&format!("[{}] {text}", at + 1))).collect()
    }
}

/// Formats Kendall's tau for each column of a table, with the probability of such an agreement by chance.
fn order(table: &str, workload: &str, ranks: &[RankAgreement]) -> Option<String> {
    let prefix = format!("{workload} ");
    let ranks: Vec<&RankAgreement> = ranks
        .iter()
        .filter(|rank| rank.table == table && rank.column.starts_with(&prefix))
        .collect();
    let facts = |rank: &RankAgreement| -> Vec<String> {
        let column = rank.column.strip_prefix(&prefix).unwrap_or(&rank.column);
        column.split(',').map(|fact| fact.trim().to_owned()).collect()
    };
    let each: Vec<String> = ranks
        .iter()
        .map(|rank| {
            let is_shared = |fact: &String| ranks.iter().all(|other| facts(other).contains(fact));
            let telling: Vec<String> =
                facts(rank).into_iter().filter(|fact| !is_shared(fact)).collect();
            let telling = telling.join(",");
            let gap = if telling.is_empty() { "" } else { " " };
            format!("{telling}{gap}{:.2} ({:.0} %)", rank.tau, rank.chance * 100.0)
        })
        .collect();
    (!each.is_empty()).then(|| {
        one_line(&format!(
            "agreement with the published order, Kendall's tau (in brackets: of all orders, how many agree as well): {}",
            each.join("; ")
        ))
    })
}

#[cfg(test)]
mod tests;
