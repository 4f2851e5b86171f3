//! Lines, one a network, each named at its end.

use super::element::{Element, Px, polyline};
use super::networks::Networks;
use super::plot::{Area, dot, fitted, hint, line, spread_out, text, width_of};

/// How far apart the names of lines stand at least, px.
const APART: f64 = 14.0;

/// A line of a network, px.
pub(crate) struct Line<'a> {
    pub(crate) label: &'a str,
    pub(crate) points: Vec<Point>,
    /// Whether the points are marked, or the line alone is drawn.
    pub(crate) marked: bool,
}

/// A point of a line.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The ends of its interval, px.
    pub(crate) interval: Option<[f64; 2]>,
    /// What is said where somebody points at it.
    pub(crate) hint: Option<String>,
}

impl Point {
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, hint: None }
    }
}

/// The room that the names of these lines need to the right of the plot, px.
pub(crate) fn room_for_names<'a>(labels: impl Iterator<Item = &'a str>, width: f64) -> f64 {
    (labels.map(width_of).fold(0.0, f64::max) + 16.0).min(width * 0.3)
}

/// The lines, and their names to the right of the area.
pub(crate) fn lines(
    lines: &[Line<'_>],
    networks: &Networks<'_>,
    area: &Area,
    room: f64,
) -> Vec<Element> {
    let ends: Vec<f64> =
        lines.iter().map(|line| line.points.last().map_or(area.bottom, |point| point.y)).collect();
    let places = spread_out(&ends, APART, [area.bottom, area.top]);
    let drawn = |(one, place): (&Line<'_>, f64)| {
        let path = Element::new("path")
            .class("line")
            .with("d", polyline(one.points.iter().map(|point| (point.x, point.y))));
        let mut group = networks.group(one.label).push(path);
        for point in &one.points {
            group = group.extend(mark(point, one.marked));
        }
        if let Some(last) = one.points.last() {
            let leader = line([last.x + 3.0, last.y], [area.right + 10.0, place]).class("leader");
            let name = fitted(one.label, room - 14.0);
            group =
                group.push(leader).push(text(area.right + 13.0, place + 4.0, &name).class("name"));
        }
        group
    };
    lines.iter().zip(places).map(drawn).collect()
}

/// A point with its interval, and what is said of it.
fn mark(point: &Point, marked: bool) -> Option<Element> {
    if !marked && point.hint.is_none() {
        return None;
    }
    let mut group = Element::new("g").class("point");
    if let Some([low, high]) = point.interval {
        let (left, right) = (Px(point.x - 3.0), Px(point.x + 3.0));
        let (x, low, high) = (Px(point.x), Px(low), Px(high));
        let d = format!("M{left},{low}H{right}M{left},{high}H{right}M{x},{low}V{high}");
        group.add(Element::new("path").class("whisker").with("d", d));
    }
    let class = if marked { "mark" } else { "catch" };
    group.add(dot(point.x, point.y, if marked { 3.2 } else { 7.0 }).class(class));
    Some(group.extend(point.hint.clone().map(hint)))
}
