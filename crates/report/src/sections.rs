//! Which cells stand in one table: those of one shape and one set of parameters, over all clients. Tables of how clients
//! shared, and curves, come beside and after them.
//!
//! A heading names only what differs between the tables; what all of them share belongs to the line above them.

use crate::grid::Grid;
use crate::text::counted;
use crate::{clients, curves};
use tare_record::{Cell, Document, Family, MtuBy, Parameters, Shape};

/// One table's cells, in the document's order.
struct Section<'a> {
    /// What tells this table from the others; empty where nothing does.
    heading: String,
    /// Its cells.
    cells: Vec<&'a Cell>,
}

/// A workload and its parameters.
pub(crate) type Variant<'a> = (&'a str, &'a Parameters);

/// What the cells of a table have in common.
#[derive(Clone, Copy, PartialEq)]
struct Key<'a> {
    shape: &'a Shape,
    /// The workload and its parameters, where it was run with several sets of them.
    variant: Option<Variant<'a>>,
}

/// A table and what stands above it.
pub(crate) struct Sheet {
    /// Empty where nothing tells the table from others.
    pub(crate) heading: String,
    /// The table.
    pub(crate) grid: Grid,
}

/// All tables of a document: of each shape the networks, set by `grid`, and, beside, how clients shared; then what was
/// swept, as curves.
pub(crate) fn sheets(document: &Document, grid: fn(&[&Cell]) -> Grid) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    let sections = sections(document);
    for (at, Section { heading, cells }) in sections.iter().enumerate() {
        sheets.push(Sheet { heading: heading.clone(), grid: grid(cells) });
        let shape = &cells[0].shape;
        let last = sections.get(at + 1).is_none_or(|next| next.cells[0].shape != *shape);
        if let Some(grid) = clients::grid(document, shape).filter(|_| last) {
            let words = counted(shape.clients, "client", "clients");
            sheets.push(Sheet { heading: format!("how {words} shared"), grid });
        }
    }
    let curves = curves::curves(document).into_iter();
    sheets.extend(curves.map(|curves| Sheet { heading: curves.heading, grid: curves.grid }));
    sheets
}

/// The document's tables of networks, in the order in which their first cells come.
fn sections(document: &Document) -> Vec<Section<'_>> {
    let mut tables: Vec<(Key<'_>, Vec<&Cell>)> = Vec::new();
    for cell in aggregates(document) {
        let key = Key { shape: &cell.shape, variant: variant(document, cell) };
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

/// The cells over all clients.
pub(crate) fn aggregates(document: &Document) -> impl Iterator<Item = &Cell> {
    document.cells.iter().filter(|cell| cell.scope == "aggregate")
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
pub(crate) fn variant<'a>(document: &'a Document, cell: &'a Cell) -> Option<Variant<'a>> {
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
