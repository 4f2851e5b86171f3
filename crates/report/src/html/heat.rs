//! The heat map: every network beside the baseline in every metric, in one look.
//!
//! Blue is better, red is worse (the diverging ends of *BuRd*, P. Tol, after ColorBrewer by C. Brewer), the stronger
//! the further from the baseline; what is unclear is pale. Every field says its ratio and its verdict in words.

use super::data::{Datum, Table};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::networks::Networks;
use super::plot::{fitted, hint, rect, text, width_of};
use super::subject::{Subject, beside, figure, mean, told, verdict};
use crate::columns::NOTHING;
use tare_record::{Better, Cell, Metric, Verdict};

/// The least width of a field, px.
const FIELD: f64 = 78.0;
/// The height of a field, px.
const ROW: f64 = 38.0;
/// The height of the headings above a panel, px.
const HEAD: f64 = 50.0;
/// A ratio this far from 1, either way, has the strongest colour.
const STRONGEST: f64 = 2.0;

/// A column: a metric of a subject.
struct Column<'a> {
    subject: &'a Subject<'a>,
    metric: Metric,
}

/// All networks beside the baseline; nothing where there is no baseline to be beside.
pub(crate) fn heat_map(subjects: &[Subject<'_>], networks: &Networks<'_>) -> Option<Figure> {
    let columns: Vec<Column<'_>> = subjects
        .iter()
        .flat_map(|subject| {
            let metrics = subject.metrics();
            metrics.into_iter().map(move |metric| Column { subject, metric })
        })
        .filter(|column| column.cells().iter().any(|cell| beside(cell).is_some()))
        .collect();
    let baseline = networks.baseline().filter(|_| !columns.is_empty())?;
    let caption = format!(
        "Each field is a network’s figure over that of {baseline}, made within blocks, and the verdict. Blue is better, \
         red is worse; pale is not certain yet."
    );
    let described = format!(
        "{} networks by {} metrics, beside {baseline}. The table below the figure says every ratio and verdict.",
        networks.labels().len(),
        columns.len()
    );
    Some(
        Figure::new("heat", format!("Beside {baseline}"), table(&columns, networks))
            .told(caption, described)
            .drawn(|width| draw(&columns, networks, width)),
    )
}

impl<'a> Column<'a> {
    fn cells(&self) -> Vec<&'a Cell> {
        self.subject.of(self.metric)
    }

    fn cell(&self, label: &str) -> Option<&'a Cell> {
        self.cells().into_iter().find(|cell| cell.label == label)
    }
}

fn table(columns: &[Column<'_>], networks: &Networks<'_>) -> Table {
    let heads = columns.iter().map(|one| format!("{} {}", one.subject.heading, one.metric));
    let mut table = Table::new(std::iter::once("network".to_owned()).chain(heads));
    for label in networks.labels() {
        let fields = columns.iter().map(|column| field_datum(column.cell(label)));
        table.add(std::iter::once((*label).into()).chain(fields).collect());
    }
    table
}

fn field_datum(cell: Option<&Cell>) -> Datum {
    let Some(cell) = cell else { return Datum::none() };
    match (&cell.ratio, &cell.difference, beside(cell)) {
        (Some(ratio), _, Some(words)) => {
            Datum::number(ratio.value, format!("{words} {}", verdict(ratio.verdict)))
        }
        (None, Some(difference), Some(words)) => Datum::number(difference.value, words),
        _ => figure(cell).into(),
    }
}

/// Panels of as many columns as the width has room for, one below the other.
fn draw(columns: &[Column<'_>], networks: &Networks<'_>, width: f64) -> Drawing {
    let widest = networks.labels().iter().map(|label| width_of(label)).fold(40.0, f64::max);
    let names = (widest + 8.0).min(width * 0.3);
    let fit = (((width - names) / FIELD).floor() as usize).max(1);
    // As many panels as there must be, and all about equally wide.
    let panels = columns.len().div_ceil(fit).max(1);
    let each = columns.len().div_ceil(panels).max(1);
    let field = ((width - names) / each as f64).min(FIELD * 2.1);
    let tall = HEAD + ROW * networks.labels().len() as f64 + 16.0;
    let mut content = Vec::new();
    for (at, panel) in columns.chunks(each).enumerate() {
        let top = at as f64 * tall;
        content.extend(heads(panel, names, field, top));
        for (row, label) in networks.labels().iter().enumerate() {
            let y = top + HEAD + ROW * row as f64;
            let mut group = networks.group(label);
            group.add(text(0.0, y + ROW / 2.0 + 4.0, &fitted(label, names)).class("name"));
            for (place, column) in panel.iter().enumerate() {
                let x = names + field * place as f64;
                group.add(draw_field(column.cell(label), networks, [x, y], field));
            }
            content.push(group);
        }
    }
    Drawing { width, height: tall * panels as f64 - 16.0, content }
}

/// The names of a panel's metrics, and above them those of the subjects.
fn heads(panel: &[Column<'_>], names: f64, field: f64, top: f64) -> Vec<Element> {
    let mut heads = Vec::new();
    let mut from = 0;
    for together in panel.chunk_by(|a, b| a.subject.id == b.subject.id) {
        let x = names + field * from as f64 + 2.0;
        let room = field * together.len() as f64 - 6.0;
        // Strong words are wider than others.
        let words = fitted(&together[0].subject.heading, room * 0.86);
        heads.push(
            text(x, top + 12.0, &words).class("strong").push(hint(&*together[0].subject.heading)),
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

/// A metric's name in two lines: `latency` and `p99`.
fn two_lines(name: &str) -> (String, String) {
    match name.split_once('_') {
        Some((first, second)) => (first.to_owned(), second.replace('_', " ")),
        None => (String::new(), name.to_owned()),
    }
}

fn draw_field(
    cell: Option<&Cell>,
    networks: &Networks<'_>,
    [x, y]: [f64; 2],
    width: f64,
) -> Element {
    let (kind, strength) = cell.map_or(("none", 0.0), strength);
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
    let (first, second) = match (beside(cell), &cell.ratio) {
        (Some(ratio), Some(judged)) => (ratio, verdict(judged.verdict).to_owned()),
        (Some(difference), None) => (difference, cell.unit.clone()),
        (None, _) if is_baseline => (mean(cell), cell.unit.clone()),
        (None, _) => (figure(cell), "no ratio".to_owned()),
    };
    let weight = if is_baseline { "small" } else { "figure" };
    group.add(
        text(middle, y + 17.0, &fitted(&first, width + 8.0)).class(format!("{weight} mid{on}")),
    );
    group.add(text(middle, y + 30.0, &second).class(format!("tiny mid{on}")));
    group.add(hint(told(cell)));
    group
}

/// How a field is coloured, and how strongly, 0–1.
fn strength(cell: &Cell) -> (&'static str, f64) {
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
