//! Pairs of a cluster's nodes, in tables and on the page.

use crate::fixture::{cell, document, ratio};
use crate::markup::read;
use crate::page::page;
use tare_record::finding::NodePairFacts;
use tare_record::{Cell, ChartData, Document, Finding, Metric, NodeFacts, Shape};
use tare_report::{NoteExtent, Style, table};

/// Pairs of nodes, client before server, and the factor of their figures.
const PAIRS: [(&str, &str, f64); 3] =
    [("node-b", "node-a", 1.0), ("node-c", "node-b", 0.5), ("node-a", "node-c", 1.0)];

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (at, (client, server, factor)) in (1..).zip(PAIRS) {
        for (network, share) in [("k8s:host", 1.0), ("k8s:pod", 0.8), ("k8s:pod-same-node", 1.2)] {
            let mean = 20_000.0 * factor * share;
            let mut cell = cell(network, "tcp-rr", Metric::Transactions, mean, mean * 0.01);
            cell.shape = Shape { node_pair: Some(at), ..Shape::default() };
            if network != "k8s:host" {
                let mut beside = ratio(Metric::Transactions, share, 0.01);
                beside.baseline = "k8s:host".to_owned();
                cell.ratio = Some(beside);
            }
            if network != "k8s:pod-same-node" {
                let node =
                    |name: &str| NodeFacts { name: Some(name.to_owned()), ..NodeFacts::default() };
                cell.findings.push(Finding::NodePairFacts(NodePairFacts {
                    client: node(client),
                    server: node(server),
                }));
            }
            cells.push(cell);
        }
    }
    cells
}

fn plain(document: &Document) -> String {
    table(document, &Style { width: 100, colour: false }, NoteExtent::All)
}

#[test]
fn pairs_of_nodes_are_a_matrix_of_the_clients_node_by_the_servers() {
    insta::assert_snapshot!(plain(&document(cells())));
}

#[test]
fn a_single_pair_has_no_matrix() {
    let mut cells = cells();
    cells.truncate(3);
    cells.iter_mut().for_each(|cell| cell.shape.node_pair = None);
    let text = plain(&document(cells));
    assert!(!text.contains("by pair of nodes"), "{text}");
}

#[test]
fn the_page_has_a_heat_map_of_the_pairs_with_all_figures_as_a_table() {
    let text = page(&document(cells()), &ChartData::default());
    read(&text).expect("well-formed");
    for expected in [
        "Pairs of nodes",
        "tcp-rr transactions by pair of nodes",
        "<th scope=\"col\">to node-a</th>",
        "from node-c",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
    let without = page(&crate::fixture::quick(), &ChartData::default());
    assert!(!without.contains("Pairs of nodes"));
}
