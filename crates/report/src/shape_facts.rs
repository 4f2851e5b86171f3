//! Facts of shapes and workloads in words, and those by which tables differ.

use crate::text::counted;
use tare_record::{Cell, Document, Family, MtuSource, Parameters, Shape};

/// Workload with its parameters.
pub(crate) type WorkloadVariant<'a> = (&'a str, &'a Parameters);

/// Returns the facts that all shapes of the document share, if they are not the default. The placement is always
/// included.
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

/// Returns the facts that distinguish a shape from others, in words.
pub(crate) fn distinguishing_facts<'a, I>(shape: &Shape, others: impl Fn() -> I) -> Vec<String>
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

/// Describes a shape in words, one text for each part, always in the same order. The placement is the last.
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

/// Describes the offloads that are switched off.
fn without(shape: &Shape) -> String {
    if shape.without.is_empty() {
        "with all offloads".to_owned()
    } else {
        format!("without {}", shape.without)
    }
}

/// Describes the MTU. An MTU chosen by the user is that of containers, whether it fits or not.
fn mtu(shape: &Shape) -> String {
    let clamped = if shape.clamp_mss { ", MSS clamped" } else { "" };
    match shape.mtu_by {
        MtuSource::Network => format!("MTU {}{clamped}", shape.mtu),
        MtuSource::User => format!("MTU {} in containers{clamped}", shape.mtu),
    }
}

/// Returns the cell's workload and parameters. Returns `None` if its shape has this workload with one set of parameters
/// only.
pub(crate) fn variant<'a>(document: &'a Document, cell: &'a Cell) -> Option<WorkloadVariant<'a>> {
    let several = document.cells.iter().any(|other| {
        other.workload == cell.workload
            && other.shape == cell.shape
            && other.parameters != cell.parameters
    });
    several.then_some((cell.workload.as_str(), &cell.parameters))
}

/// Returns the parameters whose values differ between the workloads of one name: `size 1`.
pub(crate) fn differing_parameters(parameters: &Parameters, others: &[&Parameters]) -> Vec<String> {
    parameters
        .iter()
        .filter(|(name, value)| others.iter().any(|other| other.get(*name) != Some(*value)))
        .map(|(name, value)| format!("{name} {}", bare(value)))
        .collect()
}

/// Formats a value without the quotes of JSON strings.
fn bare(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
