//! Objects that `tare run --dry-run=client` prints, beside those that the run makes.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use std::collections::BTreeSet;

/// Run of which objects are printed and made.
const RUN: [&str; 9] = [
    "run",
    "--network",
    "k8s:pod,k8s:service,k8s:policy+policies=2",
    "--workload",
    "tcp-rr",
    "--blocks",
    "1",
    "--duration",
    "200ms",
];

/// Returns the objects that tare has made so far, as the API server's audit log has them, with the run's number left out.
fn made(cluster: &Cluster) -> BTreeSet<String> {
    let log = std::fs::read_to_string(cluster.path("log/audit")).expect("a log");
    let requests = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let created = requests.filter(|one| {
        one["verb"] == "create" && one["objectRef"]["name"].as_str().is_some_and(is_of_run)
    });
    let name = |request: Value| {
        let (object, kind) = (&request["objectRef"], request["objectRef"]["resource"].clone());
        // tare-RUN or tare-RUN-NETWORK-…
        let mut words = object["name"].as_str().expect("a name").splitn(3, '-');
        let of_network = words.nth(2).unwrap_or_default();
        format!("{} {of_network}", kind.as_str().expect("a resource"))
    };
    created.map(name).collect()
}

fn is_of_run(name: &str) -> bool {
    name.starts_with("tare-")
}

#[test]
fn the_printed_objects_are_those_that_a_run_makes() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    cluster.enforce_policies();
    let dry = [&RUN[..], &["--dry-run=client", "-o", "yaml"]].concat();
    let printed = cluster.start_tare("admin", &dry).wait().expect(0).text();
    assert_eq!(made(&cluster), BTreeSet::new(), "nothing is made by printing");
    cluster.start_tare("admin", &[&RUN[..], &["--out", "made"]].concat()).wait().expect(0);
    cluster.expect_nothing_left();
    let made = made(&cluster);

    let file = cluster.path("printed.yaml");
    std::fs::write(&file, &printed).unwrap();
    let create = ["create", "--validate=strict", "--output", "name", "--filename"];
    let created = cluster.kubectl(&[&create[..], &[&file.to_string_lossy()]].concat());
    let named = |line: &str| {
        let (kind, name) = line.split_once('/').expect("a kind and a name");
        let kind = match kind {
            "networkpolicy.networking.k8s.io" => "networkpolicies".to_owned(),
            plain => format!("{plain}s"),
        };
        format!("{kind} {}", name.splitn(3, '-').nth(2).unwrap_or_default())
    };
    assert_eq!(created.lines().map(named).collect::<BTreeSet<String>>(), made, "{printed}");
    // They run as they are: node by node, under the same rules.
    let (kinds, run) = ("pods,services,networkpolicies,configmaps", "tare.run=example");
    cluster.kubectl(&[
        "wait",
        "--for=condition=Ready",
        "pods",
        "--selector",
        run,
        "--timeout=120s",
    ]);
    cluster.kubectl(&["delete", kinds, "--selector", run]);
    cluster.expect_nothing_left();
}
