//! A run within the cluster that it weighs, as a Job.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use support::schema::repository;

#[test]
fn a_job_weighs_its_own_cluster() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let made = ["pod-security.kubernetes.io/enforce=restricted"];
    cluster.kubectl(&["label", "namespace", "default", made[0]]);
    let files = repository().join("packaging/kubernetes");
    let rendered = cluster.kubectl(&["kustomize", &files.to_string_lossy()]);
    // Shorter than for users.
    let short = "- --network\n        - k8s:pod,k8s:service\n        - --blocks\n        - \"2\"\n        - --slice\n        - \"off\"\n        - --duration\n        - 300ms\n";
    let quick = "- --quick\n        - --network\n        - k8s:pod,k8s:service,k8s:nodeport,k8s:pod-same-node\n";
    assert!(rendered.contains(quick), "{rendered}");
    cluster.apply(&rendered.replace(quick, short));
    cluster.kubectl(&["wait", "--for=condition=complete", "job/tare", "--timeout=120s"]);
    let log = cluster.kubectl(&["logs", "job/tare"]);
    assert!(log.contains("k8s:service") && log.contains("tcp-stream"), "{log}");
    cluster.expect_nothing_left();
}
