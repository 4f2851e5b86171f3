//! Network policies: a cluster that enforces none is refused, and one that does is measured.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use rustix::process::Signal;
use serde_json::Value;
use support::{hops, list};

#[test]
fn policies_are_measured_only_where_they_are_enforced() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let once = ["--workload", "tcp-crr", "--blocks", "1", "--duration", "200ms", "--out"];
    let unenforced = [&["run", "--network", "k8s:policy"], &once[..], &["unenforced"]].concat();
    let told = cluster.start_tare("admin", &unenforced).wait().expect(1).text();
    let why = "after a NetworkPolicy that admits nobody, client-0 still reaches";
    assert!(told.contains(why) && told.contains("install a network plugin"), "{told}");
    cluster.expect_nothing_left();

    cluster.enforce_policies();
    let networks = "k8s:pod,k8s:policy,k8s:policy+policies=20";
    let document = cluster.measure(&[&["--network", networks], &once[..], &["enforced"]].concat());
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    let path = ["client-0:eth0", "node-0:pod network", "node-1:network policy", "server-0:eth0"];
    for (network, policies) in
        [("k8s:policy", "policies: 1"), ("k8s:policy+policies=20", "policies: 20")]
    {
        assert_eq!(hops(&document, network), path);
        let cell = list(&document, "cells").iter().find(|cell| cell["network"] == network);
        let hop = &list(cell.expect("it was measured"), "hops")[2];
        assert_eq!(hop["detail"], policies);
    }
    cluster.expect_nothing_left();

    let long = ["--workload", "tcp-rr", "--blocks", "1000", "--duration", "200ms", "--out"];
    let killed = [&["run", "--network", "k8s:policy+policies=3"], &long[..], &["killed"]].concat();
    let mut run = cluster.start_tare("admin", &killed);
    run.wait_for("block 1 ");
    assert_eq!(cluster.leftovers().matches("networkpolicy").count(), 3);
    run.signal(Signal::KILL);
    run.wait();
    cluster.expect_nothing_left();
}
