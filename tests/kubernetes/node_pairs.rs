//! Pairs of nodes: each is measured beside its own baseline, and the whole is a matrix.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::list;

/// Nodes of a cluster's zones.
const ZONES: [(&str, &str); 3] = [("node1", "east"), ("node2", "east"), ("node3", "west")];

/// Returns the nodes of client and server of each pair, which all networks between two nodes share.
fn nodes_of_pairs(document: &Value) -> BTreeMap<u64, [String; 2]> {
    let mut pairs: BTreeMap<u64, [String; 2]> = BTreeMap::new();
    for cell in list(document, "cells").iter().filter(|cell| cell["scope"] == "aggregate") {
        let number = cell["shape"]["node_pair"].as_u64().expect("a pair of nodes");
        let is_between_nodes = cell["network"] != "k8s:pod-same-node";
        let pair = node_pair(cell);
        assert_eq!(pair.is_some(), is_between_nodes, "{cell}");
        let Some(pair) = pair else { continue };
        let names = ["client", "server"].map(|end| pair[end]["name"].as_str().expect("a name"));
        let known = pairs.entry(number).or_insert_with(|| names.map(str::to_owned));
        assert_eq!(*known, names, "the networks of pair {number} are on different nodes");
    }
    pairs
}

fn node_pair(cell: &Value) -> Option<&Value> {
    list(cell, "findings").iter().find(|finding| finding["kind"] == "node-pair")
}

fn zone_of(node: &str) -> &'static str {
    ZONES.iter().find(|(name, _)| *name == node).expect("a node of the cluster").1
}

#[test]
fn each_pair_of_nodes_has_servers_on_another_node_and_ratios_of_its_own() {
    let cluster = Cluster::with_nodes(3, PodRoutes::Direct, ProxyMode::Iptables);
    for (node, zone) in ZONES {
        cluster.kubectl(&["label", "node", node, &format!("topology.kubernetes.io/zone={zone}")]);
    }
    let networks = "k8s:host,k8s:pod,k8s:pod-same-node";
    let asked = ["--network", networks, "--node-pairs", "3", "--workload", "tcp-rr"];
    let short = ["--blocks", "2", "--duration", "200ms", "--out", "pairs"];
    let document = cluster.measure(&[&asked[..], &short].concat());
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    let pairs = nodes_of_pairs(&document);
    let servers: BTreeSet<&String> = pairs.values().map(|[_, server]| server).collect();
    assert_eq!((pairs.len(), servers.len()), (3, 3), "{pairs:?}");
    for [client, server] in pairs.values() {
        assert_ne!(client, server);
    }
    let in_one_zone = |pair: &u64| zone_of(&pairs[pair][0]) == zone_of(&pairs[pair][1]);
    assert!(!in_one_zone(&2), "an even pair, which another zone had room for: {pairs:?}");
    assert!(in_one_zone(&1) || pairs[&1][1] == "node3", "an odd pair: {pairs:?}");
    let is_rate = |cell: &&Value| cell["metric"] == "transactions";
    for cell in list(&document, "cells").iter().filter(is_rate) {
        let is_baseline = cell["network"] == "k8s:host";
        assert_eq!(cell["ratio"].is_null(), is_baseline, "{cell}");
        let Some(pair) = node_pair(cell) else { continue };
        // The cluster tells pods their zone from 1.35 on.
        for end in ["client", "server"] {
            let name = pair[end]["name"].as_str().expect("a name");
            assert_eq!(pair[end]["zone"], zone_of(name), "{pair}");
        }
    }
    let table = cluster.start_tare("admin", &["report", "pairs"]).wait().expect(0).text();
    assert!(table.contains("tcp-rr transactions by pair of nodes"), "{table}");
    for [client, server] in pairs.values() {
        assert!(table.contains(&format!("({client} to {server})")), "{table}");
    }
    cluster.expect_nothing_left();
}

#[test]
fn named_nodes_are_pairs_in_their_order() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let [one, other] = ["node1", "node2"];
    let (servers, clients) = (format!("{one},{other}"), format!("{other},{one}"));
    let asked = ["--network", "k8s:host,k8s:pod", "--workload", "tcp-rr"];
    let nodes = ["--server-node", &servers, "--client-node", &clients];
    let short = ["--blocks", "1", "--duration", "200ms", "--out", "named"];
    let document = cluster.measure(&[&asked[..], &nodes, &short].concat());
    let expected = BTreeMap::from([
        (1, [other.to_owned(), one.to_owned()]),
        (2, [one.to_owned(), other.to_owned()]),
    ]);
    assert_eq!(nodes_of_pairs(&document), expected);
    cluster.expect_nothing_left();
}
