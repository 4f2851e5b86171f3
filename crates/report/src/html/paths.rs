//! Packet path through each network, hop by hop, drawn as a railway map.

use super::cpu;
use super::data_table::{DataTable, TableValue};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::hop_costs::HopCosts;
use super::networks::PageNetworks;
use super::plot::{dot, line, rect, text, tooltip, truncate};
use super::subject::Subject;
use tare_record::{Cell, CpuCost, Document, Finding, Hop, HopKind};

/// Width of a map, px: one column on narrow pages, two on wide ones.
const WIDTH: f64 = 340.0;
/// Height of a hop with one line below its name, px.
const HOP_HEIGHT: f64 = 44.0;
/// Height of every further line, px.
const LINE_HEIGHT: f64 = 12.5;
/// Widest line, characters.
const WIDEST: usize = 40;
/// Largest number of lines below a name.
const MOST_LINES: usize = 4;
/// Horizontal position of the track, px.
const TRACK_X: f64 = 82.0;

/// Draws a map for each network with known hops.
pub(crate) fn paths(
    document: &Document,
    subjects: &[Subject<'_>],
    costs: &[CpuCost],
    networks: &PageNetworks<'_>,
) -> Vec<Figure> {
    let Some(subject) = subjects.first() else { return Vec::new() };
    let map = |(n, label): (usize, &&str)| {
        let cells = subjects.iter().flat_map(|subject| &subject.cells);
        let mut known = cells.filter(|cell| cell.label == **label && !cell.hops.is_empty());
        let cell = known.next()?;
        let cost = costs
            .iter()
            .find(|cost| cost.label == **label && subject.matches(&cost.workload, &cost.shape));
        let (hops, title) = (&cell.hops, (*label).to_owned());
        let cells = subjects.iter().flat_map(|subject| &subject.cells);
        let toll = HopCosts::from_cells(cells.copied().filter(|cell| cell.label == **label));
        let words: Vec<String> = hops.iter().map(|hop| describe_with_costs(hop, &toll)).collect();
        let end = hops.last().and_then(|last| toll.describe_end(last));
        let end = end.map_or_else(String::new, |lost| format!("; the server {lost}"));
        let described = format!("From client to server: {}{end}.", words.join("; "));
        Some(
            Figure::new(format!("path-{}", n + 1), title, table(hops, &toll))
                .with_text(caption(document, cell, sides(cost, subject)), described)
                .with_drawing(draw(label, hops, &toll, networks)),
        )
    };
    networks.labels().iter().enumerate().filter_map(map).collect()
}

/// Describes the real system of a network, its CPU time, and where that is spent.
fn caption(document: &Document, cell: &Cell, sides: String) -> String {
    let real = document.stands_for.get(&cell.network).map(|real| format!("Stands for: {real}."));
    let of_cpu = |one: &&Finding| {
        matches!(one, Finding::CpuTimeByConsumer(_) | Finding::CpuTimeOfMeasurement(_))
    };
    let placed: Vec<_> = cell.findings.iter().filter(of_cpu).map(Finding::to_string).collect();
    let placed = (!placed.is_empty()).then(|| format!("{}: {}.", cell.workload, placed.join("; ")));
    let all = real.into_iter().chain([sides]).chain(placed);
    all.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Describes the CPU time of clients, servers and the whole machine.
fn sides(cost: Option<&CpuCost>, subject: &Subject<'_>) -> String {
    let Some(cost) = cost else { return String::new() };
    let shown = |seconds: f64| cpu::shown_with_unit(seconds, cost.work);
    match (cost.clients, cost.servers) {
        (Some(client), Some(server)) => format!(
            "{}: the client’s threads take {}, the server’s {}, the whole machine {}.",
            subject.heading,
            shown(client),
            shown(server),
            shown(cost.total())
        ),
        _ => format!("{}: the whole machine takes {}.", subject.heading, shown(cost.total())),
    }
}

/// Returns the name of a kind of hop.
fn kind_name(kind: HopKind) -> &'static str {
    match kind {
        HopKind::Loopback => "loopback",
        HopKind::Veth => "veth",
        HopKind::Bridge => "bridge",
        HopKind::Device => "device",
        HopKind::Queue => "queue",
        HopKind::Conntrack => "conntrack",
        HopKind::Filter => "filter",
        HopKind::Nat => "NAT",
        HopKind::Route => "route",
        HopKind::Encapsulation => "encapsulation",
        HopKind::Forwarder => "userspace forwarder",
        HopKind::Ebpf => "eBPF",
    }
}

fn describe(hop: &Hop) -> String {
    let mtu = hop.mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    let detail = hop.detail.as_ref().map_or_else(String::new, |detail| format!(", {detail}"));
    format!("{} {} in {}{mtu}{detail}", kind_name(hop.kind), hop.name, hop.place)
}

/// Describes a hop with its costs.
fn describe_with_costs(hop: &Hop, toll: &HopCosts<'_>) -> String {
    let taken = toll.describe(hop).map_or_else(String::new, |taken| format!(", {taken}"));
    format!("{}{taken}", describe(hop))
}

fn table(hops: &[Hop], toll: &HopCosts<'_>) -> DataTable {
    let mut table =
        DataTable::new(["hop", "kind", "name", "where", "MTU (bytes)", "lost (%)", "detail"]);
    for (at, hop) in hops.iter().enumerate() {
        table.add(vec![
            (at + 1).to_string().into(),
            kind_name(hop.kind).into(),
            hop.name.as_str().into(),
            hop.place.as_str().into(),
            hop.mtu.map_or_else(TableValue::none, |mtu| {
                TableValue::number(f64::from(mtu), mtu.to_string())
            }),
            toll.loss_share(hop).map_or_else(TableValue::none, |share| {
                TableValue::number(100.0 * share, format!("{:.2}", 100.0 * share))
            }),
            hop.detail.as_deref().unwrap_or("").into(),
        ]);
    }
    table
}

/// Drawn hop, with the lines below its name.
struct DrawnHop<'a> {
    hop: &'a Hop,
    below: Vec<String>,
}

impl<'a> DrawnHop<'a> {
    fn new(hop: &'a Hop, toll: &HopCosts<'_>) -> Self {
        let mtu = hop.mtu.map(|mtu| format!("MTU {mtu}"));
        let facts = [Some(kind_name(hop.kind).to_owned()), mtu, hop.detail.clone()];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let mut below = wrap_lines(&facts.join(" · "));
        below.extend(toll.describe(hop).map(|taken| cut(&format!("▼ {taken}"))));
        Self { hop, below }
    }

    fn height(&self) -> f64 {
        HOP_HEIGHT + LINE_HEIGHT * (self.below.len() - 1) as f64
    }
}

/// Wraps a text into at most [`MOST_LINES`] lines. The last one is cut if there is more.
fn wrap_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= WIDEST {
            line.push(' ');
            line.push_str(word);
        } else if last + 1 < MOST_LINES {
            lines.push(word.to_owned());
        } else {
            line.push_str(" …");
            break;
        }
    }
    lines.iter().map(|line| cut(line)).collect()
}

fn cut(line: &str) -> String {
    if line.chars().count() <= WIDEST + 2 {
        return line.to_owned();
    }
    line.chars().take(WIDEST).chain(['…']).collect()
}

/// Draws the track from top to bottom. Each namespace is a shaded band.
fn draw(label: &str, hops: &[Hop], toll: &HopCosts<'_>, networks: &PageNetworks<'_>) -> Drawing {
    let stops: Vec<DrawnHop<'_>> = hops.iter().map(|hop| DrawnHop::new(hop, toll)).collect();
    let top = 34.0;
    let height = top + stops.iter().map(DrawnHop::height).sum::<f64>() + 34.0;
    let (mut bands, mut drawn) = (Vec::new(), Vec::new());
    let mut y = top;
    for (band, together) in stops.chunk_by(|a, b| a.hop.place == b.hop.place).enumerate() {
        let begin = y;
        for stop in together {
            drawn.push(draw_hop(stop, y));
            y += stop.height();
        }
        let shade = if band % 2 == 0 { "band even" } else { "band odd" };
        let place = &together[0].hop.place;
        bands.push(rect([0.0, begin + 1.0], [WIDTH, y - 1.0]).class(shade));
        let name = text(8.0, begin + HOP_HEIGHT / 2.0 + 4.0, &truncate(place, TRACK_X - 14.0))
            .class("tiny");
        bands.push(name.push(tooltip(place.clone())));
    }
    let mut route = networks.group(label);
    route.add(line([TRACK_X, 14.0], [TRACK_X, height - 14.0]).class("track"));
    let end = hops.last().and_then(|last| toll.describe_end(last));
    let server = end.map_or_else(|| "server".to_owned(), |lost| format!("server ▼ {lost}"));
    for (y, words) in [(14.0, "client"), (height - 14.0, server.as_str())] {
        route.add(rect([TRACK_X - 7.0, y - 7.0], [TRACK_X + 7.0, y + 7.0]).class("end-stop"));
        route.add(text(TRACK_X + 18.0, y + 4.0, words).class("strong"));
    }
    bands.push(route.extend(drawn));
    Drawing { width: WIDTH, height, content: bands }
}

/// Draws a hop: an open circle for a device, a filled one for a hop that decides or rewrites.
fn draw_hop(stop: &DrawnHop<'_>, top: f64) -> Element {
    let device = matches!(
        stop.hop.kind,
        HopKind::Loopback | HopKind::Veth | HopKind::Bridge | HopKind::Device
    );
    let (x, y) = (TRACK_X + 18.0, top + HOP_HEIGHT / 2.0);
    let room = WIDTH - x - 8.0;
    let below = stop
        .below
        .iter()
        .enumerate()
        .map(|(at, words)| text(x, y + 12.0 + LINE_HEIGHT * at as f64, words).class("tiny"));
    Element::new("g")
        .push(dot(TRACK_X, y, 6.0).class(if device { "stop" } else { "stop full" }))
        .push(text(x, y - 2.0, &truncate(&stop.hop.name, room)).class("name"))
        .extend(below)
        .push(tooltip(describe(stop.hop)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_details_take_a_few_lines() {
        let long = "x".repeat(9);
        let text = [long.as_str(); 20].join(" ");
        let lines = wrap_lines(&text);
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDEST + 2), "{lines:?}");
        assert!(lines[MOST_LINES - 1].ends_with(" …"));
        assert_eq!(super::wrap_lines("veth · MTU 1500"), ["veth · MTU 1500"]);
        assert!(super::wrap_lines(&"y".repeat(99))[0].ends_with('…'));
    }
}
