//! Requests of a run, as the API server counts them: few, and no more with more blocks.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::list;

/// Most requests that one network on one pair of nodes may take.
const MOST: usize = 20;

/// Requests of tare's by verb and resource.
type Requests = BTreeMap<String, usize>;

/// Returns tare's requests that the API server has answered so far, as its audit log has them. kubectl's are not tare's.
fn requests(cluster: &Cluster) -> impl Iterator<Item = Value> {
    let log = std::fs::read_to_string(cluster.path("log/audit")).expect("a log");
    let all: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    all.into_iter().filter(|request| {
        let agent = request["userAgent"].as_str().unwrap_or_default();
        request["user"]["username"] == "admin" && !agent.starts_with("kubectl")
    })
}

/// Returns the number of requests that the API server has answered so far.
fn answered(cluster: &Cluster) -> Requests {
    let mut counts = Requests::new();
    for request in requests(cluster) {
        let object = &request["objectRef"];
        let words = [&request["verb"], &object["resource"], &object["subresource"]];
        let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
        *counts.entry(words.join(" ")).or_default() += 1;
    }
    counts
}

/// Returns the addresses of tare's requests for lists of ConfigMaps, in their order.
fn lists_of_owners(cluster: &Cluster) -> Vec<String> {
    requests(cluster)
        .filter(|one| one["verb"] == "list" && one["objectRef"]["resource"] == "configmaps")
        .map(|one| one["requestURI"].as_str().expect("an address").to_owned())
        .collect()
}

/// Returns the requests of one run with a number of blocks, and its result.
fn requests_of_run(cluster: &Cluster, blocks: &str, more: &[&str]) -> (Requests, Value) {
    let before = answered(cluster);
    let run = ["--network", "k8s:pod", "--workload", "tcp-rr", "--duration", "200ms"];
    let document =
        cluster.measure(&[&run[..], &["--blocks", blocks, "--out", blocks], more].concat());
    let mut requests = answered(cluster);
    for (kind, count) in &mut requests {
        *count -= before.get(kind).copied().unwrap_or_default();
    }
    requests.retain(|_, count| *count > 0);
    (requests, document)
}

#[test]
fn a_run_takes_few_requests_and_as_many_with_one_block_as_with_many() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let (few, _) = requests_of_run(&cluster, "1", &[]);
    let total: usize = few.values().sum();
    assert!((1..=MOST).contains(&total), "{total} requests: {few:?}");
    // A watch that the API server ends after its time is begun again, with a list before it.
    let lasting = |requests: &Requests| {
        let is_lasting = |kind: &&String| !kind.starts_with("list") && !kind.starts_with("watch");
        let lasting = requests.iter().filter(|(kind, _)| is_lasting(kind));
        lasting.map(|(kind, count)| (kind.clone(), *count)).collect::<Requests>()
    };
    let (many, _) = requests_of_run(&cluster, "12", &[]);
    assert_eq!(lasting(&many), lasting(&few), "{many:?}");
    cluster.expect_nothing_left();
}

#[test]
fn pods_are_made_anew_with_each_block_where_they_are_raised() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let (requests, document) = requests_of_run(
        &cluster,
        "3",
        &["--raise", "pods", "--metric", "transactions,raise_ms,remove_ms"],
    );
    let pods = ["create pods", "delete pods"].map(|kind| requests.get(kind).copied());
    assert_eq!(pods, [Some(2 * 3); 2], "{requests:?}");
    assert_eq!(document["environment"]["cluster"]["pods"], "block");
    let setup = list(&document, "cells").iter().find(|cell| cell["metric"] == "raise_ms");
    let setup = setup.expect("the time until the pods run");
    assert_eq!(setup["n"], 3, "{setup}");
    let journal = cluster.path("3/journal.jsonl");
    let whole = std::fs::read_to_string(&journal).expect("a journal");
    let head = whole.lines().next().expect("a first line");
    std::fs::write(&journal, format!("{head}\n")).expect("the journal of a run that was cut off");
    let refused = cluster.start_tare("admin", &["resume", "3"]).wait().expect(2);
    assert!(refused.stderr.contains("give --raise pods"), "{}", refused.stderr);
    cluster.expect_nothing_left();
}

#[test]
fn what_many_runs_left_is_listed_by_pages() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    // One more than a page has, too young to be removed.
    let names: Vec<String> = (0..501).map(|number| format!("left{number:03}")).collect();
    let owner = |name: &String| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": format!("tare-{name}"), "labels": {"tare.run": name}},
        })
    };
    let all: Vec<Value> = names.iter().map(owner).collect();
    cluster.apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string());
    let told = cluster.start_tare("admin", &["clean", "--kubernetes", "--yes"]).wait().expect(0);
    for name in &names {
        assert!(told.stderr.contains(&format!("run {name} may still be under way")), "{name}");
    }
    let lists = lists_of_owners(&cluster);
    let pages: Vec<bool> = lists.iter().map(|address| address.contains("continue=")).collect();
    assert_eq!(pages, [false, true], "{lists:?}");
}
