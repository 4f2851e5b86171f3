//! Bars with intervals: every metric of a subject, a bar a network, best first.

use super::data::{Datum, Table};
use super::element::{Element, Px};
use super::figure::{Drawing, Figure};
use super::networks::Networks;
use super::plot::{Area, dot, fitted, hint, line, rect, text, width_of};
use super::subject::{Subject, beside, figure, told, unit, verdict};
use crate::scale::{Scale, Spread, tick};
use std::cmp::Ordering;
use tare_record::{Better, Cell, Metric};

/// The height of a row, px.
const ROW: f64 = 25.0;
/// What a panel takes above its rows and below them, px.
const AROUND: [f64; 2] = [30.0, 30.0];
/// Blocks that have a dot, evenly over all.
const MOST_DOTS: usize = 40;
/// Blank between two panels, px.
const GAP: f64 = 36.0;

/// The figures of a subject; nothing where nothing was measured.
pub(crate) fn bars(subject: &Subject<'_>, networks: &Networks<'_>) -> Option<Figure> {
    let panels: Vec<(Metric, Vec<&Cell>)> = subject
        .metrics()
        .into_iter()
        .map(|metric| (metric, best_first(subject.of(metric))))
        .filter(|(_, cells)| cells.iter().any(|cell| cell.mean.is_some()))
        .collect();
    if panels.is_empty() {
        return None;
    }
    let caption = "Best first. A bar is the mean over blocks, the line across its end the 95 % interval, a dot the \
                   figure of one block; the dashed line is the baseline. On the logarithmic scale bars do not begin at \
                   nought: compare ends, not lengths.";
    let described = panels.iter().map(|(metric, cells)| described(*metric, cells));
    let table = table(subject);
    Some(
        Figure::new(format!("bars-{}", subject.id), subject.heading.clone(), table)
            .told(caption, described.collect::<Vec<_>>().join(" "))
            .drawn_on_both(Spread::Linear, |width, spread| draw(&panels, networks, width, spread)),
    )
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

/// The best and the worst, in words.
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

fn table(subject: &Subject<'_>) -> Table {
    let heads = [
        "network",
        "metric",
        "unit",
        "n",
        "mean",
        "95 % from",
        "95 % to",
        "beside the baseline",
        "verdict",
    ];
    let mut table = Table::new(heads);
    for cell in &subject.cells {
        let number = |value: Option<f64>, cell: &Cell| match value {
            Some(value) => {
                let shown = crate::number::measured(value, cell.ci95).0;
                Datum::number(value, super::subject::grouped(&shown))
            }
            None => Datum::none(),
        };
        let ratio = cell.ratio.as_ref().map(|ratio| ratio.value);
        let difference = cell.difference.as_ref().map(|difference| difference.value);
        table.add(vec![
            cell.label.as_str().into(),
            cell.metric.name().into(),
            cell.unit.as_str().into(),
            Datum::number(f64::from(cell.n), cell.n.to_string()),
            number(cell.mean, cell),
            number(cell.ci95.map(|ci| ci[0]), cell),
            number(cell.ci95.map(|ci| ci[1]), cell),
            match (ratio.or(difference), beside(cell)) {
                (Some(value), Some(words)) => Datum::number(value, words),
                _ => Datum::none(),
            },
            cell.ratio.as_ref().map_or("", |ratio| verdict(ratio.verdict)).into(),
        ]);
    }
    table
}

/// Panels side by side where there is room for two.
fn draw(
    panels: &[(Metric, Vec<&Cell>)],
    networks: &Networks<'_>,
    width: f64,
    spread: Spread,
) -> Drawing {
    let across = if width > 600.0 && panels.len() > 1 { 2 } else { 1 };
    let each = (width - GAP * (across - 1) as f64) / across as f64;
    let rows = panels.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let tall = AROUND[0] + ROW * rows as f64 + AROUND[1];
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
    networks: &Networks<'_>,
    [left, top, right]: [f64; 3],
    spread: Spread,
) -> Element {
    let widest = |words: &dyn Fn(&Cell) -> String| {
        cells.iter().map(|cell| width_of(&words(cell))).fold(0.0, f64::max)
    };
    let names = (widest(&|cell| cell.label.clone()) + 8.0).min((right - left) * 0.34);
    let figures = widest(&figure) + 8.0;
    let area = Area {
        left: left + names,
        top: top + AROUND[0],
        right: right - figures,
        bottom: top + AROUND[0] + ROW * cells.len() as f64,
    };
    let drawn = cells.iter().flat_map(|cell| {
        cell.samples.iter().copied().chain(cell.mean).chain(cell.ci95.into_iter().flatten())
    });
    // No share is more than all, however wide its interval.
    let most = if metric.unit() == "%" { 100.0 } else { f64::INFINITY };
    let scale = Scale::new(spread, drawn.map(|value| value.clamp(0.0, most)), area.across());
    let ticks: Vec<_> = scale
        .ticks(if area.right - area.left > 150.0 { 5 } else { 3 })
        .iter()
        .map(|v| (*v, tick(*v)))
        .collect();
    let what = match metric.unit() {
        "" => metric.to_string(),
        unit => format!("{metric}, {unit}"),
    };
    let baseline = cells.iter().find(|cell| networks.baseline() == Some(cell.label.as_str()));
    let reference = baseline.and_then(|cell| cell.mean).map(|mean| {
        let x = scale.at(mean);
        line([x, area.top - 4.0], [x, area.bottom]).class("reference")
    });
    let rows = cells.iter().enumerate().map(|(row, cell)| {
        bar(cell, networks, &area, &scale, area.top + ROW * (row as f64 + 0.5), [left, right])
    });
    Element::new("g")
        .push(text(left, top + 14.0, &what).class("strong"))
        .push(area.upright(&scale, &ticks))
        .extend(rows)
        .extend(reference)
}

fn bar(
    cell: &Cell,
    networks: &Networks<'_>,
    area: &Area,
    scale: &Scale,
    y: f64,
    [left, right]: [f64; 2],
) -> Element {
    let mut group = networks.group(&cell.label);
    group.add(rect([left, y - ROW / 2.0], [right, y + ROW / 2.0]).class("catch"));
    group.add(text(left, y + 4.0, &fitted(&cell.label, area.left - left)).class("name"));
    if let Some(mean) = cell.mean {
        group.add(rect([scale.base(), y - 7.0], [scale.at(mean), y + 7.0]).class("bar"));
        let every = cell.samples.len().div_ceil(MOST_DOTS).max(1);
        let samples = cell.samples.iter().step_by(every);
        let dots = samples.map(|sample| dot(scale.at(*sample), y, 1.6).class("sample"));
        group = group.extend(dots);
        if let Some([low, high]) = cell.ci95 {
            let (low, high) = (Px(scale.at(low)), Px(scale.at(high)));
            let (up, down, y) = (Px(y - 4.0), Px(y + 4.0), Px(y));
            let d = format!("M{low},{up}V{down}M{high},{up}V{down}M{low},{y}H{high}");
            group.add(Element::new("path").class("whisker").with("d", d));
        }
    }
    group.add(text(right, y + 4.0, &figure(cell)).class("end number"));
    group.push(hint(told(cell)))
}
