//! Runs end in every way, and nothing of them is left.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use support::machine::descendants;
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
        run.wait_for("block 2 ");
        assert!(!cluster.leftovers().is_empty(), "pods are there while it runs");
        run.signal(signal);
        run.wait();
        cluster.expect_nothing_left();
    }
}

#[test]
fn what_a_run_left_that_was_killed_with_its_reaper_is_found_and_removed() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let clean = |more: &[&str]| {
        let asked = [&["clean", "--kubernetes", "--yes"], more].concat();
        cluster.start_tare("admin", &asked).wait().expect(0)
    };
    assert!(clean(&[]).stderr.contains("no objects of ended runs are left"));
    let mut run = cluster.start_tare("admin", &[&LONG[..], &["killed"]].concat());
    run.wait_for("block 1 ");
    let reapers = descendants(run.pid(), "kubernetes-reaper");
    assert_eq!(reapers.len(), 1, "one watches the run");
    kill_process(reapers[0], Signal::KILL).expect("it is ours");
    run.signal(Signal::KILL);
    run.wait();
    let label = "jsonpath={.items[0].metadata.labels.tare\\.run}";
    let id = cluster.kubectl(&["get", "configmaps", "--selector", "tare.run", "--output", label]);

    let kept = clean(&[]);
    assert!(kept.stderr.contains(&format!("run {id} may still be under way")), "{kept:?}");
    assert!(!cluster.leftovers().is_empty(), "its pods run");
    let removed = clean(&["--run", &id]);
    assert!(removed.text().contains(&format!("configmap  tare-{id}  of run {id}")), "{removed:?}");
    cluster.expect_nothing_left();
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
