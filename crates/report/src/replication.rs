//! Published figures of a study's source, with the figures measured here.

use crate::columns::NOTHING;
use crate::grid::{CellPiece, Grid, GridColumn};
use crate::number;
use crate::pipe_table::{escape, pipes};
use crate::style::{Style, Tone};
use crate::text::{counted, one_line, wrap};
use std::fmt::Write as _;
use tare_record::{
    ConclusionResult, FigurePair, ProtocolBasis, ProtocolScale, RankAgreement, Replication,
    TestedConclusion, unquoted_value,
};

/// Formats the published and the measured figures for a terminal: only the figures that were measured, then rank
/// agreements and conclusions.
pub(crate) fn table(rerun: &Replication, style: Style) -> String {
    let width = usize::from(style.width);
    let mut out = format!("\n{}\n", wrap(&headline(rerun), width));
    for (heading, grid) in grids(rerun, ShownFigures::Measured) {
        let _ = writeln!(out, "\n{}\n", style.paint(Tone::Strong, &wrap(&heading, width)));
        out.push_str(&grid.render(style));
    }
    let lines: Vec<String> = missing(rerun)
        .into_iter()
        .chain(rerun.ranks.iter().map(rank))
        .chain(rerun.conclusions.iter().flat_map(conclusion))
        .chain(assumptions(rerun))
        .collect();
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(|line| wrap(&one_line(line), width)).collect();
        let _ = writeln!(out, "\n{}", lines.join("\n"));
    }
    out
}

/// Formats the same as GitHub Markdown, with every published figure and the whole protocol.
pub(crate) fn markdown(rerun: &Replication) -> String {
    let mut out = format!("\n{}\n", escape(&headline(rerun)));
    for (heading, grid) in grids(rerun, ShownFigures::All) {
        let _ = writeln!(out, "\n#### {}\n", escape(&heading));
        out.push_str(&pipes(&grid));
    }
    out.push('\n');
    let lines = rerun.ranks.iter().map(rank).chain(rerun.conclusions.iter().flat_map(conclusion));
    for line in lines {
        let _ = writeln!(out, "- {}", escape(&one_line(&line)));
    }
    out.push_str(
        "\n| protocol | here | | the source's words | |\n| --- | --- | --- | --- | --- |\n",
    );
    for field in &rerun.protocol {
        let optional =
            |text: &Option<String>| escape(&one_line(text.as_deref().unwrap_or_default()));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            escape(&field.field),
            escape(&field.value),
            field.basis,
            optional(&field.text),
            optional(&field.note)
        );
    }
    out
}

pub(crate) fn headline(rerun: &Replication) -> String {
    let scale = match rerun.scale {
        ProtocolScale::AsPublished => "durations and repetitions as published or assumed",
        ProtocolScale::Scaled => "scaled: shorter than published",
    };
    format!(
        "Published and measured figures: a re-run of the protocol ({scale}), not a reproduction: the original kernels, engines and machines are not available."
    )
}

/// Choice of the published figures to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownFigures {
    All,
    Measured,
}

/// Builds a table for each published table, with its heading.
pub(crate) fn grids(rerun: &Replication, rows: ShownFigures) -> Vec<(String, Grid)> {
    let mut tables: Vec<(&str, Vec<&FigurePair>)> = Vec::new();
    for figure in &rerun.figures {
        if rows == ShownFigures::Measured && figure.measured.is_none() {
            continue;
        }
        match tables.iter_mut().find(|(table, _)| *table == figure.published.table) {
            Some((_, figures)) => figures.push(figure),
            None => tables.push((&figure.published.table, vec![figure])),
        }
    }
    tables
        .into_iter()
        .map(|(table, figures)| (one_line(&format!("published: {table}")), grid(&figures)))
        .collect()
}

fn grid(figures: &[&FigurePair]) -> Grid {
    let texts = |text: fn(&FigurePair) -> String| -> Vec<String> {
        number::align(&figures.iter().map(|figure| text(figure)).collect::<Vec<_>>())
    };
    let names = figures.iter().map(|figure| name(figure)).collect();
    let remarks = figures.iter().map(|figure| remark(figure)).collect();
    Grid {
        names: column("", "cell", names, Tone::Strong),
        columns: vec![
            column("published", "figure", texts(published), Tone::Plain),
            column("published", "ratio", texts(|one| ratio(one.published_ratio)), Tone::Plain),
            column("here", "figure", texts(measured), Tone::Plain),
            column("here", "ratio", texts(measured_ratio), Tone::Plain),
            column("", "remark", remarks, Tone::Faint),
        ],
    }
}

fn column(group: &str, name: &str, cells: Vec<String>, tone: Tone) -> GridColumn {
    GridColumn {
        group: group.to_owned(),
        name: name.to_owned(),
        unit: String::new(),
        cells: cells.into_iter().map(|text| vec![CellPiece::new(tone, text)]).collect(),
    }
}

/// Names a published figure: network, workload, metric, and the known parts of its shape and parameters.
fn name(figure: &FigurePair) -> String {
    let cell = &figure.published.cell;
    let mut name = format!("{} {} {}", cell.network, cell.workload, cell.metric);
    let shape = cell.shape.to_string();
    if !shape.is_empty() {
        name.push_str(&format!(" {shape}"));
    }
    for (parameter, value) in &cell.parameters {
        name.push_str(&format!(" {parameter}={}", unquoted_value(value)));
    }
    one_line(&name)
}

fn published(figure: &FigurePair) -> String {
    let published = &figure.published;
    published
        .value
        .map_or_else(|| NOTHING.to_owned(), |value| format!("{value} {}", published.unit))
}

fn measured(figure: &FigurePair) -> String {
    figure.measured.map_or_else(
        || NOTHING.to_owned(),
        |measured| {
            let (value, half) = number::round_with_interval(measured.value, measured.ci95);
            let half = half.map_or_else(String::new, |half| format!(" ± {half}"));
            format!("{value}{half} {}", figure.unit)
        },
    )
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NOTHING.to_owned(), |ratio| format!("{ratio:.3}×"))
}

fn measured_ratio(figure: &FigurePair) -> String {
    let measured = figure.measured.as_ref();
    match measured.and_then(|measured| measured.ratio.zip(measured.ratio_ci95)) {
        Some((value, interval)) => format!("{}×", number::ratio(value, interval)),
        None => ratio(measured.and_then(|measured| measured.ratio)),
    }
}

/// Lists the conflicts and ambiguities of a published figure, and the reason if it was not measured.
fn remark(figure: &FigurePair) -> String {
    let published = &figure.published;
    let conflict = published.conflict.as_ref().map(|text| format!("conflict: {text}"));
    let parts = [conflict, published.ambiguous.clone(), figure.absent.clone()];
    one_line(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Counts the published figures without a counterpart, with the reasons. Returns `None` if all were measured.
fn missing(rerun: &Replication) -> Option<String> {
    let absent: Vec<&FigurePair> =
        rerun.figures.iter().filter(|figure| figure.measured.is_none()).collect();
    let mut reasons: Vec<&str> =
        absent.iter().filter_map(|figure| figure.absent.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let count = u32::try_from(absent.len()).unwrap_or(u32::MAX);
    (count > 0).then(|| {
        let figures = counted(count, "published figure has", "published figures have");
        format!("{figures} no measured counterpart: {}", reasons.join("; "))
    })
}

/// Formats Kendall's tau, with the probability of such an agreement by chance: a few rows show little.
pub(crate) fn rank(rank: &RankAgreement) -> String {
    let rows = rank.networks.len();
    format!(
        "order in {} ({}): tau {:.2} over {}; {:.0} % of all orders of {rows} rows agree as well or better by chance",
        rank.table,
        rank.column,
        rank.tau,
        rank.networks.join(", "),
        rank.chance * 100.0
    )
}

/// Formats the result of a conclusion, then its evidence, a line each.
pub(crate) fn conclusion(concluded: &TestedConclusion) -> Vec<String> {
    let by = concluded.by.as_ref().map_or_else(String::new, |by| format!(" ({by})"));
    let mut lines = vec![format!("{}: “{}”{by}", concluded.result, concluded.claim)];
    let undecided = concluded.result == ConclusionResult::Undecidable;
    lines.extend(
        concluded.evidence.iter().map(|words| {
            if undecided { format!("- because {words}") } else { format!("- {words}") }
        }),
    );
    lines
}

/// Lists the protocol's assumptions. Returns `None` if there are none.
fn assumptions(rerun: &Replication) -> Option<String> {
    let fields: Vec<String> = rerun
        .protocol
        .iter()
        .filter(|field| field.basis == ProtocolBasis::Assumed)
        .map(|field| format!("{} ({})", field.field, field.value))
        .collect();
    (!fields.is_empty()).then(|| {
        format!("assumed, because the source does not specify them: {}", fields.join("; "))
    })
}
