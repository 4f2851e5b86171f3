//! CPU time by kind, stacked, per gigabyte or per transaction.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use super::figure::{Drawing, Figure};
use super::networks::PageNetworks;
use super::plot::{PlotArea, rect, text, tooltip, truncate, width_of};
use super::subject::{Subject, group_thousands};
use crate::number;
use crate::scale::{AxisScale, format_tick};
use tare_record::{CpuCost, WorkUnit};

/// Height of a row, px.
const ROW: f64 = 27.0;
/// Least height of the key above the rows, px.
const KEY: f64 = 46.0;

/// Kind of CPU time: its name, its words in the key, and its part of a cost.
type CpuTimeKind = (&'static str, &'static str, fn(&CpuCost) -> f64);

const KINDS: [CpuTimeKind; 4] = [
    ("user", "programs", |cost| cost.user),
    ("system", "kernel for programs", |cost| cost.system),
    ("softirq", "soft interrupts", |cost| cost.softirq),
    ("irq", "hard interrupts", |cost| cost.irq),
];

/// Draws the CPU time of a subject's networks. Returns `None` if none was recorded.
pub(crate) fn cpu(
    subject: &Subject<'_>,
    costs: &[CpuCost],
    networks: &PageNetworks<'_>,
) -> Option<Figure> {
    let mut costs: Vec<&CpuCost> =
        costs.iter().filter(|cost| subject.matches(&cost.workload, &cost.shape)).collect();
    let work = costs.first()?.work;
    costs.sort_by(|a, b| a.total().total_cmp(&b.total()));
    let (unit, each) = unit(work);
    let caption = format!(
        "CPU time of the whole machine {each}, lowest first: both ends, the network between them, and everything else that ran. \
         Cores that were not idle in the steady part of each trial; the kinds share that time as the kernel's ticks do."
    );
    let described: Vec<String> = costs
        .iter()
        .map(|cost| format!("{}: {} {unit}.", cost.label, shown(cost.total(), work)))
        .collect();
    let title = format!("{}: CPU time {each}", subject.heading);
    Some(
        Figure::new(format!("cpu-{}", subject.id), title, table(&costs, work))
            .with_text(caption, described.join(" "))
            .with_drawings(|width| draw(&costs, work, networks, width)),
    )
}

/// Returns the unit of CPU time, and the amount of work it is for.
fn unit(work: WorkUnit) -> (&'static str, &'static str) {
    match work {
        WorkUnit::Gigabyte => ("s/GB", "per gigabyte"),
        WorkUnit::Operation => ("µs", "per transaction"),
    }
}

fn scaled(seconds: f64, work: WorkUnit) -> f64 {
    match work {
        WorkUnit::Gigabyte => seconds,
        WorkUnit::Operation => seconds * 1e6,
    }
}

/// Formats CPU time in the unit of the work, without the unit.
pub(crate) fn shown(seconds: f64, work: WorkUnit) -> String {
    let value = scaled(seconds, work);
    let places = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    group_thousands(&format!("{value:.places$}"))
}

/// Formats CPU time with its unit.
pub(crate) fn shown_with_unit(seconds: f64, work: WorkUnit) -> String {
    format!("{} {}", shown(seconds, work), unit(work).0)
}

fn table(costs: &[&CpuCost], work: WorkUnit) -> DataTable {
    let (unit, _) = unit(work);
    let kinds = KINDS.iter().map(|(name, ..)| format!("{name} ({unit})"));
    let rest =
        ["all", "clients’ threads", "servers’ threads"].map(|name| format!("{name} ({unit})"));
    let heads = std::iter::once("network".to_owned()).chain(kinds).chain(rest);
    let mut table = DataTable::new(heads.chain(["blocks".to_owned()]));
    for cost in costs {
        let datum = |seconds: f64| TableValue::number(scaled(seconds, work), shown(seconds, work));
        let mut row = vec![TableValue::from(cost.label.as_str())];
        row.extend(KINDS.iter().map(|(.., of)| datum(of(cost))));
        row.push(datum(cost.total()));
        row.extend(
            [cost.clients, cost.servers].map(|side| side.map_or_else(TableValue::none, datum)),
        );
        row.push(TableValue::number(f64::from(cost.blocks), cost.blocks.to_string()));
        table.add(row);
    }
    table
}

fn draw(costs: &[&CpuCost], work: WorkUnit, networks: &PageNetworks<'_>, width: f64) -> Drawing {
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
    let area = PlotArea { left: names, top, right: width - 62.0, bottom: height - 40.0 };
    let scale =
        AxisScale::linear(costs.iter().map(|cost| scaled(cost.total(), work)), area.x_range());
    let about = if width > 600.0 { 6 } else { 4 };
    let ticks: Vec<_> =
        scale.ticks(about).into_iter().map(|value| (value, format_tick(value))).collect();
    let rows = costs.iter().enumerate().map(|(row, cost)| {
        let y = area.top + ROW * (row as f64 + 0.5);
        let mut group = networks.group(&cost.label);
        group.add(rect([0.0, y - ROW / 2.0], [width, y + ROW / 2.0]).class("catch"));
        group.add(text(0.0, y + 4.0, &truncate(&cost.label, names)).class("name"));
        let mut from = 0.0;
        for (name, _, of) in KINDS {
            let to = from + scaled(of(cost), work);
            let bar = rect([scale.position(from), y - 8.0], [scale.position(to), y + 8.0]);
            group.add(bar.class(format!("kind {name}")));
            from = to;
        }
        group.add(
            text(scale.position(from) + 6.0, y + 4.0, &shown(cost.total(), work)).class("number"),
        );
        group.push(tooltip(told(cost, work)))
    });
    let mut content: Vec<Element> = key;
    content.push(area.vertical_grid(&scale, &ticks));
    content.push(area.x_title(unit(work).0));
    content.extend(rows);
    Drawing { width, height, content }
}

fn told(cost: &CpuCost, work: WorkUnit) -> String {
    let all = cost.total();
    let kinds = KINDS.iter().map(|(name, _, of)| {
        let part = if all > 0.0 { of(cost) / all } else { 0.0 };
        format!("{name} {}", number::percent((part * 100.0).round() / 100.0))
    });
    let kinds: Vec<String> = kinds.collect();
    format!("{}: {}, of which {}", cost.label, shown_with_unit(all, work), kinds.join(", "))
}
