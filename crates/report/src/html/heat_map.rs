//! Heat map: every network compared with the baseline in every metric.
//!
//! Blue is better, red is worse (the diverging ends of *BuRd*, P. Tol, after ColorBrewer by C. Brewer), stronger with
//! the distance from the baseline; unclear verdicts are pale. Every field has its ratio and its verdict in words.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::networks::PageNetworks;
use super::plot::{rect, text, tooltip, truncate, width_of};
use super::subject::{Subject, baseline_change, figure, mean, tooltip_text, verdict_words};
use crate::columns::NOTHING;
use tare_record::{Better, Cell, Metric, Verdict};

/// Least width of a field, px.
const FIELD: f64 = 78.0;
/// Height of a field, px.
pub(super) const ROW: f64 = 38.0;
/// Height of the headings above a panel, px.
const HEAD: f64 = 50.0;
/// Ratio with the strongest colour, in either direction from 1.
const STRONGEST: f64 = 2.0;

/// Column: a metric of a subject.
struct MetricColumn<'a> {
    subject: &'a Subject<'a>,
    metric: Metric,
}

/// Draws the heat map. Returns `None` if there is no baseline to compare with.
pub(crate) fn heat_map(subjects: &[Subject<'_>], networks: &PageNetworks<'_>) -> Option<Figure> {
    let columns: Vec<MetricColumn<'_>> = subjects
        .iter()
        .flat_map(|subject| {
            let metrics = subject.metrics();
            metrics.into_iter().map(move |metric| MetricColumn { subject, metric })
        })
        .filter(|column| column.cells().iter().any(|cell| baseline_change(cell).is_some()))
        .collect();
    let baseline = networks.baseline().filter(|_| !columns.is_empty())?;
    let caption = format!(
        "Each field has the ratio of a network’s figure to that of {baseline}, made within blocks, and the verdict. Blue is \
         better, red is worse, pale is unclear."
    );
    let described = format!(
        "{} networks by {} metrics, compared with {baseline}. The table below the figure has every ratio and verdict.",
        networks.labels().len(),
        columns.len()
    );
    Some(
        Figure::new("heat", format!("Compared with {baseline}"), table(&columns, networks))
            .with_text(caption, described)
            .with_drawings(|width| draw(&columns, networks, width)),
    )
}

impl<'a> MetricColumn<'a> {
    fn cells(&self) -> Vec<&'a Cell> {
        self.subject.cells_of(self.metric)
    }

    fn cell(&self, label: &str) -> Option<&'a Cell> {
        self.cells().into_iter().find(|cell| cell.label == label)
    }
}

fn table(columns: &[MetricColumn<'_>], networks: &PageNetworks<'_>) -> DataTable {
    let heads = columns.iter().map(|one| format!("{} {}", one.subject.heading, one.metric));
    let mut table = DataTable::new(std::iter::once("network".to_owned()).chain(heads));
    for label in networks.labels() {
        let fields = columns.iter().map(|column| field_datum(column.cell(label)));
        table.add(std::iter::once((*label).into()).chain(fields).collect());
    }
    table
}

pub(super) fn field_datum(cell: Option<&Cell>) -> TableValue {
    let Some(cell) = cell else { return TableValue::none() };
    match (&cell.ratio, &cell.difference, baseline_change(cell)) {
        (Some(ratio), _, Some(words)) => {
            TableValue::number(ratio.value, format!("{words} {}", verdict_words(ratio.verdict)))
        }
        (None, Some(difference), Some(words)) => TableValue::number(difference.value, words),
        _ => figure(cell).into(),
    }
}

/// Layout of the fields of a heat map in panels one below the other.
pub(super) struct FieldLayout {
    /// Width of the column of the rows' names, px.
    pub(super) names: f64,
    /// Largest number of columns of a panel.
    pub(super) each: usize,
    /// Width of a field, px.
    pub(super) field: f64,
}

impl FieldLayout {
    /// Lays out rows of these names and a number of columns in the fewest panels that fit, all about equally wide.
    pub(super) fn new(rows: &[&str], columns: usize, width: f64) -> Self {
        let widest = rows.iter().map(|name| width_of(name)).fold(40.0, f64::max);
        let names = (widest + 8.0).min(width * 0.3);
        let fit = (((width - names) / FIELD).floor() as usize).max(1);
        let panels = columns.div_ceil(fit).max(1);
        let each = columns.div_ceil(panels).max(1);
        Self { names, each, field: ((width - names) / each as f64).min(FIELD * 2.1) }
    }
}

/// Draws panels of as many columns as fit the width, one below the other.
fn draw(columns: &[MetricColumn<'_>], networks: &PageNetworks<'_>, width: f64) -> Drawing {
    let FieldLayout { names, each, field } =
        FieldLayout::new(networks.labels(), columns.len(), width);
    let panels = columns.len().div_ceil(each);
    let tall = HEAD + ROW * networks.labels().len() as f64 + 16.0;
    let mut content = Vec::new();
    for (at, panel) in columns.chunks(each).enumerate() {
        let top = at as f64 * tall;
        content.extend(heads(panel, names, field, top));
        for (row, label) in networks.labels().iter().enumerate() {
            let y = top + HEAD + ROW * row as f64;
            let mut group = networks.group(label);
            group.add(text(0.0, y + ROW / 2.0 + 4.0, &truncate(label, names)).class("name"));
            for (place, column) in panel.iter().enumerate() {
                let x = names + field * place as f64;
                group.add(draw_field(column.cell(label), networks, [x, y], field));
            }
            content.push(group);
        }
    }
    Drawing { width, height: tall * panels as f64 - 16.0, content }
}

/// Draws the names of a panel's metrics, and above them the headings of their subjects.
fn heads(panel: &[MetricColumn<'_>], names: f64, field: f64, top: f64) -> Vec<Element> {
    let mut heads = Vec::new();
    let mut from = 0;
    for together in panel.chunk_by(|a, b| a.subject.id == b.subject.id) {
        let x = names + field * from as f64 + 2.0;
        let room = field * together.len() as f64 - 6.0;
        // Bold text is wider than plain text.
        let words = truncate(&together[0].subject.heading, room * 0.86);
        heads.push(
            text(x, top + 12.0, &words)
                .class("strong")
                .push(tooltip(&*together[0].subject.heading)),
        );
        for (place, column) in together.iter().enumerate() {
            let (first, second) = two_lines(column.metric.name());
            let x = x + field * place as f64;
            heads.push(text(x, top + 29.0, &first).class("tick"));
            heads.push(text(x, top + 43.0, &second).class("tick"));
        }
        from += together.len();
    }
    heads
}

/// Splits a metric's name into two lines: `latency` and `p99`.
fn two_lines(name: &str) -> (String, String) {
    match name.split_once('_') {
        Some((first, second)) => (first.to_owned(), second.replace('_', " ")),
        None => (String::new(), name.to_owned()),
    }
}

/// Draws a field: the ratio and its verdict, or the figure of a cell that has none.
pub(super) fn draw_field(
    cell: Option<&Cell>,
    networks: &PageNetworks<'_>,
    [x, y]: [f64; 2],
    width: f64,
) -> Element {
    let (kind, strength) = cell.map_or(("none", 0.0), colour_and_opacity);
    let shade = rect([x + 1.0, y + 1.0], [x + width - 1.0, y + ROW - 1.0])
        .class(format!("field {kind}"))
        .with("fill-opacity", (strength * 100.0).round() / 100.0);
    let on = match strength {
        s if s > 0.75 => " on",
        s if s > 0.15 => " over",
        _ => "",
    };
    let middle = x + width / 2.0;
    let mut group = Element::new("g").push(shade);
    let Some(cell) = cell else {
        return group.push(text(middle, y + ROW / 2.0 + 4.0, NOTHING).class("small mid"));
    };
    let is_baseline = networks.baseline() == Some(cell.label.as_str());
    let (first, second) = match (baseline_change(cell), &cell.ratio) {
        (Some(ratio), Some(judged)) => (ratio, verdict_words(judged.verdict).to_owned()),
        (Some(difference), None) => (difference, cell.unit.clone()),
        (None, _) if is_baseline => (mean(cell), cell.unit.clone()),
        (None, _) => (figure(cell), "no ratio".to_owned()),
    };
    let weight = if is_baseline { "small" } else { "figure" };
    group.add(
        text(middle, y + 17.0, &truncate(&first, width + 8.0)).class(format!("{weight} mid{on}")),
    );
    group.add(text(middle, y + 30.0, &second).class(format!("tiny mid{on}")));
    group.add(tooltip(tooltip_text(cell)));
    group
}

/// Returns the colour class of a field and its opacity, 0–1.
fn colour_and_opacity(cell: &Cell) -> (&'static str, f64) {
    let Some(ratio) = &cell.ratio else { return ("none", 0.0) };
    let good = match cell.better {
        Better::Higher => ratio.value.ln(),
        Better::Lower => -ratio.value.ln(),
    };
    let full = (good.abs() / STRONGEST.ln()).min(1.0);
    let kind = if good >= 0.0 { "good" } else { "bad" };
    match ratio.verdict {
        Verdict::Same => (kind, 0.0),
        Verdict::Unclear => (kind, 0.04 + 0.14 * full),
        Verdict::FasterSlightly | Verdict::SlowerSlightly => (kind, 0.08 + 0.25 * full),
        Verdict::Faster | Verdict::Slower => (kind, 0.2 + 0.7 * full),
    }
}
