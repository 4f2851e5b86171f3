//! Latency densities on a logarithmic axis, on which equal areas are equal shares.

use super::super::data_table::{DataTable, TableValue};
use super::super::element::{Element, polyline};
use super::super::figure::{Drawing, Figure};
use super::super::networks::PageNetworks;
use super::super::plot::{PlotArea, line, text, tooltip, truncate, width_of};
use super::{SubjectLatencies, micros};
use crate::latency_bins::LatencyBins;
use crate::scale::{AxisScale, extremes, format_tick};
use tare_record::{LatencyDistribution, Nanos};

/// Number of bins of equal ratio over the range of latencies.
const BINS: usize = 90;
/// Height of a ridge, px.
const ROW: f64 = 46.0;

/// Distribution, with its share of latencies in each bin.
struct DensityRidge<'a> {
    one: &'a LatencyDistribution,
    shares: Vec<f64>,
}

pub(super) fn figure(of: &SubjectLatencies<'_>, networks: &PageNetworks<'_>) -> Figure {
    let bins = LatencyBins::covering(&of.each, BINS);
    let ridges: Vec<DensityRidge<'_>> =
        of.each.iter().map(|one| DensityRidge { one, shares: bins.shares(one) }).collect();
    let caption = format!(
        "Density of {}s: the higher the ridge, the more samples have this duration. Two peaks mean two paths of packets, \
         or two causes of waiting. The tick is the median.",
        of.what
    );
    let described = ridges.iter().map(|ridge| {
        let peak = ridge.shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let at = peak.map_or(bins.from, |(at, _)| bins.edge(at as f64 + 0.5));
        format!("{} peaks near {} µs.", ridge.one.label, micros(at))
    });
    let described: Vec<String> = described.collect();
    let (title, table) = (format!("{}: density of {}s", of.heading, of.what), table(&ridges, bins));
    Figure::new(format!("density-{}", of.id), title, table)
        .with_text(caption, described.join(" "))
        .with_drawings(|width| draw(&ridges, bins, networks, width))
}

fn table(ridges: &[DensityRidge<'_>], bins: LatencyBins) -> DataTable {
    let heads = ridges.iter().map(|ridge| format!("{} (% of all)", ridge.one.label));
    let mut table =
        DataTable::new(["from (µs)", "to (µs)"].map(str::to_owned).into_iter().chain(heads));
    for at in 0..BINS {
        if ridges.iter().all(|ridge| ridge.shares[at] == 0.0) {
            continue;
        }
        let [from, to] = [bins.edge(at as f64), bins.edge(at as f64 + 1.0)];
        let shares = ridges.iter().map(|ridge| {
            let percent = ridge.shares[at] * 100.0;
            TableValue::number(percent, format!("{percent:.1}"))
        });
        let bounds = [TableValue::number(from, micros(from)), TableValue::number(to, micros(to))];
        table.add(bounds.into_iter().chain(shares).collect());
    }
    table
}

fn draw(
    ridges: &[DensityRidge<'_>],
    bins: LatencyBins,
    networks: &PageNetworks<'_>,
    width: f64,
) -> Drawing {
    let widest = ridges.iter().map(|ridge| width_of(&ridge.one.label)).fold(0.0, f64::max);
    let names = (widest + 10.0).min(width * 0.32);
    let height = 14.0 + ROW * ridges.len() as f64 + 40.0;
    let area = PlotArea { left: names, top: 14.0, right: width - 12.0, bottom: height - 40.0 };
    let x = AxisScale::log([bins.from, bins.to], area.x_range());
    let ticks: Vec<_> = x
        .ticks(if width > 600.0 { 9 } else { 5 })
        .into_iter()
        .map(|v| (v, format_tick(v)))
        .collect();
    let highest = extremes(ridges.iter().flat_map(|ridge| ridge.shares.iter().copied()));
    let highest = highest.map_or(1.0, |(_, most)| most.max(1e-9));
    let drawn = ridges.iter().enumerate().map(|(row, ridge)| {
        let base = area.top + ROW * (row as f64 + 1.0);
        let point =
            |at: f64, share: f64| (x.position(bins.edge(at)), base - share / highest * (ROW - 5.0));
        let outline =
            ridge.shares.iter().enumerate().map(|(at, share)| point(at as f64 + 0.5, *share));
        let outline: Vec<(f64, f64)> = std::iter::once(point(0.0, 0.0))
            .chain(outline)
            .chain([point(BINS as f64, 0.0)])
            .collect();
        let d = polyline(outline);
        let mut group = networks.group(&ridge.one.label);
        group.add(text(0.0, base - 6.0, &truncate(&ridge.one.label, names)).class("name"));
        group.add(Element::new("path").class("ridge").with("d", &d));
        group.add(Element::new("path").class("line").with("d", &d));
        if let Some(median) = ridge.one.latencies.quantile(0.5) {
            let micros_of = Nanos(median).as_micros_f64();
            let at = x.position(micros_of);
            group.add(line([at, base - 9.0], [at, base + 3.0]).class("median"));
            group.add(tooltip(format!("{}: median {} µs", ridge.one.label, micros(micros_of))));
        }
        group
    });
    let mut content = vec![area.vertical_grid(&x, &ticks), area.x_title("µs, logarithmic")];
    content.extend(drawn);
    Drawing { width, height, content }
}
