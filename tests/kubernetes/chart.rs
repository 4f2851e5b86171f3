//! The chart, installed by helm as a user of one namespace has it.

use crate::cluster::{Cluster, PodRoutes, ProxyMode, programs};
use support::eventually;
use support::program::{User, tied_command};
use support::schema::repository;

/// Values by which a release's run is shorter than for users.
const SHORT: &str = "arguments=[\"--network\",\"k8s:pod,k8s:service\",\"--blocks\",\"2\",\"--slice\",\"off\",\"--duration\",\"300ms\"]";

/// Returns what helm says.
#[track_caller]
fn helm(cluster: &Cluster, arguments: &[&str]) -> String {
    let mut command = cluster.command("admin", programs().join("helm"));
    // helm keeps files of its own in the user's home directory.
    command
        .env("HELM_CACHE_HOME", cluster.path("helm"))
        .env("HELM_CONFIG_HOME", cluster.path("helm"));
    command.env("HELM_DATA_HOME", cluster.path("helm"));
    let output = command.args(arguments).output().expect("it starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "helm {arguments:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn chart() -> String {
    repository().join("packaging/kubernetes/chart").to_string_lossy().into_owned()
}

/// Decodes base64 with the program that the chart's notes name.
fn decoded(cluster: &Cluster, text: &str) -> Vec<u8> {
    let file = cluster.path("base64");
    std::fs::write(&file, text).unwrap();
    let output = tied_command(User::Caller, "base64").arg("--decode").arg(&file).output();
    let output = output.expect("base64 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn a_release_weighs_its_cluster_and_prints_its_bundle() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&["label", "namespace", "default", restricted]);
    let install = ["install", "weigh", &chart(), "--set-json", SHORT];
    let told = helm(&cluster, &[&install[..], &["--set", "bundle.enabled=true"]].concat());
    assert!(told.contains("logs --follow job/weigh-1 --container measure"), "{told}");
    cluster.kubectl(&["wait", "--for=condition=complete", "job/weigh-1", "--timeout=120s"]);
    let log = |container| cluster.kubectl(&["logs", "job/weigh-1", "--container", container]);
    let table = log("measure");
    assert!(table.contains("k8s:service") && table.contains("tcp-stream"), "{table}");
    std::fs::write(cluster.path("run.tar.gz"), decoded(&cluster, &log("bundle"))).unwrap();
    // It is checked against the sums that it holds.
    let shown = cluster.start_tare("admin", &["show", "run.tar.gz"]).wait().expect(0).text();
    assert!(shown.contains("k8s:service"), "{shown}");
    cluster.expect_nothing_left();
    // Another revision measures anew, as a Job cannot be changed.
    helm(&cluster, &["upgrade", "weigh", &chart(), "--set-json", SHORT]);
    cluster.kubectl(&["wait", "--for=condition=complete", "job/weigh-2", "--timeout=120s"]);
    helm(&cluster, &["uninstall", "weigh"]);
    eventually("the release is gone", || {
        let kinds = "jobs,pods,serviceaccounts,roles,rolebindings";
        let label = "app.kubernetes.io/instance=weigh";
        let left = cluster.kubectl(&["get", kinds, "--selector", label, "--output", "name"]);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
    cluster.expect_nothing_left();
}

#[test]
fn the_api_takes_all_that_the_chart_can_ask_for() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    helm(&cluster, &["lint", "--strict", &chart()]);
    let nightly = ["--set", "nightly.enabled=true,nightly.storageClass=fast"];
    let everything = "image.pullSecrets={one,two},priorityClassName=high,nodeSelector.pool=net,tolerations[0].operator=Exists,results.claim=kept,bundle.enabled=true,bundle.redact=true";
    let none: [&str; 0] = [];
    for (values, kinds) in [
        (&none[..], "ServiceAccount Role RoleBinding Job"),
        (&["--set", "rbac=false,account=other"], "Job"),
        (&["--set", everything], "ServiceAccount Role RoleBinding Job"),
        (&nightly, "ServiceAccount PersistentVolumeClaim Role RoleBinding CronJob Job"),
    ] {
        let rendered = helm(&cluster, &[&["template", "weigh", &chart()], values].concat());
        let file = cluster.path("rendered.yaml");
        std::fs::write(&file, &rendered).unwrap();
        // An unknown or misplaced field is refused.
        let checked = cluster.kubectl(&[
            "create",
            "--dry-run=server",
            "--validate=strict",
            "--output",
            "jsonpath={.kind}{\" \"}",
            "--filename",
            &file.to_string_lossy(),
        ]);
        let (mut found, mut expected): (Vec<&str>, Vec<&str>) =
            (checked.split_whitespace().collect(), kinds.split(' ').collect());
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{rendered}");
    }
}
