//! Comparison of every pair of networks, for `tare report --pairs`.

use crate::grid::{CellPiece, Grid, GridCell, GridColumn};
use crate::shape_facts::SharedFacts;
use crate::style::{Style, Tone};
use crate::text::{one_line, wrap};
use crate::{columns, number};
use std::fmt::Write as _;
use tare_record::{Metric, NetworkPair};

/// Formats the pairs as tables, one for each shape: a row for each pair, a column for each metric.
#[must_use]
pub fn pairs(pairs: &[NetworkPair], style: &Style) -> String {
    if pairs.is_empty() {
        return "No two networks have two or more blocks in common.\n".to_owned();
    }
    let mut out = String::new();
    let shared = SharedFacts::find(pairs.iter().map(|pair| &pair.shape));
    for shape in distinct(pairs, |pair| &pair.shape) {
        let heading = shared.differing(shape).join(", ");
        if !heading.is_empty() {
            let _ = writeln!(out, "{}\n", style.paint(Tone::Strong, &one_line(&heading)));
        }
        let of_shape: Vec<&NetworkPair> =
            pairs.iter().filter(|pair| pair.shape == *shape).collect();
        let _ = writeln!(out, "{}", grid(&of_shape).render(*style));
    }
    let reading = "× ratio of the first network to the second, made within blocks, with its 95 % interval · \
                   p: p-value of a ratio of 1, not corrected for the number of pairs";
    let _ = writeln!(out, "{}", wrap(reading, usize::from(style.width)));
    out
}

/// Returns the distinct values of a property, in the order of their first occurrence.
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

fn grid(pairs: &[&NetworkPair]) -> Grid {
    let rows = distinct(pairs, |pair| (pair.network.as_str(), pair.beside.as_str()));
    let names = rows.iter().map(|(network, beside)| {
        vec![CellPiece::new(Tone::Strong, one_line(&format!("{network} / {beside}")))]
    });
    Grid {
        names: GridColumn {
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

fn column(kind: (&str, Metric), pairs: &[&NetworkPair], rows: &[(&str, &str)]) -> GridColumn {
    let (workload, metric) = kind;
    let find = |row: &(&str, &str)| {
        pairs.iter().find(|pair| {
            (pair.workload.as_str(), pair.metric) == kind
                && (pair.network.as_str(), pair.beside.as_str()) == *row
        })
    };
    let found: Vec<Option<&&NetworkPair>> = rows.iter().map(find).collect();
    let ratio = |pair: &Option<&&NetworkPair>| {
        pair.map_or_else(
            || columns::NOTHING.to_owned(),
            |pair| format!("{}×", number::ratio(pair.value, pair.ci95)),
        )
    };
    let ratios = number::align(&found.iter().map(ratio).collect::<Vec<_>>());
    GridColumn {
        group: one_line(workload),
        name: metric.to_string(),
        unit: String::new(),
        cells: found.iter().zip(ratios).map(|(pair, ratio)| cell(*pair, ratio)).collect(),
    }
}

fn cell(pair: Option<&&NetworkPair>, ratio: String) -> GridCell {
    let Some(pair) = pair else {
        return vec![CellPiece::new(Tone::Faint, ratio)];
    };
    let [low, high] = number::round_ends(pair.ci95);
    vec![
        CellPiece::new(Tone::Plain, ratio),
        CellPiece::new(Tone::Faint, format!("{low}–{high}")),
        CellPiece::new(Tone::Faint, format!("p {}", number::p_value(pair.p))),
    ]
}
