//! Line charts: a line for each network, with its name at the end.

use super::element::{Element, Px, polyline};
use super::networks::PageNetworks;
use super::plot::{PlotArea, dot, line, spread_out, text, tooltip, truncate, width_of};

/// Least distance between the names of lines, px.
const NAME_DISTANCE: f64 = 14.0;

/// Line of a network, px.
pub(crate) struct ChartLine<'a> {
    pub(crate) label: &'a str,
    pub(crate) points: Vec<ChartPoint>,
    /// True if the points are marked. Otherwise only the line is drawn.
    pub(crate) marked: bool,
}

/// Point of a line, px.
pub(crate) struct ChartPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Ends of the confidence interval, px.
    pub(crate) interval: Option<[f64; 2]>,
    /// Text of the tooltip.
    pub(crate) hint: Option<String>,
}

impl ChartPoint {
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, hint: None }
    }
}

/// Returns the width needed for the names of the lines, to the right of the plot, px.
pub(crate) fn room_for_names<'a>(labels: impl Iterator<Item = &'a str>, width: f64) -> f64 {
    (labels.map(width_of).fold(0.0, f64::max) + 16.0).min(width * 0.3)
}

/// Draws the lines, and their names to the right of the area.
pub(crate) fn lines(
    lines: &[ChartLine<'_>],
    networks: &PageNetworks<'_>,
    area: &PlotArea,
    room: f64,
) -> Vec<Element> {
    let ends: Vec<f64> =
        lines.iter().map(|line| line.points.last().map_or(area.bottom, |point| point.y)).collect();
    let places = spread_out(&ends, NAME_DISTANCE, [area.bottom, area.top]);
    let drawn = |(one, place): (&ChartLine<'_>, f64)| {
        let path = Element::new("path")
            .class("line")
            .with("d", polyline(one.points.iter().map(|point| (point.x, point.y))));
        let mut group = networks.group(one.label).push(path);
        for point in &one.points {
            group = group.extend(mark(point, one.marked));
        }
        if let Some(last) = one.points.last() {
            let leader = line([last.x + 3.0, last.y], [area.right + 10.0, place]).class("leader");
            let name = truncate(one.label, room - 14.0);
            group =
                group.push(leader).push(text(area.right + 13.0, place + 4.0, &name).class("name"));
        }
        group
    };
    lines.iter().zip(places).map(drawn).collect()
}

/// Draws a point with its interval and its tooltip.
fn mark(point: &ChartPoint, marked: bool) -> Option<Element> {
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
    Some(group.extend(point.hint.clone().map(tooltip)))
}
