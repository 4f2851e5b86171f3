//! Circles of a directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// Nodes by name, each with the nodes that it points to.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns the groups of nodes that all reach one another, each with two nodes or more.
pub(super) fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|node| (node, reachable(graph, node))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for node in graph.keys() {
        let together: Vec<String> = graph
            .keys()
            .filter(|other| reached[node].contains(other) && reached[other].contains(node))
            .cloned()
            .collect();
        if together.len() > 1 {
            groups.insert(together);
        }
    }
    groups.into_iter().collect()
}

/// Returns the nodes that a path of one edge or more leads to.
fn reachable<'g>(graph: &'g Graph, from: &String) -> BTreeSet<&'g String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = graph[from].iter().collect();
    while let Some(node) = open.pop() {
        if found.insert(node) {
            open.extend(graph.get(node).into_iter().flatten());
        }
    }
    found
}

#[test]
fn circles_of_any_length_are_found() {
    let edges =
        [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "e"), ("d", "d")];
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry(from.to_owned()).or_default().insert(to.to_owned());
        graph.entry(to.to_owned()).or_default();
    }
    assert_eq!(circles(&graph), [vec!["a", "b", "c"], vec!["e", "f"]]);
}
