//! Facts of shapes and workloads in words, and those by which tables differ.

use std::collections::BTreeMap;
use tare_record::finding::NodePairFacts;
use tare_record::{Cell, Document, Family, Finding, MtuSource, Parameters, Shape, counted};

/// Workload with its parameters.
pub(crate) type WorkloadVariant<'a> = (&'a str, &'a Parameters);

/// Facts of a shape in words, one text for each part, always in the same order. The placement is the last.
type ShapeFacts = [String; PARTS];

/// Number of parts of a shape that have a text.
const PARTS: usize = 12;

/// Places of the parts that matter wherever packets are lost: the family and the MTU.
const FAMILY: usize = 0;
const MTU: usize = 6;

/// Place of the pair of a cluster's nodes.
const NODE_PAIR: usize = 10;

/// Parameters that are the offered load of a workload, each with its unit.
const OFFERED_LOADS: [(&str, &str); 2] = [("rate", ""), ("open_loop", "/s")];

/// Facts that all shapes of a set have in common.
pub(crate) struct SharedFacts {
    /// Each part's fact, or `None` where shapes differ. `None` as a whole if the set is empty.
    facts: Option<[Option<String>; PARTS]>,
    /// Nodes of each pair of a cluster's nodes, in words.
    nodes: BTreeMap<u32, String>,
}

impl SharedFacts {
    /// Finds the facts that these shapes share.
    pub(crate) fn find<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Self {
        let mut shared: Option<[Option<String>; PARTS]> = None;
        let mut last = None;
        // Cells of one shape follow one another, and words are made once for each.
        for shape in shapes.into_iter().filter(|shape| last.replace(*shape) != Some(*shape)) {
            match &mut shared {
                None => shared = Some(facts(shape).map(Some)),
                Some(shared) => {
                    for (shared, fact) in shared.iter_mut().zip(facts(shape)) {
                        shared.take_if(|shared| *shared != fact);
                    }
                }
            }
        }
        Self { facts: shared, nodes: BTreeMap::new() }
    }

    /// Names the nodes of each pair of nodes of a document beside its number.
    pub(crate) fn naming_nodes(mut self, document: &Document) -> Self {
        let numbered = document.cells.iter().filter_map(|cell| {
            let pair = cell.shape.node_pair?;
            let nodes = node_names(cell)?;
            Some((pair, format!("{} to {}", nodes.client, nodes.server)))
        });
        self.nodes.extend(numbered);
        self
    }

    /// Returns the facts of a shape that not all shapes of the set have, in words.
    pub(crate) fn differing(&self, shape: &Shape) -> Vec<String> {
        let Some(shared) = &self.facts else { return Vec::new() };
        let nodes = shape.node_pair.and_then(|pair| self.nodes.get(&pair));
        let both = facts(shape).into_iter().zip(shared).enumerate();
        let differing = both.filter(|(_, (fact, shared))| shared.as_ref() != Some(fact));
        let named = differing.map(|(part, (fact, _))| match nodes {
            Some(nodes) if part == NODE_PAIR => format!("{fact} ({nodes})"),
            _ => fact,
        });
        named.collect()
    }
}

/// Returns the facts that all shapes of the document share, if they are not the default. The placement is always
/// included.
pub(crate) fn common_facts(document: &Document) -> Vec<String> {
    let shared = SharedFacts::find(document.cells.iter().map(|cell| &cell.shape));
    let usual = facts(&Shape::default());
    let placement = usual.len() - 1;
    let stated = shared.facts.into_iter().flatten().zip(usual).enumerate();
    stated
        .filter_map(|(at, (fact, usual))| fact.filter(|fact| at == placement || *fact != usual))
        .collect()
}

/// Describes a shape in words.
fn facts(shape: &Shape) -> ShapeFacts {
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
        shape
            .node_pair
            .map_or_else(|| "one node pair".to_owned(), |pair| format!("node pair {pair}")),
        format!("cpus {}", shape.cpus),
    ]
}

/// Names of the nodes of a pair.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct NodeNames<'a> {
    /// Node of the clients.
    pub(crate) client: &'a str,
    /// Node of the servers.
    pub(crate) server: &'a str,
}

/// Returns the names of a cell's nodes. A network that is not between nodes of a cluster has none.
pub(crate) fn node_names(cell: &Cell) -> Option<NodeNames<'_>> {
    cell.findings.iter().find_map(|finding| match finding {
        Finding::NodePairFacts(NodePairFacts { client, server }) => {
            Some(NodeNames { client: client.name.as_deref()?, server: server.name.as_deref()? })
        }
        _ => None,
    })
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

/// Returns the parameters of a workload that differ between its variants among these. Returns none if it has no variants.
pub(crate) fn differing_variant<'a>(
    variant: Option<WorkloadVariant<'_>>,
    all: impl IntoIterator<Item = Option<WorkloadVariant<'a>>>,
) -> Vec<String> {
    let Some((workload, parameters)) = variant else { return Vec::new() };
    let of_workload = |(other, parameters)| (other == workload).then_some(parameters);
    let others: Vec<&Parameters> = all.into_iter().flatten().filter_map(of_workload).collect();
    differing_parameters(parameters, &others)
}

/// Returns the conditions of a cell in which packets were lost: its offered load, its family and its MTU; and what else
/// tells it from other cells of the same network and workload.
pub(crate) fn loss_conditions(document: &Document, cell: &Cell) -> Vec<String> {
    let is_alike = |other: &&Cell| other.workload == cell.workload && other.label == cell.label;
    let alike: Vec<&Cell> = document.cells.iter().filter(is_alike).collect();
    let load = |(name, unit): &(&str, &str)| {
        cell.parameters.get(*name).map(|value| format!("{}{unit}", bare(value)))
    };
    let mut conditions: Vec<String> = OFFERED_LOADS.iter().filter_map(load).collect();
    let own = facts(&cell.shape);
    conditions.extend([FAMILY, MTU].map(|part| own[part].clone()));
    let differing =
        SharedFacts::find(alike.iter().map(|other| &other.shape)).differing(&cell.shape);
    let others: Vec<&Parameters> = alike
        .iter()
        .filter(|other| other.shape == cell.shape)
        .map(|other| &other.parameters)
        .collect();
    let mut parameters = cell.parameters.clone();
    parameters.retain(|name, _| OFFERED_LOADS.iter().all(|(load, _)| name != load));
    for fact in differing.into_iter().chain(differing_parameters(&parameters, &others)) {
        if !conditions.contains(&fact) {
            conditions.push(fact);
        }
    }
    conditions
}

/// Formats a value without the quotes of JSON strings.
fn bare(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
