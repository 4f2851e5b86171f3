//! Bar charts with confidence intervals: a panel for each metric of a subject, a bar for each network, best first.

use super::data_table::{DataTable, TableValue};
use super::element::{Element, Px};
use super::figure::{Drawing, Figure};
use super::networks::PageNetworks;
use super::plot::{PlotArea, dot, line, rect, text, tooltip, truncate, width_of};
use super::subject::{Subject, baseline_change, figure, tooltip_text, unit, verdict_words};
use crate::scale::{AxisScale, ScaleKind, format_tick};
use std::cmp::Ordering;
use tare_record::{Better, Cell, Document, Metric};

/// Height of a row, px.
const ROW: f64 = 25.0;
/// Heights above and below the rows of a panel, px.
const MARGINS: [f64; 2] = [30.0, 30.0];
/// Largest number of blocks shown as dots, spread evenly over all blocks.
const MOST_DOTS: usize = 40;
/// Gap between two panels, px.
const GAP: f64 = 36.0;

/// Draws the figures of a subject. Returns `None` if nothing was measured.
pub(crate) fn bars(subject: &Subject<'_>, networks: &PageNetworks<'_>) -> Option<Figure> {
    let panels: Vec<(Metric, Vec<&Cell>)> = subject
        .metrics()
        .into_iter()
        .map(|metric| (metric, best_first(subject.cells_of(metric))))
        .filter(|(_, cells)| cells.iter().any(|cell| cell.mean.is_some()))
        .collect();
    if panels.is_empty() {
        return None;
    }
    let caption = "Best first. A bar is the mean over blocks, the line across its end the 95 % interval, a dot the \
                   figure of one block; the dashed line is the baseline. On the logarithmic scale, bars do not begin at \
                   0: compare ends, not lengths.";
    let described = panels.iter().map(|(metric, cells)| described(*metric, cells));
    let table = table(subject);
    Some(
        Figure::new(format!("bars-{}", subject.id), subject.heading.clone(), table)
            .with_text(caption, described.collect::<Vec<_>>().join(" "))
            .with_both_scales(ScaleKind::Linear, |width, spread| {
                draw(&panels, networks, width, spread)
            }),
    )
}

/// Draws all cells of a document as a separate SVG file. Returns `None` if nothing was measured.
pub(crate) fn bar_chart_file(document: &Document) -> Option<String> {
    let cells: Vec<&Cell> = document.cells.iter().collect();
    let first = cells.first()?;
    let subject = Subject {
        id: document.study.clone(),
        workload: first.workload.clone(),
        shape: &first.shape,
        heading: format!("Figures of {}", document.study),
        cells,
    };
    bars(&subject, &PageNetworks::new(document, ""))?.file()
}

fn best_first(mut cells: Vec<&Cell>) -> Vec<&Cell> {
    cells.sort_by(|a, b| match (a.mean, b.mean) {
        (Some(one), Some(two)) if a.better == Better::Higher => two.total_cmp(&one),
        (Some(one), Some(two)) => one.total_cmp(&two),
        (None, None) => Ordering::Equal,
        (one, _) => {
            if one.is_some() {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    });
    cells
}

/// Describes the best and the worst network in words.
fn described(metric: Metric, cells: &[&Cell]) -> String {
    let measured: Vec<&&Cell> = cells.iter().filter(|cell| cell.mean.is_some()).collect();
    match (measured.first(), measured.last()) {
        (Some(best), Some(worst)) if measured.len() > 1 => format!(
            "{metric}: from {} ({}) to {} ({}), {}.",
            figure(best),
            best.label,
            figure(worst),
            worst.label,
            unit(best)
        ),
        (Some(only), _) => format!("{metric}: {} {} ({}).", figure(only), unit(only), only.label),
        _ => String::new(),
    }
}

fn table(subject: &Subject<'_>) -> DataTable {
    let heads = [
        "network",
        "metric",
        "unit",
        "n",
        "mean",
        "95 % from",
        "95 % to",
        "compared with the baseline",
        "verdict",
    ];
    let mut table = DataTable::new(heads);
    for cell in &subject.cells {
        let number = |value: Option<f64>, cell: &Cell| match value {
            Some(value) => {
                let shown = crate::number::round_with_interval(value, cell.ci95).0;
                TableValue::number(value, super::subject::group_thousands(&shown))
            }
            None => TableValue::none(),
        };
        let ratio = cell.ratio.as_ref().map(|ratio| ratio.value);
        let difference = cell.difference.as_ref().map(|difference| difference.value);
        table.add(vec![
            cell.label.as_str().into(),
            cell.metric.name().into(),
            cell.unit.as_str().into(),
            TableValue::number(f64::from(cell.n), cell.n.to_string()),
            number(cell.mean, cell),
            number(cell.ci95.map(|ci| ci[0]), cell),
            number(cell.ci95.map(|ci| ci[1]), cell),
            match (ratio.or(difference), baseline_change(cell)) {
                (Some(value), Some(words)) => TableValue::number(value, words),
                _ => TableValue::none(),
            },
            cell.ratio.as_ref().map_or("", |ratio| verdict_words(ratio.verdict)).into(),
        ]);
    }
    table
}

/// Draws the panels, in two columns if there is room.
fn draw(
    panels: &[(Metric, Vec<&Cell>)],
    networks: &PageNetworks<'_>,
    width: f64,
    spread: ScaleKind,
) -> Drawing {
    let across = if width > 600.0 && panels.len() > 1 { 2 } else { 1 };
    let each = (width - GAP * (across - 1) as f64) / across as f64;
    let rows = panels.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let tall = MARGINS[0] + ROW * rows as f64 + MARGINS[1];
    let content = panels.iter().enumerate().map(|(at, (metric, cells))| {
        let left = (each + GAP) * (at % across) as f64;
        let top = tall * (at / across) as f64;
        panel(*metric, cells, networks, [left, top, left + each], spread)
    });
    let content = content.collect();
    Drawing { width, height: tall * panels.len().div_ceil(across) as f64, content }
}

fn panel(
    metric: Metric,
    cells: &[&Cell],
    networks: &PageNetworks<'_>,
    [left, top, right]: [f64; 3],
    spread: ScaleKind,
) -> Element {
    let widest = |words: &dyn Fn(&Cell) -> String| {
        cells.iter().map(|cell| width_of(&words(cell))).fold(0.0, f64::max)
    };
    let names = (widest(&|cell| cell.label.clone()) + 8.0).min((right - left) * 0.34);
    let figures = widest(&figure) + 8.0;
    let area = PlotArea {
        left: left + names,
        top: top + MARGINS[0],
        right: right - figures,
        bottom: top + MARGINS[0] + ROW * cells.len() as f64,
    };
    let drawn = cells.iter().flat_map(|cell| {
        cell.samples.iter().copied().chain(cell.mean).chain(cell.ci95.into_iter().flatten())
    });
    // A share cannot exceed 100 %, however wide its interval.
    let most = if metric.unit() == "%" { 100.0 } else { f64::INFINITY };
    let scale = AxisScale::new(spread, drawn.map(|value| value.clamp(0.0, most)), area.x_range());
    let ticks: Vec<_> = scale
        .ticks(if area.right - area.left > 150.0 { 5 } else { 3 })
        .iter()
        .map(|v| (*v, format_tick(*v)))
        .collect();
    let what = match metric.unit() {
        "" => metric.to_string(),
        unit => format!("{metric}, {unit}"),
    };
    let baseline = cells.iter().find(|cell| networks.baseline() == Some(cell.label.as_str()));
    let reference = baseline.and_then(|cell| cell.mean).map(|mean| {
        let x = scale.position(mean);
        line([x, area.top - 4.0], [x, area.bottom]).class("reference")
    });
    let rows = cells.iter().enumerate().map(|(row, cell)| {
        bar(cell, networks, &area, &scale, area.top + ROW * (row as f64 + 0.5), [left, right])
    });
    Element::new("g")
        .push(text(left, top + 14.0, &what).class("strong"))
        .push(area.vertical_grid(&scale, &ticks))
        .extend(rows)
        .extend(reference)
}

fn bar(
    cell: &Cell,
    networks: &PageNetworks<'_>,
    area: &PlotArea,
    scale: &AxisScale,
    y: f64,
    [left, right]: [f64; 2],
) -> Element {
    let mut group = networks.group(&cell.label);
    group.add(rect([left, y - ROW / 2.0], [right, y + ROW / 2.0]).class("catch"));
    group.add(text(left, y + 4.0, &truncate(&cell.label, area.left - left)).class("name"));
    if let Some(mean) = cell.mean {
        group.add(rect([scale.origin(), y - 7.0], [scale.position(mean), y + 7.0]).class("bar"));
        let every = cell.samples.len().div_ceil(MOST_DOTS).max(1);
        let samples = cell.samples.iter().step_by(every);
        let dots = samples.map(|sample| dot(scale.position(*sample), y, 1.6).class("sample"));
        group = group.extend(dots);
        if let Some([low, high]) = cell.ci95 {
            let (low, high) = (Px(scale.position(low)), Px(scale.position(high)));
            let (up, down, y) = (Px(y - 4.0), Px(y + 4.0), Px(y));
            let d = format!("M{low},{up}V{down}M{high},{up}V{down}M{low},{y}H{high}");
            group.add(Element::new("path").class("whisker").with("d", d));
        }
    }
    group.add(text(right, y + 4.0, &figure(cell)).class("end number"));
    group.push(tooltip(tooltip_text(cell)))
}
