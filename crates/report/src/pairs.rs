//! Every network beside every other, for `tare report --pairs`.

use crate::grid::{Cell, Column, Grid, Piece};
use crate::sections::telling_facts;
use crate::style::{Style, Tone};
use crate::text::{one_line, wrap};
use crate::{columns, number};
use std::fmt::Write as _;
use tare_record::{Metric, Pair};

/// The pairs as a table: a row a pair, a column a metric, and a table for each shape.
#[must_use]
pub fn pairs(pairs: &[Pair], style: &Style) -> String {
    if pairs.is_empty() {
        return "No two networks were measured in the same blocks, at least two of them.\n"
            .to_owned();
    }
    let mut out = String::new();
    for shape in distinct(pairs, |pair| &pair.shape) {
        let heading = telling_facts(shape, || pairs.iter().map(|pair| &pair.shape)).join(", ");
        if !heading.is_empty() {
            let _ = writeln!(out, "{}\n", style.paint(Tone::Strong, &one_line(&heading)));
        }
        let of_shape: Vec<&Pair> = pairs.iter().filter(|pair| pair.shape == *shape).collect();
        let _ = writeln!(out, "{}", grid(&of_shape).render(*style));
    }
    let reading = "× the first network's figure over the second's, made within blocks, with its 95 % interval · \
                   p that of a ratio of 1, not corrected for the number of pairs";
    let _ = writeln!(out, "{}", wrap(reading, usize::from(style.width)));
    out
}

/// The values of a property in the order in which they come first.
fn distinct<'a, P, T: PartialEq>(pairs: &'a [P], property: impl Fn(&'a P) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for pair in pairs {
        let value = property(pair);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn grid(pairs: &[&Pair]) -> Grid {
    let rows = distinct(pairs, |pair| (pair.network.as_str(), pair.beside.as_str()));
    let names = rows.iter().map(|(network, beside)| {
        vec![Piece::new(Tone::Strong, one_line(&format!("{network} / {beside}")))]
    });
    Grid {
        names: Column {
            group: String::new(),
            name: "pair".to_owned(),
            unit: String::new(),
            cells: names.collect(),
        },
        columns: distinct(pairs, |pair| (pair.workload.as_str(), pair.metric))
            .into_iter()
            .map(|kind| column(kind, pairs, &rows))
            .collect(),
    }
}

fn column(kind: (&str, Metric), pairs: &[&Pair], rows: &[(&str, &str)]) -> Column {
    let (workload, metric) = kind;
    let find = |row: &(&str, &str)| {
        pairs.iter().find(|pair| {
            (pair.workload.as_str(), pair.metric) == kind
                && (pair.network.as_str(), pair.beside.as_str()) == *row
        })
    };
    let found: Vec<Option<&&Pair>> = rows.iter().map(find).collect();
    let ratio = |pair: &Option<&&Pair>| {
        pair.map_or_else(
            || columns::NOTHING.to_owned(),
            |pair| format!("{}×", number::ratio(pair.value, pair.ci95)),
        )
    };
    let ratios = number::align(&found.iter().map(ratio).collect::<Vec<_>>());
    Column {
        group: one_line(workload),
        name: metric.to_string(),
        unit: String::new(),
        cells: found.iter().zip(ratios).map(|(pair, ratio)| cell(*pair, ratio)).collect(),
    }
}

fn cell(pair: Option<&&Pair>, ratio: String) -> Cell {
    let Some(pair) = pair else {
        return vec![Piece::new(Tone::Faint, ratio)];
    };
    let [low, high] = number::ends(pair.ci95);
    vec![
        Piece::new(Tone::Plain, ratio),
        Piece::new(Tone::Faint, format!("{low}–{high}")),
        Piece::new(Tone::Faint, format!("p {}", number::p_value(pair.p))),
    ]
}
