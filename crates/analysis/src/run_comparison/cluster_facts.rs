//! Facts of the Kubernetes cluster on which networks of a run are.

use std::collections::{BTreeMap, BTreeSet};
use tare_record::finding::NodePairFacts;
use tare_record::{Document, Finding, NodeFacts};

/// Fact of the programs of the cluster's network, which only some users of a cluster may list.
pub(super) const NETWORK_DAEMONS: &str = "cluster:network-daemons";

/// Returns the facts of the cluster and of the nodes at both ends; none if no network is in a cluster.
pub(super) fn cluster_facts(document: &Document) -> BTreeMap<String, String> {
    let Some(cluster) = &document.environment.cluster else { return BTreeMap::new() };
    let of_cluster = [("identity", &cluster.identity), ("version", &cluster.version)];
    let of_cluster = of_cluster.map(|(name, value)| (format!("cluster:{name}"), value.clone()));
    let raised = ("cluster:raised".to_owned(), cluster.pods.raised_anew().to_owned());
    let daemons = (!cluster.network_daemons.is_empty())
        .then(|| (NETWORK_DAEMONS.to_owned(), cluster.network_daemons.join(", ")));
    let facts = of_cluster.into_iter().chain([raised]).chain(daemons);
    facts.chain(node_facts(document)).collect()
}

/// Returns what pods saw of their nodes. Pods that see less, and other blocks, do not make it another value.
fn node_facts(document: &Document) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let pairs = document.cells.iter().flat_map(|cell| &cell.findings);
    for finding in pairs {
        let Finding::NodePairFacts(NodePairFacts { client, server }) = finding else { continue };
        for (end, facts) in [("client", client), ("server", server)] {
            let machine = NodeFacts { service_proxy: None, network_plugin: None, ..facts.clone() };
            // The scheduler may choose another node that is like it.
            let told = [
                (format!("node:{end}"), Some(machine.to_string())),
                ("cluster:kube-proxy".to_owned(), facts.service_proxy.clone()),
                ("cluster:network-plugin".to_owned(), facts.network_plugin.clone()),
            ];
            for (name, value) in told {
                values.entry(name).or_default().extend(value);
            }
        }
    }
    let known = values.into_iter().filter(|(_, values)| !values.is_empty());
    known.map(|(name, values)| (name, values.into_iter().collect::<Vec<_>>().join(" "))).collect()
}
