//! Networks of a cluster are measured, and nothing of them is left.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use support::{hops, list};

/// All networks of a cluster, but those of policies, which not every cluster enforces.
const ALL: &str = "k8s:host,k8s:pod,k8s:service,k8s:nodeport,k8s:nodeport+local,k8s:hairpin,k8s:pod-same-node,\
                   k8s:service-same-node,k8s:service-same-node+local,k8s:host-same-node";

/// Time during which payload flows in a trial, seconds.
const FLOW_SECONDS: f64 = 0.2;

/// Workloads over each. A service translates each lookup anew.
const WORKLOADS: [&str; 3] = ["tcp-rr", "udp-rr", "dns-rr"];

fn measure_all(cluster: &Cluster, service_proxy: &str) {
    let asked = ["--network", ALL, "--workload", &WORKLOADS.join(",")];
    let short = ["--blocks", "1", "--duration", "200ms", "--out", "all"];
    let document = cluster.measure(&[&asked[..], &short].concat());
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    for network in ALL.split(',') {
        for workload in WORKLOADS {
            let cell = list(&document, "cells").iter().find(|cell| {
                cell["network"] == network
                    && cell["workload"] == workload
                    && cell["metric"] == "transactions"
            });
            let mean = cell.and_then(|cell| cell["mean"].as_f64());
            assert!(mean.is_some_and(|mean| mean > 0.0), "{network} {workload}: {cell:?}");
        }
    }
    let pod = ["client-0:eth0", "node-0:pod network", "server-0:eth0"];
    assert_eq!(hops(&document, "k8s:pod"), pod);
    assert_eq!(hops(&document, "k8s:host"), ["client-0:eth0", "server-0:eth0"]);
    assert_eq!(hops(&document, "k8s:host-same-node"), ["client-0:lo"]);
    assert_eq!(hops(&document, "k8s:service")[1], "node-0:service");
    for network in ["k8s:host", "k8s:pod", "k8s:service", "k8s:nodeport"] {
        let pair = known_nodes(&document, network);
        for end in ["client", "server"] {
            let mode = &pair[end]["service_proxy"];
            // A pod that has a network namespace of its own does not see its node's.
            let expected = if network == "k8s:host" { service_proxy.into() } else { Value::Null };
            assert_eq!(*mode, expected, "{network}: {pair}");
        }
    }
    cluster.expect_nothing_left();
}

/// Returns the pair of nodes of a network, of which both have this machine's kernel.
fn known_nodes<'a>(document: &'a Value, network: &str) -> &'a Value {
    let cells = list(document, "cells").iter().filter(|cell| cell["network"] == network);
    let mut pairs = cells.flat_map(|cell| list(cell, "findings")).filter(is_node_pair);
    let pair = pairs.next().unwrap_or_else(|| panic!("{network} has no pair of nodes: {document}"));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    for end in ["client", "server"] {
        assert_eq!(pair[end]["kernel"], kernel.trim(), "{network}: {pair}");
        assert!(pair[end]["cores"].as_u64() >= Some(1), "{network}: {pair}");
    }
    pair
}

fn is_node_pair(finding: &&Value) -> bool {
    finding["kind"] == "node-pair"
}

#[test]
fn every_network_is_measured_over_routes_and_iptables() {
    measure_all(&Cluster::start(PodRoutes::Direct, ProxyMode::Iptables), "iptables");
}

#[test]
fn every_network_is_measured_over_tunnels_and_nftables() {
    measure_all(&Cluster::start(PodRoutes::Vxlan, ProxyMode::Nftables), "nftables");
}

#[test]
fn pods_are_measured_over_flannel_which_is_named() {
    let cluster = Cluster::start(PodRoutes::Flannel, ProxyMode::Iptables);
    let asked = ["--network", "k8s:host,k8s:pod,k8s:service", "--workload", "tcp-rr,udp-rr"];
    let short = ["--blocks", "1", "--duration", "200ms", "--out", "flannel"];
    let before = cluster.packets_sent_by_first_node("flannel.1");
    let document = cluster.measure(&[&asked[..], &short].concat());
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    let pair = known_nodes(&document, "k8s:host");
    for end in ["client", "server"] {
        assert_eq!(pair[end]["network_plugin"], "flannel", "{pair}");
    }
    // Every transaction over pods sends a packet from each node. The rate is that after the warm-up, so half of it is safe.
    let counted: f64 = list(&document, "cells")
        .iter()
        .filter(|cell| cell["metric"] == "transactions" && cell["network"] != "k8s:host")
        .filter_map(|cell| cell["mean"].as_f64())
        .map(|rate| rate * FLOW_SECONDS / 2.0)
        .sum();
    let sent = cluster.packets_sent_by_first_node("flannel.1") - before;
    assert!(counted > 0.0 && sent as f64 >= counted, "{sent} packets for {counted} transactions");
    cluster.expect_nothing_left();
}
