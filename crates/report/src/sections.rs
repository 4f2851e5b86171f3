//! Which cells stand in one table: those of one shape, one scope and one set of parameters.
//!
//! A heading names only what differs between the tables; what all of them share belongs to the line above them.

use crate::text::counted;
use tare_record::{Cell, Document, Family, MtuBy, Parameters, Shape};

/// One table's cells, in the document's order.
pub(crate) struct Section<'a> {
    /// What tells this table from the others; empty where nothing does.
    pub(crate) heading: String,
    /// Its cells.
    pub(crate) cells: Vec<&'a Cell>,
}

/// What the cells of a table have in common.
#[derive(Clone, Copy, PartialEq)]
struct Key<'a> {
    shape: &'a Shape,
    scope: &'a str,
    /// The workload and its parameters, where it was run with several sets of them.
    variant: Option<(&'a str, &'a Parameters)>,
}

/// The document's tables, in the order in which their first cells come.
pub(crate) fn sections(document: &Document) -> Vec<Section<'_>> {
    let mut tables: Vec<(Key<'_>, Vec<&Cell>)> = Vec::new();
    for cell in &document.cells {
        let key = Key { shape: &cell.shape, scope: &cell.scope, variant: variant(document, cell) };
        match tables.iter_mut().find(|(other, _)| *other == key) {
            Some((_, cells)) => cells.push(cell),
            None => tables.push((key, vec![cell])),
        }
    }
    let keys: Vec<Key<'_>> = tables.iter().map(|(key, _)| *key).collect();
    tables
        .into_iter()
        .map(|(key, cells)| Section { heading: heading(&key, &keys), cells })
        .collect()
}

/// What all shapes of the document have in common and is worth a word: all that is not the default, and the placement.
pub(crate) fn common_facts(document: &Document) -> Vec<String> {
    let Some(first) = document.cells.first().map(|cell| &cell.shape) else {
        return Vec::new();
    };
    let usual = facts(&Shape::default());
    let placement = usual.len() - 1;
    facts(first)
        .into_iter()
        .enumerate()
        .filter(|(at, fact)| {
            let shared = document.cells.iter().all(|cell| facts(&cell.shape)[*at] == *fact);
            shared && (*at == placement || usual[*at] != *fact)
        })
        .map(|(_, fact)| fact)
        .collect()
}

/// What tells a shape from others, in words.
pub(crate) fn telling_facts<'a, I>(shape: &Shape, others: impl Fn() -> I) -> Vec<String>
where
    I: Iterator<Item = &'a Shape>,
{
    facts(shape)
        .into_iter()
        .enumerate()
        .filter(|(at, fact)| others().any(|other| facts(other)[*at] != *fact))
        .map(|(_, fact)| fact)
        .collect()
}

/// A shape in words, one for each of its parts, always in the same places; the placement is the last.
fn facts(shape: &Shape) -> [String; 11] {
    let family = match shape.family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    };
    [
        family.to_owned(),
        counted(shape.nodes, "node", "nodes"),
        counted(shape.servers, "server", "servers"),
        counted(shape.clients, "client", "clients"),
        counted(shape.processes, "process per client", "processes per client"),
        counted(shape.flows, "flow", "flows"),
        mtu(shape),
        format!("link {}", shape.link.as_deref().unwrap_or("unlimited")),
        without(shape),
        format!("background {}", shape.background.as_deref().unwrap_or("none")),
        format!("cpus {}", shape.cpus),
    ]
}

/// What the devices are kept from doing.
fn without(shape: &Shape) -> String {
    if shape.without.is_empty() {
        "with all offloads".to_owned()
    } else {
        format!("without {}", shape.without)
    }
}

/// The MTU; one that the user chose is that of containers, whether it fits or not.
fn mtu(shape: &Shape) -> String {
    let clamped = if shape.clamp_mss { ", MSS clamped" } else { "" };
    match shape.mtu_by {
        MtuBy::Network => format!("MTU {}{clamped}", shape.mtu),
        MtuBy::User => format!("MTU {} in containers{clamped}", shape.mtu),
    }
}

/// The cell's workload and parameters, where other cells of its shape have the same workload with others.
fn variant<'a>(document: &'a Document, cell: &'a Cell) -> Option<(&'a str, &'a Parameters)> {
    let several = document.cells.iter().any(|other| {
        other.workload == cell.workload
            && other.shape == cell.shape
            && other.parameters != cell.parameters
    });
    several.then_some((cell.workload.as_str(), &cell.parameters))
}

/// What tells a table from the others, in words.
fn heading(key: &Key<'_>, keys: &[Key<'_>]) -> String {
    let mut words = telling_facts(key.shape, || keys.iter().map(|other| other.shape));
    if keys.iter().any(|other| other.scope != key.scope) {
        words.push(key.scope.to_owned());
    }
    if let Some((workload, parameters)) = key.variant {
        words.push(workload.to_owned());
        words.extend(differing(workload, parameters, keys));
    }
    words.join(", ")
}

/// The parameters of a workload that are not the same in all its tables.
fn differing(workload: &str, parameters: &Parameters, keys: &[Key<'_>]) -> Vec<String> {
    let others: Vec<&Parameters> = keys
        .iter()
        .filter_map(|key| key.variant)
        .filter(|(other, _)| *other == workload)
        .map(|(_, parameters)| parameters)
        .collect();
    parameters
        .iter()
        .filter(|(name, value)| others.iter().any(|other| other.get(*name) != Some(*value)))
        .map(|(name, value)| format!("{name} {}", bare(value)))
        .collect()
}

/// A value without the quotes that JSON puts around strings.
fn bare(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
