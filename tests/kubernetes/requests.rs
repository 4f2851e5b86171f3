//! Requests of a run, as the API server counts them: few, and no more with more blocks.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most requests that one network on one pair of nodes may take.
const MOST: usize = 20;

/// Requests of tare's by verb and resource.
type Requests = BTreeMap<String, usize>;

/// Returns the requests that the API server has answered so far. kubectl's are not tare's.
fn answered(cluster: &Cluster) -> Requests {
    let log = std::fs::read_to_string(cluster.path("log/audit")).expect("a log");
    let mut requests = Requests::new();
    for line in log.lines() {
        let Ok(request) = serde_json::from_str::<Value>(line) else { continue };
        let agent = request["userAgent"].as_str().unwrap_or_default();
        if request["user"]["username"] == "admin" && !agent.starts_with("kubectl") {
            let object = &request["objectRef"];
            let words = [&request["verb"], &object["resource"], &object["subresource"]];
            let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
            *requests.entry(words.join(" ")).or_default() += 1;
        }
    }
    requests
}

/// Returns the requests of one run with a number of blocks.
fn requests_of_run(cluster: &Cluster, blocks: &str) -> Requests {
    let before = answered(cluster);
    let run = ["--network", "k8s:pod", "--workload", "tcp-rr", "--duration", "200ms"];
    cluster.measure(&[&run[..], &["--blocks", blocks, "--out", blocks]].concat());
    let mut requests = answered(cluster);
    for (kind, count) in &mut requests {
        *count -= before.get(kind).copied().unwrap_or_default();
    }
    requests.retain(|_, count| *count > 0);
    requests
}

#[test]
fn a_run_takes_few_requests_and_as_many_with_one_block_as_with_many() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let few = requests_of_run(&cluster, "1");
    let total: usize = few.values().sum();
    assert!((1..=MOST).contains(&total), "{total} requests: {few:?}");
    // A watch that the API server ends after its time is begun again, with a list before it.
    let lasting = |requests: &Requests| {
        let is_lasting = |kind: &&String| !kind.starts_with("list") && !kind.starts_with("watch");
        let lasting = requests.iter().filter(|(kind, _)| is_lasting(kind));
        lasting.map(|(kind, count)| (kind.clone(), *count)).collect::<Requests>()
    };
    let many = requests_of_run(&cluster, "12");
    assert_eq!(lasting(&many), lasting(&few), "{many:?}");
    cluster.expect_nothing_left();
}
