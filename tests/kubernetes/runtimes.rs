//! Runtime classes: pods are started by the runtime that is asked for.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use support::list;

/// Runtime class of the nodes' only runtime.
const SECOND: &str =
    "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: second}, handler: runc}";

#[test]
fn pods_have_the_runtime_class_that_is_asked_for() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let once = ["--workload", "tcp-rr", "--blocks", "1", "--duration", "200ms", "--out"];
    let unknown =
        [&["run", "--network", "k8s:pod+runtime=second"], &once[..], &["unknown"]].concat();
    let told = cluster.start_tare("admin", &unknown).wait().expect(1).text();
    assert!(told.contains("second") && told.contains("kubectl get runtimeclasses"), "{told}");

    cluster.apply(SECOND);
    let long = ["--workload", "tcp-rr", "--blocks", "1000", "--duration", "200ms", "--out"];
    let both = ["run", "--network", "k8s:pod,k8s:pod+runtime=second"];
    let mut run = cluster.start_tare("admin", &[&both[..], &long, &["second"]].concat());
    run.wait_for("block 1 ");
    let classes = cluster.kubectl(&[
        "get",
        "pods",
        "--selector",
        "tare.run",
        "--output",
        "jsonpath={range .items[*]}[{.spec.runtimeClassName}]{end}",
    ]);
    assert_eq!(classes.matches("[second]").count(), 2, "{classes}");
    assert_eq!(classes.matches("[]").count(), 2, "{classes}");
    run.signal(rustix::process::Signal::INT);
    run.wait();
    let report = cluster.start_tare("admin", &["report", "second", "--json"]).wait();
    let document: Value = report.expect(0).json();
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    cluster.expect_nothing_left();
}

#[test]
fn a_pod_that_its_node_cannot_start_is_given_up_with_the_nodes_own_reason() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    cluster.apply(
        "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: third}, handler: absent}",
    );
    let run = ["run", "--network", "k8s:host,k8s:pod+runtime=third", "--workload", "tcp-rr"];
    let once = ["--blocks", "1", "--duration", "200ms", "--out", "absent"];
    cluster.start_tare("admin", &[&run[..], &once].concat()).wait();
    let report = cluster.start_tare("admin", &["report", "absent", "--json"]).wait();
    let document: Value = report.expect(0).json();
    let failed = list(&document, "failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    let reason = failed[0]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("FailedCreatePodSandBox") && reason.contains("absent"),
        "the node's reason is missing: {reason}"
    );
    let remedy = failed[0]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("kubectl get events"), "{remedy}");
    cluster.expect_nothing_left();
}
