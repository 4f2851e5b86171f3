//! Percentiles from the median to the far tail, with a row for each network.

use super::super::data_table::{DataTable, TableValue};
use super::super::element::Element;
use super::super::figure::{Drawing, Figure};
use super::super::networks::PageNetworks;
use super::super::plot::{PlotArea, dot, rect, text, tooltip, truncate, width_of};
use super::{SubjectLatencies, micros, percentile};
use crate::scale::{AxisScale, ScaleKind, format_tick};
use tare_record::{LatencyDistribution, Nanos};

/// Percentiles as shares, with their names and the width of their bars in px, the thickest bar first.
const SHARES: [(f64, &str, f64); 4] =
    [(0.5, "p50", 8.0), (0.95, "p95", 6.0), (0.99, "p99", 3.5), (0.999, "p99.9", 1.5)];
/// Height of a row, px.
const ROW: f64 = 27.0;

/// Percentiles of a network, µs.
struct PercentileRow<'a> {
    one: &'a LatencyDistribution,
    shown: Vec<Option<f64>>,
    largest: Option<f64>,
}

pub(super) fn figure(of: &SubjectLatencies<'_>, networks: &PageNetworks<'_>) -> Figure {
    let mut rows: Vec<PercentileRow<'_>> = of
        .each
        .iter()
        .map(|one| PercentileRow {
            one,
            shown: SHARES.iter().map(|(share, ..)| percentile(&one.latencies, *share)).collect(),
            largest: one.latencies.max().map(|nanos| Nanos(nanos).as_micros_f64()),
        })
        .collect();
    let median = |row: &PercentileRow<'_>| row.one.latencies.quantile(0.5).unwrap_or(u64::MAX);
    rows.sort_by_key(median);
    let caption = "From the median (the circle) through p95 and p99 to p99.9: the thinner the bar, the fewer the samples. The \
                   ring is the maximum. Over all blocks; a percentile with fewer than 100 samples beyond it is left out.";
    let described: Vec<String> = rows.iter().map(told).collect();
    let title = format!("{}: percentiles of {}s", of.heading, of.what);
    Figure::new(format!("percentiles-{}", of.id), title, table(&rows))
        .with_text(caption, described.join(" "))
        .with_both_scales(ScaleKind::Log, |width, spread| draw(&rows, networks, width, spread))
}

fn told(row: &PercentileRow<'_>) -> String {
    let shares = SHARES
        .iter()
        .zip(&row.shown)
        .filter_map(|((_, name, _), value)| value.map(|value| format!("{name} {}", micros(value))));
    let largest = row.largest.map(|value| format!("maximum {}", micros(value)));
    let words: Vec<String> = shares.chain(largest).collect();
    format!("{}: {} µs.", row.one.label, words.join(", "))
}

fn table(rows: &[PercentileRow<'_>]) -> DataTable {
    let heads = SHARES.iter().map(|(_, name, _)| format!("{name} (µs)"));
    let heads = std::iter::once("network".to_owned()).chain(heads);
    let mut table = DataTable::new(heads.chain(["maximum (µs)".to_owned(), "count".to_owned()]));
    for row in rows {
        let datum = |value: &Option<f64>| match value {
            Some(value) => TableValue::number(*value, micros(*value)),
            None => TableValue::none(),
        };
        let count = row.one.latencies.count();
        let mut data = vec![TableValue::from(row.one.label.as_str())];
        data.extend(row.shown.iter().map(datum));
        data.push(datum(&row.largest));
        data.push(TableValue::number(
            count as f64,
            super::super::subject::group_thousands(&count.to_string()),
        ));
        table.add(data);
    }
    table
}

fn draw(
    rows: &[PercentileRow<'_>],
    networks: &PageNetworks<'_>,
    width: f64,
    spread: ScaleKind,
) -> Drawing {
    let widest = rows.iter().map(|row| width_of(&row.one.label)).fold(0.0, f64::max);
    let names = (widest + 10.0).min(width * 0.32);
    let height = 10.0 + ROW * rows.len() as f64 + 40.0;
    let area = PlotArea { left: names, top: 10.0, right: width - 14.0, bottom: height - 40.0 };
    // On a linear axis the slowest of all would compress the percentiles, so it is omitted there.
    let percentiles = rows.iter().flat_map(|row| row.shown.iter().flatten().copied());
    let largest = rows.iter().filter_map(|row| row.largest).filter(|_| spread == ScaleKind::Log);
    let x = AxisScale::new(spread, percentiles.chain(largest), area.x_range());
    let ticks: Vec<_> = x
        .ticks(if width > 600.0 { 8 } else { 4 })
        .into_iter()
        .map(|v| (v, format_tick(v)))
        .collect();
    let mut content = vec![area.vertical_grid(&x, &ticks), area.x_title("µs")];
    content.extend(rows.iter().enumerate().map(|(at, row)| {
        let y = area.top + ROW * (at as f64 + 0.5);
        let mut group = networks.group(&row.one.label);
        group.add(rect([0.0, y - ROW / 2.0], [width, y + ROW / 2.0]).class("catch"));
        group.add(text(0.0, y + 4.0, &truncate(&row.one.label, names)).class("name"));
        // The thinnest bar first, so that thicker bars cover it.
        let known: Vec<(f64, f64)> = SHARES
            .iter()
            .zip(&row.shown)
            .filter_map(|((.., thick), value)| value.map(|value| (x.position(value), *thick)))
            .collect();
        for pair in known.windows(2).rev() {
            let ((from, _), (to, thick)) = (pair[0], pair[1]);
            group.add(rect([from, y - thick / 2.0], [to, y + thick / 2.0]).class("tail"));
        }
        if let Some((median, _)) = known.first() {
            group.add(dot(*median, y, 4.2).class("mark"));
        }
        if let Some(largest) = row.largest.filter(|_| spread == ScaleKind::Log) {
            group.add(dot(x.position(largest), y, 3.0).class("ring"));
        }
        group.push(tooltip(told(row)))
    }));
    let content: Vec<Element> = content;
    Drawing { width, height, content }
}
