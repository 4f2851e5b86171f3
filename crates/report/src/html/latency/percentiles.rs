//! Percentiles side by side: from the median to the far tail, a row a network.

use super::super::data::{Datum, Table};
use super::super::element::Element;
use super::super::figure::{Drawing, Figure};
use super::super::networks::Networks;
use super::super::plot::{Area, dot, fitted, hint, rect, text, width_of};
use super::{Latencies, micros, percentile};
use crate::scale::{Scale, Spread, tick};
use tare_record::{Distribution, Nanos};

/// The percentiles, each with its name, from the thickest bar to the thinnest.
const SHARES: [(f64, &str, f64); 4] =
    [(0.5, "p50", 8.0), (0.95, "p95", 6.0), (0.99, "p99", 3.5), (0.999, "p99.9", 1.5)];
/// The height of a row, px.
const ROW: f64 = 27.0;

/// A network's percentiles, µs.
struct Row<'a> {
    one: &'a Distribution,
    shown: Vec<Option<f64>>,
    largest: Option<f64>,
}

pub(super) fn figure(of: &Latencies<'_>, networks: &Networks<'_>) -> Figure {
    let mut rows: Vec<Row<'_>> = of
        .each
        .iter()
        .map(|one| Row {
            one,
            shown: SHARES.iter().map(|(share, ..)| percentile(&one.latencies, *share)).collect(),
            largest: one.latencies.max().map(|nanos| Nanos(nanos).as_micros_f64()),
        })
        .collect();
    let median = |row: &Row<'_>| row.one.latencies.quantile(0.5).unwrap_or(u64::MAX);
    rows.sort_by_key(median);
    let caption = "From the median (the circle) by p95 and p99 to p99.9: bars as thin as few of them take so long. The \
                   ring is the slowest of all. Over all blocks; a percentile with fewer than a hundred beyond it is left out.";
    let described: Vec<String> = rows.iter().map(told).collect();
    let title = format!("{}: percentiles of {}s", of.heading, of.what);
    Figure::new(format!("percentiles-{}", of.id), title, table(&rows))
        .told(caption, described.join(" "))
        .drawn_on_both(Spread::Log, |width, spread| draw(&rows, networks, width, spread))
}

fn told(row: &Row<'_>) -> String {
    let shares = SHARES
        .iter()
        .zip(&row.shown)
        .filter_map(|((_, name, _), value)| value.map(|value| format!("{name} {}", micros(value))));
    let largest = row.largest.map(|value| format!("slowest {}", micros(value)));
    let words: Vec<String> = shares.chain(largest).collect();
    format!("{}: {} µs.", row.one.label, words.join(", "))
}

fn table(rows: &[Row<'_>]) -> Table {
    let heads = SHARES.iter().map(|(_, name, _)| format!("{name} (µs)"));
    let heads = std::iter::once("network".to_owned()).chain(heads);
    let mut table = Table::new(heads.chain(["slowest (µs)".to_owned(), "how many".to_owned()]));
    for row in rows {
        let datum = |value: &Option<f64>| match value {
            Some(value) => Datum::number(*value, micros(*value)),
            None => Datum::none(),
        };
        let count = row.one.latencies.count();
        let mut data = vec![Datum::from(row.one.label.as_str())];
        data.extend(row.shown.iter().map(datum));
        data.push(datum(&row.largest));
        data.push(Datum::number(count as f64, super::super::subject::grouped(&count.to_string())));
        table.add(data);
    }
    table
}

fn draw(rows: &[Row<'_>], networks: &Networks<'_>, width: f64, spread: Spread) -> Drawing {
    let widest = rows.iter().map(|row| width_of(&row.one.label)).fold(0.0, f64::max);
    let names = (widest + 10.0).min(width * 0.32);
    let height = 10.0 + ROW * rows.len() as f64 + 40.0;
    let area = Area { left: names, top: 10.0, right: width - 14.0, bottom: height - 40.0 };
    // On a linear axis the slowest of all would leave the percentiles no room: they stand at its end.
    let percentiles = rows.iter().flat_map(|row| row.shown.iter().flatten().copied());
    let largest = rows.iter().filter_map(|row| row.largest).filter(|_| spread == Spread::Log);
    let x = Scale::new(spread, percentiles.chain(largest), area.across());
    let ticks: Vec<_> =
        x.ticks(if width > 600.0 { 8 } else { 4 }).into_iter().map(|v| (v, tick(v))).collect();
    let mut content = vec![area.upright(&x, &ticks), area.below("µs")];
    content.extend(rows.iter().enumerate().map(|(at, row)| {
        let y = area.top + ROW * (at as f64 + 0.5);
        let mut group = networks.group(&row.one.label);
        group.add(rect([0.0, y - ROW / 2.0], [width, y + ROW / 2.0]).class("catch"));
        group.add(text(0.0, y + 4.0, &fitted(&row.one.label, names)).class("name"));
        // The thinnest first, so that the thicker ones lie on it.
        let known: Vec<(f64, f64)> = SHARES
            .iter()
            .zip(&row.shown)
            .filter_map(|((.., thick), value)| value.map(|value| (x.at(value), *thick)))
            .collect();
        for pair in known.windows(2).rev() {
            let ((from, _), (to, thick)) = (pair[0], pair[1]);
            group.add(rect([from, y - thick / 2.0], [to, y + thick / 2.0]).class("tail"));
        }
        if let Some((median, _)) = known.first() {
            group.add(dot(*median, y, 4.2).class("mark"));
        }
        if let Some(largest) = row.largest.filter(|_| spread == Spread::Log) {
            group.add(dot(x.at(largest), y, 3.0).class("ring"));
        }
        group.push(hint(told(row)))
    }));
    let content: Vec<Element> = content;
    Drawing { width, height, content }
}
