//! What changes with how many there are: a line a network over every number of containers, flows or bytes that was
//! measured; and loss over the rate at which datagrams were sent.

use super::data::{Datum, Table};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::lines::{Line, Point, lines, room_for_names};
use super::networks::Networks;
use super::plot::Area;
use super::subject::{Subject, figure, told};
use crate::scale::{Scale, Spread, tick};
use tare_record::{Cell, Metric, Shape};

/// What may be swept, and what it is called.
type Dimension = (&'static str, &'static str, fn(&mut Shape) -> &mut u32);

const DIMENSIONS: [Dimension; 6] = [
    ("clients", "client containers", |shape| &mut shape.clients),
    ("servers", "server containers", |shape| &mut shape.servers),
    ("processes", "processes in each client", |shape| &mut shape.processes),
    ("flows", "flows of each client", |shape| &mut shape.flows),
    ("nodes", "nodes", |shape| &mut shape.nodes),
    ("mtu", "MTU, bytes", |shape| &mut shape.mtu),
];

/// The metrics that are shown over a sweep, of those that were measured.
const METRICS: [Metric; 6] = [
    Metric::Throughput,
    Metric::Transactions,
    Metric::Tps,
    Metric::Connections,
    Metric::LatencyP50,
    Metric::LatencyP99,
];

/// Points of a figure that are marked, each with its interval; more than that are lines alone.
const MOST_MARKS: usize = 150;

/// How far apart lines stand at the same place, and how much room all of them have, px.
const ASIDE: f64 = 4.0;
const ROOM: f64 = 24.0;

/// A line of cells: where each stands, and the cell.
struct Track<'a> {
    label: &'a str,
    cells: Vec<(f64, &'a Cell)>,
}

/// Every sweep of a dimension with two values or more, all else being equal; no more of them than so many.
pub(crate) fn sweeps(
    subjects: &[Subject<'_>],
    networks: &Networks<'_>,
    most: usize,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (name, words, part) in DIMENSIONS {
        for (subject, together) in alike(subjects, part) {
            for metric in METRICS.into_iter().filter(|metric| !subject.of(*metric).is_empty()) {
                if figures.len() >= most {
                    return figures;
                }
                let id =
                    format!("{name}-{}-{}", metric.name().replace(['.', '_'], "-"), subject.id);
                let x = |shape: &Shape| f64::from(*part(&mut shape.clone()));
                let tracks = tracks(&together, metric, networks, |cell| Some(x(&cell.shape)));
                let title = format!("{} by {words}: {}", metric, subject.workload);
                let caption =
                    "All clients together; the lines across a point are its 95 % interval.";
                let first = if name == "mtu" { Spread::Linear } else { Spread::Log };
                let axis = Axis { what: words, unit: metric.unit(), exact: true };
                figures.extend(over(id, title, caption, first, &tracks, networks, axis));
            }
        }
    }
    figures
}

/// Subjects that differ in this part of their shapes alone, where there are several, each time with the first of them.
fn alike<'s, 'a>(
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

/// Loss over the rate that was really offered, where one shape was measured at several rates.
pub(crate) fn losses(
    subjects: &[Subject<'_>],
    networks: &Networks<'_>,
    most: usize,
) -> Vec<Figure> {
    let mut groups: Vec<Vec<&Subject<'_>>> = Vec::new();
    for subject in subjects.iter().filter(|subject| !subject.of(Metric::Loss).is_empty()) {
        let alike =
            |other: &Subject<'_>| name(other) == name(subject) && other.shape == subject.shape;
        match groups.iter_mut().find(|group| alike(group[0])) {
            Some(group) => group.push(subject),
            None => groups.push(vec![subject]),
        }
    }
    let mut figures = Vec::new();
    for group in groups.into_iter().filter(|group| group.len() > 1).take(most) {
        let offered = |cell: &Cell| rate(cell, &group);
        let tracks = tracks(&group, Metric::Loss, networks, offered);
        let title = format!("Loss by rate: {}", name(group[0]));
        let caption = "The share of datagrams that never came, over the payload that was really sent each second; the \
                       lines across a point are its 95 % interval.";
        let axis = Axis { what: "offered, Gbit/s", unit: "% lost", exact: false };
        let id = format!("loss-{}", group[0].id);
        figures.extend(over(id, title, caption, Spread::Linear, &tracks, networks, axis));
    }
    figures
}

/// A workload's name without its parameters.
fn name<'a>(subject: &'a Subject<'_>) -> &'a str {
    subject.workload.split(',').next().unwrap_or_default()
}

/// The rate beside which a loss is read: what was offered, else what arrived and was lost of it, Gbit/s.
fn rate(cell: &Cell, group: &[&Subject<'_>]) -> Option<f64> {
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

/// The cells of a metric as lines, each by its place on the axis.
fn tracks<'a>(
    together: &[&Subject<'a>],
    metric: Metric,
    networks: &Networks<'a>,
    place: impl Fn(&Cell) -> Option<f64>,
) -> Vec<Track<'a>> {
    let track = |label: &&'a str| {
        let cells = together.iter().flat_map(|subject| subject.of(metric));
        let mut cells: Vec<(f64, &Cell)> = cells
            .filter(|cell| cell.label == *label && cell.mean.is_some())
            .filter_map(|cell| Some((place(cell)?, cell)))
            .collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        Track { label, cells }
    };
    networks.labels().iter().map(track).filter(|track| !track.cells.is_empty()).collect()
}

/// What the axes of a figure are of.
#[derive(Clone, Copy)]
struct Axis {
    what: &'static str,
    unit: &'static str,
    /// Whether the values on the level axis are those measured, each with its own tick.
    exact: bool,
}

fn over(
    id: String,
    title: String,
    caption: &str,
    first: Spread,
    tracks: &[Track<'_>],
    networks: &Networks<'_>,
    axis: Axis,
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
                tick(*from),
                figure(last),
                tick(*to)
            ))
        })
        .collect();
    Some(
        Figure::new(id, title, table(tracks, axis))
            .told(caption, described.join(" "))
            .drawn_on_both(first, |width, spread| draw(tracks, networks, axis, width, spread)),
    )
}

fn table(tracks: &[Track<'_>], axis: Axis) -> Table {
    let heads =
        ["network", axis.what, "unit", "mean", "95 % from", "95 % to", "blocks"].map(str::to_owned);
    let mut table = Table::new(heads);
    for track in tracks {
        for (at, cell) in &track.cells {
            let number = |value: Option<f64>| {
                value.map_or_else(Datum::none, |value| {
                    Datum::number(value, crate::number::measured(value, cell.ci95).0)
                })
            };
            table.add(vec![
                track.label.into(),
                Datum::number(*at, crate::number::measured(*at, None).0),
                cell.unit.as_str().into(),
                number(cell.mean),
                number(cell.ci95.map(|ci| ci[0])),
                number(cell.ci95.map(|ci| ci[1])),
                Datum::number(f64::from(cell.n), cell.n.to_string()),
            ]);
        }
    }
    table
}

/// The spread is that of the level axis: numbers of containers double, and so do rates.
fn draw(
    tracks: &[Track<'_>],
    networks: &Networks<'_>,
    axis: Axis,
    width: f64,
    spread: Spread,
) -> Drawing {
    let height = if width > 600.0 { 360.0 } else { 310.0 };
    let room = room_for_names(tracks.iter().map(|track| track.label), width);
    let area = Area { left: 46.0, top: 26.0, right: width - room, bottom: height - 42.0 };
    let inner = [area.left + ROOM / 2.0, area.right - ROOM / 2.0];
    let all = || tracks.iter().flat_map(|track| &track.cells);
    let x = Scale::new(spread, all().map(|(at, _)| *at), inner);
    let drawn =
        all().flat_map(|(_, cell)| cell.mean.into_iter().chain(cell.ci95.into_iter().flatten()));
    let most = if axis.unit.starts_with('%') { 100.0 } else { f64::INFINITY };
    let y = Scale::linear(drawn.map(|value| value.clamp(0.0, most)), area.up());
    let mut places: Vec<f64> =
        if axis.exact { all().map(|(at, _)| *at).collect() } else { x.ticks(6) };
    places.sort_by(f64::total_cmp);
    places.dedup();
    let level: Vec<_> = y.ticks(5).into_iter().map(|value| (value, tick(value))).collect();
    let upright: Vec<_> = places.into_iter().map(|value| (value, tick(value))).collect();
    // Many points are a line; each with its interval they would be a thicket.
    let marked = all().count() <= MOST_MARKS;
    let line = |(n, track): (usize, &Track<'_>)| -> Vec<Point> {
        // Lines stand a little apart, so that their intervals do not stand on each other.
        let aside =
            (n as f64 - (tracks.len() - 1) as f64 / 2.0) * ASIDE.min(ROOM / tracks.len() as f64);
        let point = |(at, cell): &(f64, &Cell)| Point {
            x: x.at(*at) + aside,
            y: y.at(cell.mean.unwrap_or(0.0)),
            interval: cell.ci95.map(|ci| ci.map(|end| y.at(end.max(0.0)))),
            hint: Some(format!("{} at {} {}", told(cell), tick(*at), axis.what)),
        };
        let bare = |(at, cell): &(f64, &Cell)| Point::at(x.at(*at), y.at(cell.mean.unwrap_or(0.0)));
        track.cells.iter().map(|one| if marked { point(one) } else { bare(one) }).collect()
    };
    let drawn: Vec<Line<'_>> = tracks
        .iter()
        .enumerate()
        .map(|(n, track)| Line { label: track.label, points: line((n, track)), marked })
        .collect();
    let content = vec![
        area.level(&y, &level),
        area.upright(&x, &upright),
        area.above(axis.unit),
        area.below(axis.what),
        Element::new("g").extend(lines(&drawn, networks, &area, room)),
    ];
    Drawing { width, height, content }
}
