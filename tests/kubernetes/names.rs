//! Lookups by the cluster's own resolver.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use support::list;

#[test]
fn the_cluster_s_resolver_is_asked_from_pods_and_from_nodes() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    cluster.start_resolver();
    let lookups = |name, directory| {
        let asked = ["--network", "k8s:host,k8s:pod", "--workload", "dns-rr", "--blocks", "1"];
        let of_cluster = ["--duration", "200ms", "--resolver", "system", "--query-name", name];
        [&asked[..], &of_cluster, &["--out", directory]].concat()
    };
    let document = cluster.measure(&lookups("kubernetes.default.svc.cluster.local", "known"));
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    for network in ["k8s:host", "k8s:pod"] {
        let rate = list(&document, "cells")
            .iter()
            .find(|cell| cell["network"] == network && cell["metric"] == "transactions")
            .and_then(|cell| cell["mean"].as_f64());
        assert!(rate.is_some_and(|rate| rate > 0.0), "{network}: {document}");
    }
    for trial in support::journal::trials(&cluster.path("known")) {
        assert_eq!(trial["parameters"]["resolver_address"], "10.96.0.10:53", "{trial}");
    }
    let unknown = lookups("nowhere.default.svc.cluster.local", "unknown");
    let asked = [&["run"], &unknown[..]].concat();
    let told = cluster.start_tare("admin", &asked).wait().expect(1).text();
    assert!(told.contains("NXDOMAIN"), "{told}");
    cluster.expect_nothing_left();
}
