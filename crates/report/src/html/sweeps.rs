//! Sweeps: a line for each network over the measured numbers of containers, processes, flows, nodes or bytes of MTU;
//! and loss over the rate at which datagrams were sent.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::line_chart::{ChartLine, ChartPoint, lines, room_for_names};
use super::networks::PageNetworks;
use super::plot::PlotArea;
use super::subject::{Subject, figure, tooltip_text};
use crate::scale::{AxisScale, ScaleKind, format_tick};
use tare_record::{Cell, Metric, Shape};

/// Part of a shape that may be swept: its name, its words, and access to it.
type SweptDimension = (&'static str, &'static str, fn(&mut Shape) -> &mut u32);

const DIMENSIONS: [SweptDimension; 6] = [
    ("clients", "client containers", |shape| &mut shape.clients),
    ("servers", "server containers", |shape| &mut shape.servers),
    ("processes", "processes in each client", |shape| &mut shape.processes),
    ("flows", "flows of each client", |shape| &mut shape.flows),
    ("nodes", "nodes", |shape| &mut shape.nodes),
    ("mtu", "MTU, bytes", |shape| &mut shape.mtu),
];

/// Metrics that are shown over a sweep, if they were measured.
const METRICS: [Metric; 6] = [
    Metric::Throughput,
    Metric::Transactions,
    Metric::Tps,
    Metric::Connections,
    Metric::LatencyP50,
    Metric::LatencyP99,
];

/// Largest number of points that are marked, each with its interval. With more, only lines are drawn.
const MOST_MARKS: usize = 150;

/// Horizontal distance between the lines of networks at the same value, and the space for all of them, px.
const LINE_DISTANCE: f64 = 4.0;
const LINE_SPACE: f64 = 24.0;

/// Line of a network: its cells with their values on the horizontal axis.
struct SweepLine<'a> {
    label: &'a str,
    cells: Vec<(f64, &'a Cell)>,
}

/// Draws every sweep of a dimension with two values or more, all else being equal. Draws at most `most` figures.
pub(crate) fn sweeps(
    subjects: &[Subject<'_>],
    networks: &PageNetworks<'_>,
    most: usize,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (name, words, part) in DIMENSIONS {
        for (subject, together) in group_by_rest(subjects, part) {
            for metric in METRICS.into_iter().filter(|metric| !subject.cells_of(*metric).is_empty())
            {
                if figures.len() >= most {
                    return figures;
                }
                let id =
                    format!("{name}-{}-{}", metric.name().replace(['.', '_'], "-"), subject.id);
                let x = |shape: &Shape| f64::from(*part(&mut shape.clone()));
                let tracks = sweep_lines(&together, metric, networks, |cell| Some(x(&cell.shape)));
                let title = format!("{} by {words}: {}", metric, subject.workload);
                let caption =
                    "All clients together; the lines across a point are its 95 % interval.";
                let first = if name == "mtu" { ScaleKind::Linear } else { ScaleKind::Log };
                let axis = AxisTitles { what: words, unit: metric.unit(), exact: true };
                figures.extend(sweep_figure(id, title, caption, first, &tracks, networks, axis));
            }
        }
    }
    figures
}

/// Groups subjects that differ only in this part of their shapes. Groups of one are left out; the first of a group
/// represents it.
fn group_by_rest<'s, 'a>(
    subjects: &'s [Subject<'a>],
    part: fn(&mut Shape) -> &mut u32,
) -> Vec<(&'s Subject<'a>, Vec<&'s Subject<'a>>)> {
    let without = |subject: &Subject<'_>| {
        let mut shape = subject.shape.clone();
        *part(&mut shape) = 0;
        (subject.workload.clone(), shape)
    };
    let mut groups: Vec<Vec<&Subject<'_>>> = Vec::new();
    for subject in subjects {
        match groups.iter_mut().find(|group| without(group[0]) == without(subject)) {
            Some(group) => group.push(subject),
            None => groups.push(vec![subject]),
        }
    }
    groups.into_iter().filter(|group| group.len() > 1).map(|group| (group[0], group)).collect()
}

/// Draws loss over the offered rate, for each shape that was measured at several rates. Draws at most `most` figures.
pub(crate) fn losses(
    subjects: &[Subject<'_>],
    networks: &PageNetworks<'_>,
    most: usize,
) -> Vec<Figure> {
    let mut groups: Vec<Vec<&Subject<'_>>> = Vec::new();
    for subject in subjects.iter().filter(|subject| !subject.cells_of(Metric::Loss).is_empty()) {
        let alike =
            |other: &Subject<'_>| name(other) == name(subject) && other.shape == subject.shape;
        match groups.iter_mut().find(|group| alike(group[0])) {
            Some(group) => group.push(subject),
            None => groups.push(vec![subject]),
        }
    }
    let mut figures = Vec::new();
    for group in groups.into_iter().filter(|group| group.len() > 1).take(most) {
        let offered = |cell: &Cell| offered_rate(cell, &group);
        let tracks = sweep_lines(&group, Metric::Loss, networks, offered);
        let title = format!("Loss by rate: {}", name(group[0]));
        let caption = "Share of datagrams that were lost, over the payload that was sent each second; the \
                       lines across a point are its 95 % interval.";
        let axis = AxisTitles { what: "offered, Gbit/s", unit: "% lost", exact: false };
        let id = format!("loss-{}", group[0].id);
        figures.extend(sweep_figure(
            id,
            title,
            caption,
            ScaleKind::Linear,
            &tracks,
            networks,
            axis,
        ));
    }
    figures
}

/// Returns a workload's name without its parameters.
fn name<'a>(subject: &'a Subject<'_>) -> &'a str {
    subject.workload.split(',').next().unwrap_or_default()
}

/// Returns the rate for a loss, Gbit/s: the offered rate, or the rate computed from throughput and loss.
fn offered_rate(cell: &Cell, group: &[&Subject<'_>]) -> Option<f64> {
    let beside = |metric: Metric| {
        let same = |other: &&&Cell| {
            other.metric == metric
                && other.label == cell.label
                && other.parameters == cell.parameters
        };
        let mut cells = group.iter().flat_map(|subject| &subject.cells);
        cells.find(|other| same(other)).and_then(|other| other.mean)
    };
    let lost = cell.mean? / 100.0;
    let arrived = || beside(Metric::Throughput).filter(|_| lost < 1.0);
    beside(Metric::Offered).or_else(|| arrived().map(|arrived| arrived / (1.0 - lost)))
}

/// Collects the cells of a metric as lines, ordered by their values on the horizontal axis.
fn sweep_lines<'a>(
    together: &[&Subject<'a>],
    metric: Metric,
    networks: &PageNetworks<'a>,
    place: impl Fn(&Cell) -> Option<f64>,
) -> Vec<SweepLine<'a>> {
    let track = |label: &&'a str| {
        let cells = together.iter().flat_map(|subject| subject.cells_of(metric));
        let mut cells: Vec<(f64, &Cell)> = cells
            .filter(|cell| cell.label == *label && cell.mean.is_some())
            .filter_map(|cell| Some((place(cell)?, cell)))
            .collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        SweepLine { label, cells }
    };
    networks.labels().iter().map(track).filter(|track| !track.cells.is_empty()).collect()
}

/// Titles of the axes of a figure.
#[derive(Clone, Copy)]
struct AxisTitles {
    what: &'static str,
    unit: &'static str,
    /// True if the ticks of the horizontal axis are the measured values.
    exact: bool,
}

fn sweep_figure(
    id: String,
    title: String,
    caption: &str,
    first: ScaleKind,
    tracks: &[SweepLine<'_>],
    networks: &PageNetworks<'_>,
    axis: AxisTitles,
) -> Option<Figure> {
    if tracks.iter().all(|track| track.cells.len() < 2) {
        return None;
    }
    let described: Vec<String> = tracks
        .iter()
        .filter_map(|track| {
            let ((from, first), (to, last)) = (track.cells.first()?, track.cells.last()?);
            Some(format!(
                "{}: {} at {}, {} at {}.",
                track.label,
                figure(first),
                format_tick(*from),
                figure(last),
                format_tick(*to)
            ))
        })
        .collect();
    Some(
        Figure::new(id, title, table(tracks, axis))
            .with_text(caption, described.join(" "))
            .with_both_scales(first, |width, spread| draw(tracks, networks, axis, width, spread)),
    )
}

fn table(tracks: &[SweepLine<'_>], axis: AxisTitles) -> DataTable {
    let heads =
        ["network", axis.what, "unit", "mean", "95 % from", "95 % to", "blocks"].map(str::to_owned);
    let mut table = DataTable::new(heads);
    for track in tracks {
        for (at, cell) in &track.cells {
            let number = |value: Option<f64>| {
                value.map_or_else(TableValue::none, |value| {
                    TableValue::number(
                        value,
                        crate::number::round_with_interval(value, cell.ci95).0,
                    )
                })
            };
            table.add(vec![
                track.label.into(),
                TableValue::number(*at, crate::number::round_with_interval(*at, None).0),
                cell.unit.as_str().into(),
                number(cell.mean),
                number(cell.ci95.map(|ci| ci[0])),
                number(cell.ci95.map(|ci| ci[1])),
                TableValue::number(f64::from(cell.n), cell.n.to_string()),
            ]);
        }
    }
    table
}

/// Draws the lines. `spread` is that of the horizontal axis: numbers of containers double, and so do rates.
fn draw(
    tracks: &[SweepLine<'_>],
    networks: &PageNetworks<'_>,
    axis: AxisTitles,
    width: f64,
    spread: ScaleKind,
) -> Drawing {
    let height = if width > 600.0 { 360.0 } else { 310.0 };
    let room = room_for_names(tracks.iter().map(|track| track.label), width);
    let area = PlotArea { left: 46.0, top: 26.0, right: width - room, bottom: height - 42.0 };
    let inner = [area.left + LINE_SPACE / 2.0, area.right - LINE_SPACE / 2.0];
    let all = || tracks.iter().flat_map(|track| &track.cells);
    let x = AxisScale::new(spread, all().map(|(at, _)| *at), inner);
    let drawn =
        all().flat_map(|(_, cell)| cell.mean.into_iter().chain(cell.ci95.into_iter().flatten()));
    let most = if axis.unit.starts_with('%') { 100.0 } else { f64::INFINITY };
    let y = AxisScale::linear(drawn.map(|value| value.clamp(0.0, most)), area.y_range());
    let mut places: Vec<f64> =
        if axis.exact { all().map(|(at, _)| *at).collect() } else { x.ticks(6) };
    places.sort_by(f64::total_cmp);
    places.dedup();
    let level: Vec<_> = y.ticks(5).into_iter().map(|value| (value, format_tick(value))).collect();
    let upright: Vec<_> = places.into_iter().map(|value| (value, format_tick(value))).collect();
    // With many points, intervals would hide the lines.
    let marked = all().count() <= MOST_MARKS;
    let line = |(n, track): (usize, &SweepLine<'_>)| -> Vec<ChartPoint> {
        // Lines are shifted a little, so that their intervals do not overlap.
        let aside = (n as f64 - (tracks.len() - 1) as f64 / 2.0)
            * LINE_DISTANCE.min(LINE_SPACE / tracks.len() as f64);
        let point = |(at, cell): &(f64, &Cell)| ChartPoint {
            x: x.position(*at) + aside,
            y: y.position(cell.mean.unwrap_or(0.0)),
            interval: cell.ci95.map(|ci| ci.map(|end| y.position(end.max(0.0)))),
            hint: Some(format!("{} at {} {}", tooltip_text(cell), format_tick(*at), axis.what)),
        };
        let bare = |(at, cell): &(f64, &Cell)| {
            ChartPoint::at(x.position(*at), y.position(cell.mean.unwrap_or(0.0)))
        };
        track.cells.iter().map(|one| if marked { point(one) } else { bare(one) }).collect()
    };
    let drawn: Vec<ChartLine<'_>> = tracks
        .iter()
        .enumerate()
        .map(|(n, track)| ChartLine { label: track.label, points: line((n, track)), marked })
        .collect();
    let content = vec![
        area.horizontal_grid(&y, &level),
        area.vertical_grid(&x, &upright),
        area.y_title(axis.unit),
        area.x_title(axis.what),
        Element::new("g").extend(lines(&drawn, networks, &area, room)),
    ];
    Drawing { width, height, content }
}
