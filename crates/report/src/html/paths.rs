//! The path of a packet through each network, hop by hop, as a map of a railway line.

use super::cpu;
use super::data::{Datum, Table};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::networks::Networks;
use super::plot::{dot, fitted, hint, line, rect, text};
use super::subject::Subject;
use super::toll::Toll;
use tare_record::{Cell, CpuCost, Document, Finding, Hop, HopKind};

/// The width of a map, px: it stands in narrow pages as it is, and two abreast in wide ones.
const WIDTH: f64 = 340.0;
/// The height of a stop with one line below its name, px.
const STOP: f64 = 44.0;
/// The height of every further line, px.
const LINE: f64 = 12.5;
/// The widest line, characters.
const WIDEST: usize = 40;
/// The most lines.
const MOST_LINES: usize = 4;
/// Where the line runs, px.
const TRACK: f64 = 82.0;

/// A map for every network whose hops are known.
pub(crate) fn paths(
    document: &Document,
    subjects: &[Subject<'_>],
    costs: &[CpuCost],
    networks: &Networks<'_>,
) -> Vec<Figure> {
    let Some(subject) = subjects.first() else { return Vec::new() };
    let map = |(n, label): (usize, &&str)| {
        let cells = subjects.iter().flat_map(|subject| &subject.cells);
        let mut known = cells.filter(|cell| cell.label == **label && !cell.hops.is_empty());
        let cell = known.next()?;
        let cost = costs
            .iter()
            .find(|cost| cost.label == **label && subject.is(&cost.workload, &cost.shape));
        let (hops, title) = (&cell.hops, (*label).to_owned());
        let cells = subjects.iter().flat_map(|subject| &subject.cells);
        let toll = Toll::of(cells.copied().filter(|cell| cell.label == **label));
        let words: Vec<String> = hops.iter().map(|hop| with_toll(hop, &toll)).collect();
        let end = hops.last().and_then(|last| toll.at_end(last));
        let end = end.map_or_else(String::new, |lost| format!("; the server {lost}"));
        let described = format!("From client to server: {}{end}.", words.join("; "));
        Some(
            Figure::new(format!("path-{}", n + 1), title, table(hops, &toll))
                .told(caption(document, cell, sides(cost, subject)), described)
                .drawn_once(draw(label, hops, &toll, networks)),
        )
    };
    networks.labels().iter().enumerate().filter_map(map).collect()
}

/// What a network stands for, what it spends, and where.
fn caption(document: &Document, cell: &Cell, sides: String) -> String {
    let real = document.stands_for.get(&cell.network).map(|real| format!("As {real}."));
    let of_cpu =
        |one: &&Finding| matches!(one, Finding::CpuPlaced { .. } | Finding::Watched { .. });
    let placed: Vec<_> = cell.findings.iter().filter(of_cpu).map(Finding::to_string).collect();
    let placed = (!placed.is_empty()).then(|| format!("{}: {}.", cell.workload, placed.join("; ")));
    let all = real.into_iter().chain([sides]).chain(placed);
    all.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the two ends spend.
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

/// What a kind of hop is called.
fn kind(kind: HopKind) -> &'static str {
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
    }
}

fn described(hop: &Hop) -> String {
    let mtu = hop.mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    let detail = hop.detail.as_ref().map_or_else(String::new, |detail| format!(", {detail}"));
    format!("{} {} in {}{mtu}{detail}", kind(hop.kind), hop.name, hop.place)
}

/// A hop with what it takes.
fn with_toll(hop: &Hop, toll: &Toll<'_>) -> String {
    let taken = toll.at(hop).map_or_else(String::new, |taken| format!(", {taken}"));
    format!("{}{taken}", described(hop))
}

fn table(hops: &[Hop], toll: &Toll<'_>) -> Table {
    let mut table =
        Table::new(["hop", "kind", "name", "where", "MTU (bytes)", "lost (%)", "detail"]);
    for (at, hop) in hops.iter().enumerate() {
        table.add(vec![
            (at + 1).to_string().into(),
            kind(hop.kind).into(),
            hop.name.as_str().into(),
            hop.place.as_str().into(),
            hop.mtu.map_or_else(Datum::none, |mtu| Datum::number(f64::from(mtu), mtu.to_string())),
            toll.share(hop).map_or_else(Datum::none, |share| {
                Datum::number(100.0 * share, format!("{:.2}", 100.0 * share))
            }),
            hop.detail.as_deref().unwrap_or("").into(),
        ]);
    }
    table
}

/// A hop as it is drawn: what stands below its name, and how high it is.
struct Stop<'a> {
    hop: &'a Hop,
    below: Vec<String>,
}

impl<'a> Stop<'a> {
    fn of(hop: &'a Hop, toll: &Toll<'_>) -> Self {
        let mtu = hop.mtu.map(|mtu| format!("MTU {mtu}"));
        let facts = [Some(kind(hop.kind).to_owned()), mtu, hop.detail.clone()];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let mut below = lines(&facts.join(" · "));
        below.extend(toll.at(hop).map(|taken| cut(&format!("▼ {taken}"))));
        Self { hop, below }
    }

    fn height(&self) -> f64 {
        STOP + LINE * (self.below.len() - 1) as f64
    }
}

/// A text in as many lines as it may have; the last is cut where there is more.
fn lines(text: &str) -> Vec<String> {
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

/// The line from top to bottom; namespaces are the bands that it runs through.
fn draw(label: &str, hops: &[Hop], toll: &Toll<'_>, networks: &Networks<'_>) -> Drawing {
    let stops: Vec<Stop<'_>> = hops.iter().map(|hop| Stop::of(hop, toll)).collect();
    let top = 34.0;
    let height = top + stops.iter().map(Stop::height).sum::<f64>() + 34.0;
    let (mut bands, mut drawn) = (Vec::new(), Vec::new());
    let mut y = top;
    for (band, together) in stops.chunk_by(|a, b| a.hop.place == b.hop.place).enumerate() {
        let begin = y;
        for stop in together {
            drawn.push(stop_at(stop, y));
            y += stop.height();
        }
        let shade = if band % 2 == 0 { "band even" } else { "band odd" };
        let place = &together[0].hop.place;
        bands.push(rect([0.0, begin + 1.0], [WIDTH, y - 1.0]).class(shade));
        let name = text(8.0, begin + STOP / 2.0 + 4.0, &fitted(place, TRACK - 14.0)).class("tiny");
        bands.push(name.push(hint(place.clone())));
    }
    let mut route = networks.group(label);
    route.add(line([TRACK, 14.0], [TRACK, height - 14.0]).class("track"));
    let end = hops.last().and_then(|last| toll.at_end(last));
    let server = end.map_or_else(|| "server".to_owned(), |lost| format!("server ▼ {lost}"));
    for (y, words) in [(14.0, "client"), (height - 14.0, server.as_str())] {
        route.add(rect([TRACK - 7.0, y - 7.0], [TRACK + 7.0, y + 7.0]).class("end-stop"));
        route.add(text(TRACK + 18.0, y + 4.0, words).class("strong"));
    }
    bands.push(route.extend(drawn));
    Drawing { width: WIDTH, height, content: bands }
}

/// A stop: devices are open circles, what decides or rewrites is a filled one.
fn stop_at(stop: &Stop<'_>, top: f64) -> Element {
    let device = matches!(
        stop.hop.kind,
        HopKind::Loopback | HopKind::Veth | HopKind::Bridge | HopKind::Device
    );
    let (x, y) = (TRACK + 18.0, top + STOP / 2.0);
    let room = WIDTH - x - 8.0;
    let below = stop
        .below
        .iter()
        .enumerate()
        .map(|(at, words)| text(x, y + 12.0 + LINE * at as f64, words).class("tiny"));
    Element::new("g")
        .push(dot(TRACK, y, 6.0).class(if device { "stop" } else { "stop full" }))
        .push(text(x, y - 2.0, &fitted(&stop.hop.name, room)).class("name"))
        .extend(below)
        .push(hint(described(stop.hop)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_details_take_a_few_lines() {
        let long = "x".repeat(9);
        let text = [long.as_str(); 20].join(" ");
        let lines = lines(&text);
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDEST + 2), "{lines:?}");
        assert!(lines[MOST_LINES - 1].ends_with(" …"));
        assert_eq!(super::lines("veth · MTU 1500"), ["veth · MTU 1500"]);
        assert!(super::lines(&"y".repeat(99))[0].ends_with('…'));
    }
}
