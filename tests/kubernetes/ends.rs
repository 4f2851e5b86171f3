//! Runs end in every way, and nothing of them is left.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use rustix::process::Signal;
use serde_json::Value;
use support::{eventually, list};

const LONG: [&str; 12] = [
    "run",
    "--network",
    "k8s:host,k8s:pod",
    "--workload",
    "tcp-rr",
    "--blocks",
    "1000",
    "--duration",
    "500ms",
    "--slice",
    "off",
    "--out",
];

/// Returns the document of a run that has ended.
fn reported(cluster: &Cluster, directory: &str) -> Value {
    cluster.start_tare("admin", &["report", directory, "--json"]).wait().expect(0).json()
}

#[test]
fn a_run_that_ends_by_a_signal_leaves_nothing() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    for (signal, directory) in [(Signal::INT, "interrupted"), (Signal::KILL, "killed")] {
        let mut run = cluster.start_tare("admin", &[&LONG[..], &[directory]].concat());
        run.wait_for("block 2 done");
        assert!(!cluster.leftovers().is_empty(), "pods are there while it runs");
        run.signal(signal);
        run.wait();
        cluster.expect_nothing_left();
    }
}

#[test]
fn a_pod_that_is_deleted_costs_its_trial_alone() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let arguments = [
        "run",
        "--network",
        "k8s:pod",
        "--workload",
        "tcp-rr",
        "--blocks",
        "8",
        "--duration",
        "1s",
        "--slice",
        "off",
        "--out",
        "evicted",
    ];
    let mut run = cluster.start_tare("admin", &arguments);
    run.wait_for("block 2 of 8 done");
    let pods =
        cluster.kubectl(&["get", "pods", "--selector", "tare.role=server", "--output", "name"]);
    cluster.kubectl(&["delete", &pods, "--grace-period", "1"]);
    let outcome = run.wait().expect(0);
    assert!(outcome.stderr.contains("is tried once again"), "{}", outcome.stderr);
    let document = reported(&cluster, "evicted");
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(document["blocks"], 8, "the trial was made again on new pods");
    cluster.expect_nothing_left();
}

#[test]
fn a_cluster_whose_api_server_is_away_costs_no_trial() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let arguments = [
        "run",
        "--network",
        "k8s:pod",
        "--workload",
        "tcp-rr",
        "--blocks",
        "4",
        "--duration",
        "5s",
        "--slice",
        "off",
        "--out",
        "away",
    ];
    let mut run = cluster.start_tare("admin", &arguments);
    run.wait_for("block 1 of 4 done");
    cluster.stop_api();
    // A trial begins and ends meanwhile: its report waits in the pod.
    std::thread::sleep(std::time::Duration::from_secs(60));
    cluster.start_api();
    run.wait().expect(0);
    let document = reported(&cluster, "away");
    assert_eq!(
        document["failures"].as_array().map(Vec::len).unwrap_or_default(),
        0,
        "{}",
        document["failures"]
    );
    eventually("the API server answers", || {
        let answer = cluster
            .command("admin", support::program::binary())
            .args(["list", "networks"])
            .output();
        let text = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.is_ok_and(|text| text.contains("k8s:pod "))
    });
    cluster.expect_nothing_left();
}
