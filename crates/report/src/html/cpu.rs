//! Where CPU time goes: stacked by kind, for a piece of work.

use super::data::{Datum, Table};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::networks::Networks;
use super::plot::{Area, fitted, hint, rect, text, width_of};
use super::subject::{Subject, grouped};
use crate::number;
use crate::scale::{Scale, tick};
use tare_record::{CpuCost, Work};

/// The height of a row, px.
const ROW: f64 = 27.0;
/// What stands above the rows: the key, px.
const KEY: f64 = 46.0;

/// Each kind with what it is, and how much of it there is.
type Kind = (&'static str, &'static str, fn(&CpuCost) -> f64);

const KINDS: [Kind; 4] = [
    ("user", "programs", |cost| cost.user),
    ("system", "kernel for programs", |cost| cost.system),
    ("softirq", "soft interrupts", |cost| cost.softirq),
    ("irq", "hard interrupts", |cost| cost.irq),
];

/// The CPU time of a subject's networks; nothing where none was kept.
pub(crate) fn cpu(
    subject: &Subject<'_>,
    costs: &[CpuCost],
    networks: &Networks<'_>,
) -> Option<Figure> {
    let mut costs: Vec<&CpuCost> =
        costs.iter().filter(|cost| subject.is(&cost.workload, &cost.shape)).collect();
    let work = costs.first()?.work;
    costs.sort_by(|a, b| a.total().total_cmp(&b.total()));
    let (unit, each) = unit(work);
    let caption = format!(
        "CPU time of the whole machine {each}, least first: both ends, the network between them, and whatever else ran. \
         Counted in ticks of 10 ms over the steady part of each trial."
    );
    let described: Vec<String> = costs
        .iter()
        .map(|cost| format!("{}: {} {unit}.", cost.label, shown(cost.total(), work)))
        .collect();
    let title = format!("{}: CPU time {each}", subject.heading);
    Some(
        Figure::new(format!("cpu-{}", subject.id), title, table(&costs, work))
            .told(caption, described.join(" "))
            .drawn(|width| draw(&costs, work, networks, width)),
    )
}

/// The unit in which CPU time is shown, and what it is for.
fn unit(work: Work) -> (&'static str, &'static str) {
    match work {
        Work::Gigabyte => ("s/GB", "for a gigabyte"),
        Work::Operation => ("µs", "for a transaction"),
    }
}

fn scaled(seconds: f64, work: Work) -> f64 {
    match work {
        Work::Gigabyte => seconds,
        Work::Operation => seconds * 1e6,
    }
}

/// CPU time as it is read.
pub(crate) fn shown(seconds: f64, work: Work) -> String {
    let value = scaled(seconds, work);
    let places = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    grouped(&format!("{value:.places$}"))
}

/// CPU time as it is read, with its unit.
pub(crate) fn shown_with_unit(seconds: f64, work: Work) -> String {
    format!("{} {}", shown(seconds, work), unit(work).0)
}

fn table(costs: &[&CpuCost], work: Work) -> Table {
    let (unit, _) = unit(work);
    let kinds = KINDS.iter().map(|(name, ..)| format!("{name} ({unit})"));
    let rest =
        ["all", "clients’ threads", "servers’ threads"].map(|name| format!("{name} ({unit})"));
    let heads = std::iter::once("network".to_owned()).chain(kinds).chain(rest);
    let mut table = Table::new(heads.chain(["blocks".to_owned()]));
    for cost in costs {
        let datum = |seconds: f64| Datum::number(scaled(seconds, work), shown(seconds, work));
        let mut row = vec![Datum::from(cost.label.as_str())];
        row.extend(KINDS.iter().map(|(.., of)| datum(of(cost))));
        row.push(datum(cost.total()));
        row.extend([cost.clients, cost.servers].map(|side| side.map_or_else(Datum::none, datum)));
        row.push(Datum::number(f64::from(cost.blocks), cost.blocks.to_string()));
        table.add(row);
    }
    table
}

fn draw(costs: &[&CpuCost], work: Work, networks: &Networks<'_>, width: f64) -> Drawing {
    let widest = costs.iter().map(|cost| width_of(&cost.label)).fold(0.0, f64::max);
    let names = (widest + 10.0).min(width * 0.32);
    let mut key = Vec::new();
    let (mut x, mut y) = (0.0, 12.0);
    for (name, words, _) in KINDS {
        let wide = width_of(words) * 0.92 + 36.0;
        if x + wide > width {
            (x, y) = (0.0, y + 19.0);
        }
        key.push(rect([x, y - 10.0], [x + 12.0, y + 1.0]).class(format!("kind {name}")));
        key.push(text(x + 18.0, y, words).class("tick"));
        x += wide;
    }
    let top = KEY.max(y + 14.0);
    let height = top + ROW * costs.len() as f64 + 40.0;
    let area = Area { left: names, top, right: width - 62.0, bottom: height - 40.0 };
    let scale = Scale::linear(costs.iter().map(|cost| scaled(cost.total(), work)), area.across());
    let about = if width > 600.0 { 6 } else { 4 };
    let ticks: Vec<_> = scale.ticks(about).into_iter().map(|value| (value, tick(value))).collect();
    let rows = costs.iter().enumerate().map(|(row, cost)| {
        let y = area.top + ROW * (row as f64 + 0.5);
        let mut group = networks.group(&cost.label);
        group.add(rect([0.0, y - ROW / 2.0], [width, y + ROW / 2.0]).class("catch"));
        group.add(text(0.0, y + 4.0, &fitted(&cost.label, names)).class("name"));
        let mut from = 0.0;
        for (name, _, of) in KINDS {
            let to = from + scaled(of(cost), work);
            let bar = rect([scale.at(from), y - 8.0], [scale.at(to), y + 8.0]);
            group.add(bar.class(format!("kind {name}")));
            from = to;
        }
        group.add(text(scale.at(from) + 6.0, y + 4.0, &shown(cost.total(), work)).class("number"));
        group.push(hint(told(cost, work)))
    });
    let mut content: Vec<Element> = key;
    content.push(area.upright(&scale, &ticks));
    content.push(area.below(unit(work).0));
    content.extend(rows);
    Drawing { width, height, content }
}

fn told(cost: &CpuCost, work: Work) -> String {
    let all = cost.total();
    let kinds = KINDS.iter().map(|(name, _, of)| {
        let part = if all > 0.0 { of(cost) / all } else { 0.0 };
        format!("{name} {}", number::percent((part * 100.0).round() / 100.0))
    });
    let kinds: Vec<String> = kinds.collect();
    format!("{}: {}, of which {}", cost.label, shown_with_unit(all, work), kinds.join(", "))
}
