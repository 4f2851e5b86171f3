//! Cumulative latencies on an axis that gives every further nine of a percentile the same room, as HdrHistogram's plots do.

use super::super::data::{Datum, Table};
use super::super::element::Element;
use super::super::figure::{Drawing, Figure};
use super::super::lines::{Line, Point, lines, room_for_names};
use super::super::networks::Networks;
use super::super::plot::Area;
use super::{FEWEST_BEYOND, Latencies, micros};
use crate::scale::{Scale, Spread, ends, tick};
use tare_record::{Distribution, Nanos};

/// Points of a line.
const POINTS: u32 = 80;
/// The percentiles of the table.
const SHARES: [f64; 8] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

pub(super) fn figure(of: &Latencies<'_>, networks: &Networks<'_>) -> Figure {
    let caption = format!(
        "How long a {} takes at most, for the share of them given below: every further nine has the same room. A line \
         ends where fewer than a hundred are left beyond it: what follows is the accident of a few.",
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
    Figure::new(
        format!("cdf-{}", of.id),
        format!("{}: the tail of {}s", of.heading, of.what),
        table(of),
    )
    .told(caption, described.join(" "))
    .drawn_on_both(Spread::Log, |width, spread| draw(of, networks, width, spread))
}

fn table(of: &Latencies<'_>) -> Table {
    let heads = of.each.iter().map(|one| format!("{} (µs)", one.label));
    let mut table = Table::new(std::iter::once("percentile".to_owned()).chain(heads));
    for share in SHARES {
        let figures: Vec<Datum> = of.each.iter().map(|one| datum(one, share)).collect();
        let percent = format!("{}", (share * 1e6).round() / 1e4);
        table.add(std::iter::once(percent.into()).chain(figures).collect());
    }
    let largest = of.each.iter().map(|one| match one.latencies.max() {
        Some(nanos) => {
            let value = Nanos(nanos).as_micros_f64();
            Datum::number(value, micros(value))
        }
        None => Datum::none(),
    });
    let largest: Vec<Datum> = largest.collect();
    table.add(std::iter::once("100 (the largest)".into()).chain(largest).collect());
    let count = of.each.iter().map(|one| {
        let count = one.latencies.count();
        Datum::number(count as f64, super::super::subject::grouped(&count.to_string()))
    });
    table.add(std::iter::once("how many".into()).chain(count).collect());
    table
}

fn datum(one: &Distribution, share: f64) -> Datum {
    match one.latencies.quantile(share) {
        Some(nanos) if one.latencies.count() as f64 * (1.0 - share) >= FEWEST_BEYOND => {
            let value = Nanos(nanos).as_micros_f64();
            Datum::number(value, micros(value))
        }
        _ => Datum::none(),
    }
}

/// How many nines a share has: 0.99 has two.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The shares at which a line has points.
fn shares(one: &Distribution) -> Vec<f64> {
    let last = nines(1.0 - FEWEST_BEYOND / one.latencies.count() as f64).max(0.0);
    (0..=POINTS).map(|n| 1.0 - 10f64.powf(-last * f64::from(n) / f64::from(POINTS))).collect()
}

fn draw(of: &Latencies<'_>, networks: &Networks<'_>, width: f64, spread: Spread) -> Drawing {
    let height = if width > 600.0 { 380.0 } else { 320.0 };
    let room = room_for_names(of.each.iter().map(|one| one.label.as_str()), width);
    let area = Area { left: 46.0, top: 26.0, right: width - room, bottom: height - 40.0 };
    let curves: Vec<(&Distribution, Vec<(f64, f64)>)> = of
        .each
        .iter()
        .map(|one| {
            let points = shares(one).into_iter().filter_map(|share| {
                let nanos = one.latencies.quantile(share)?;
                Some((nines(share), Nanos(nanos).as_micros_f64()))
            });
            (*one, points.collect())
        })
        .collect();
    let all = || curves.iter().flat_map(|(_, points)| points.iter());
    let most = ends(all().map(|point| point.0)).map_or(1.0, |(_, most)| most.max(1.0));
    let x = Scale::linear([0.0, most], area.across());
    let y = Scale::new(spread, all().map(|point| point.1), area.up());
    let ticks: Vec<_> = y.ticks(6).into_iter().map(|value| (value, tick(value))).collect();
    let drawn: Vec<Line<'_>> = curves
        .iter()
        .map(|(one, points)| Line {
            label: &one.label,
            points: points
                .iter()
                .enumerate()
                .map(|(at, point)| place(one, at, *point, &x, &y))
                .collect(),
            marked: false,
        })
        .collect();
    let mut content = vec![
        area.level(&y, &ticks),
        area.upright(&x, &percent_ticks(most)),
        area.above("µs"),
        area.below("per cent of them"),
    ];
    content.push(Element::new("g").extend(lines(&drawn, networks, &area, room)));
    Drawing { width, height, content }
}

/// A point of a line; one in eight says what it stands for.
fn place(one: &Distribution, at: usize, (nines, value): (f64, f64), x: &Scale, y: &Scale) -> Point {
    let share = 100.0 * (1.0 - 10f64.powf(-nines));
    let told = (at.is_multiple_of(8) && at > 0).then(|| {
        let digits = (nines.ceil() as usize).saturating_sub(1);
        format!("{}: {share:.digits$} % within {} µs", one.label, micros(value))
    });
    Point { hint: told, ..Point::at(x.at(nines), y.at(value)) }
}

/// 0, 50, 90, 99, 99.9 … as far as lines go.
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
