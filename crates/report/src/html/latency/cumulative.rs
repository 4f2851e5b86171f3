//! Cumulative latencies on an axis with equal space for each further nine of a percentile, as in HdrHistogram's plots.

use super::super::data_table::{DataTable, TableValue};
use super::super::element::Element;
use super::super::figure::{Drawing, Figure};
use super::super::line_chart::{ChartLine, ChartPoint, lines, room_for_names};
use super::super::networks::PageNetworks;
use super::super::plot::PlotArea;
use super::{FEWEST_BEYOND, SubjectLatencies, micros};
use crate::scale::{AxisScale, ScaleKind, extremes, format_tick};
use tare_record::{LatencyDistribution, Nanos};

/// Number of steps between the points of a line.
const POINTS: u32 = 80;
/// Percentiles of the table, as shares.
const SHARES: [f64; 8] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

pub(super) fn figure(of: &SubjectLatencies<'_>, networks: &PageNetworks<'_>) -> Figure {
    let caption = format!(
        "Longest duration of the given share of {}s; every further nine has the same width. A line ends where fewer \
         than 100 samples lie beyond it: the rest depends on a few samples.",
        of.what
    );
    let described = of.each.iter().filter_map(|one| {
        let median = Nanos(one.latencies.quantile(0.5)?).as_micros_f64();
        let tail = Nanos(one.latencies.quantile(0.99)?).as_micros_f64();
        Some(format!(
            "{}: half within {} µs, 99 % within {} µs.",
            one.label,
            micros(median),
            micros(tail)
        ))
    });
    let described: Vec<String> = described.collect();
    let curves: Vec<Curve<'_>> = of.each.iter().map(|&one| Curve::new(one)).collect();
    Figure::new(
        format!("cdf-{}", of.id),
        format!("{}: tail of {}s", of.heading, of.what),
        table(of),
    )
    .with_text(caption, described.join(" "))
    .with_both_scales(ScaleKind::Log, |width, spread| draw(&curves, networks, width, spread))
}

/// Curve of one network.
struct Curve<'a> {
    of: &'a LatencyDistribution,
    /// Points: the nines of a share, and the latency, µs.
    points: Vec<(f64, f64)>,
}

impl<'a> Curve<'a> {
    fn new(of: &'a LatencyDistribution) -> Self {
        let shares = shares(of);
        let nanos = of.latencies.quantiles(&shares).into_iter();
        let micros = nanos.map(|nanos| Nanos(nanos).as_micros_f64());
        Self { of, points: shares.into_iter().map(nines).zip(micros).collect() }
    }
}

fn table(of: &SubjectLatencies<'_>) -> DataTable {
    let heads = of.each.iter().map(|one| format!("{} (µs)", one.label));
    let mut table = DataTable::new(std::iter::once("percentile".to_owned()).chain(heads));
    for share in SHARES {
        let figures: Vec<TableValue> = of.each.iter().map(|one| datum(one, share)).collect();
        let percent = format!("{}", (share * 1e6).round() / 1e4);
        table.add(std::iter::once(percent.into()).chain(figures).collect());
    }
    let largest = of.each.iter().map(|one| match one.latencies.max() {
        Some(nanos) => {
            let value = Nanos(nanos).as_micros_f64();
            TableValue::number(value, micros(value))
        }
        None => TableValue::none(),
    });
    let largest: Vec<TableValue> = largest.collect();
    table.add(std::iter::once("100 (the largest)".into()).chain(largest).collect());
    let count = of.each.iter().map(|one| {
        let count = one.latencies.count();
        TableValue::number(count as f64, super::super::subject::group_thousands(&count.to_string()))
    });
    table.add(std::iter::once("count".into()).chain(count).collect());
    table
}

fn datum(one: &LatencyDistribution, share: f64) -> TableValue {
    match one.latencies.quantile(share) {
        Some(nanos) if one.latencies.count() as f64 * (1.0 - share) >= FEWEST_BEYOND => {
            let value = Nanos(nanos).as_micros_f64();
            TableValue::number(value, micros(value))
        }
        _ => TableValue::none(),
    }
}

/// Returns the number of nines of a share: 0.99 has two.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Returns the shares at which a line has points.
fn shares(one: &LatencyDistribution) -> Vec<f64> {
    let last = nines(1.0 - FEWEST_BEYOND / one.latencies.count() as f64).max(0.0);
    (0..=POINTS).map(|n| 1.0 - 10f64.powf(-last * f64::from(n) / f64::from(POINTS))).collect()
}

fn draw(
    curves: &[Curve<'_>],
    networks: &PageNetworks<'_>,
    width: f64,
    spread: ScaleKind,
) -> Drawing {
    let height = if width > 600.0 { 380.0 } else { 320.0 };
    let room = room_for_names(curves.iter().map(|one| one.of.label.as_str()), width);
    let area = PlotArea { left: 46.0, top: 26.0, right: width - room, bottom: height - 40.0 };
    let all = || curves.iter().flat_map(|one| one.points.iter());
    let most = extremes(all().map(|point| point.0)).map_or(1.0, |(_, most)| most.max(1.0));
    let x = AxisScale::linear([0.0, most], area.x_range());
    let y = AxisScale::new(spread, all().map(|point| point.1), area.y_range());
    let ticks: Vec<_> = y.ticks(6).into_iter().map(|value| (value, format_tick(value))).collect();
    let drawn: Vec<ChartLine<'_>> = curves
        .iter()
        .map(|Curve { of, points }| ChartLine {
            label: &of.label,
            points: points
                .iter()
                .enumerate()
                .map(|(at, point)| point_at(of, at, *point, &x, &y))
                .collect(),
            marked: false,
        })
        .collect();
    let mut content = vec![
        area.horizontal_grid(&y, &ticks),
        area.vertical_grid(&x, &percent_ticks(most)),
        area.y_title("µs"),
        area.x_title("per cent of all"),
    ];
    content.push(Element::new("g").extend(lines(&drawn, networks, &area, room)));
    Drawing { width, height, content }
}

/// Places a point of a line. One in eight has a tooltip.
fn point_at(
    one: &LatencyDistribution,
    at: usize,
    (nines, value): (f64, f64),
    x: &AxisScale,
    y: &AxisScale,
) -> ChartPoint {
    let share = 100.0 * (1.0 - 10f64.powf(-nines));
    let told = (at.is_multiple_of(8) && at > 0).then(|| {
        let digits = (nines.ceil() as usize).saturating_sub(1);
        format!("{}: {share:.digits$} % within {} µs", one.label, micros(value))
    });
    ChartPoint { hint: told, ..ChartPoint::at(x.position(nines), y.position(value)) }
}

/// Returns the ticks 0, 50, 90, 99, 99.9 … up to the end of the longest line.
fn percent_ticks(most: f64) -> Vec<(f64, String)> {
    let mut ticks = vec![(0.0, "0".to_owned()), (nines(0.5), "50".to_owned())];
    for n in 1..=9u32 {
        let digits = (n as usize).saturating_sub(2);
        let share = 100.0 * (1.0 - 10f64.powi(-(n as i32)));
        ticks.push((f64::from(n), format!("{share:.digits$}")));
    }
    ticks.retain(|(nines, _)| *nines <= most);
    ticks
}
