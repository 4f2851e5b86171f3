//! DaemonSets of the cluster's network: in the record of users who may list them.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use crate::rights::role;
use serde_json::{Value, json};

/// Returns a DaemonSet that no node has.
fn daemon_set(name: &str, image: &str) -> String {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeSelector": {"none": "such"}, "containers": [{"name": "main", "image": image}]},
            },
        },
    })
    .to_string()
}

#[test]
fn the_network_s_daemons_are_recorded_where_they_may_be_listed() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    for (name, image) in [
        ("kube-flannel-ds", "registry.example:5000/flannel/flannel:v0.27.4-acme"),
        ("kube-proxy", "registry.k8s.io/kube-proxy:v1.35.3@sha256:0d"),
        ("node-exporter", "prom/node-exporter:v1.10.2"),
    ] {
        cluster.apply(&daemon_set(name, image));
    }
    cluster.apply(&role(&cluster));
    let daemons = |user: &str| -> Value {
        let run =
            ["run", "--json", "--network", "k8s:pod", "--workload", "tcp-rr", "--blocks", "1"];
        let short = ["--duration", "200ms", "--out", user];
        let run = cluster.start_tare(user, &[&run[..], &short].concat());
        run.wait().expect(0).json()["environment"]["cluster"]["network_daemons"].clone()
    };
    assert_eq!(daemons("admin"), json!(["flannel v0.27.4", "kube-proxy v1.35.3"]));
    assert_eq!(daemons("user"), Value::Null, "a user of one namespace");
    cluster.expect_nothing_left();
}
