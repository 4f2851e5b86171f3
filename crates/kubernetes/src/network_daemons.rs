//! Programs of the cluster's network that DaemonSets run on its nodes: plugins, proxies, name caches. Most users of one
//! namespace may not list DaemonSets of all; for them the record has what pods see of a plugin.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::ListParams;
use kube::{Api, Client};
use std::collections::BTreeSet;

/// DaemonSets that are part of a cluster's network, by the names that their makers give them, and what they run.
const NETWORK_DAEMONS: [(&str, &str); 22] = [
    ("anetd", "GKE Dataplane V2"),
    ("antrea-agent", "Antrea"),
    ("aws-node", "Amazon VPC CNI"),
    ("azure-cns", "Azure CNI"),
    ("calico-node", "Calico"),
    ("canal", "Canal"),
    ("cilium", "Cilium"),
    ("istio-cni-node", "Istio CNI"),
    ("kindnet", "kindnet"),
    ("kube-flannel", "flannel"),
    ("kube-flannel-ds", "flannel"),
    ("kube-multus-ds", "Multus"),
    ("kube-proxy", "kube-proxy"),
    ("kube-router", "kube-router"),
    ("linkerd-cni", "Linkerd CNI"),
    ("node-local-dns", "NodeLocal DNSCache"),
    ("nodelocaldns", "NodeLocal DNSCache"),
    ("ovnkube-node", "OVN-Kubernetes"),
    ("ovs-ovn", "Kube-OVN"),
    ("rke2-canal", "Canal"),
    ("weave-net", "Weave Net"),
    ("ztunnel", "Istio ambient mesh"),
];

/// Most DaemonSets that are looked at: clusters have tens of them.
const MOST: u32 = 500;

/// Returns the programs of the cluster's network with their versions, in alphabetical order. Returns none where this user
/// may not list them: the record is worse for it, the run is not.
pub(crate) async fn network_daemons(client: Client) -> Vec<String> {
    let all: Api<DaemonSet> = Api::all(client);
    match all.list(&ListParams::default().limit(MOST)).await {
        Ok(listed) => named_daemons(&listed.items),
        Err(_) => Vec::new(),
    }
}

fn named_daemons(daemons: &[DaemonSet]) -> Vec<String> {
    let known: BTreeSet<String> = daemons.iter().filter_map(named_daemon).collect();
    known.into_iter().collect()
}

/// Returns what a DaemonSet runs, if it is part of the network.
fn named_daemon(daemon: &DaemonSet) -> Option<String> {
    let name = daemon.metadata.name.as_deref()?;
    let (_, program) = NETWORK_DAEMONS.iter().find(|(known, _)| *known == name)?;
    let pod = daemon.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let image = pod.and_then(|pod| pod.containers.first()?.image.as_deref());
    Some(match image.and_then(image_version) {
        Some(version) => format!("{program} {version}"),
        None => (*program).to_owned(),
    })
}

/// Returns the version in an image's tag: numbers with points between them, perhaps after a `v`. What a registry of one's
/// own adds is left out.
fn image_version(image: &str) -> Option<&str> {
    let tagged = image.split('@').next()?;
    let (_, tag) = tagged.rsplit('/').next()?.split_once(':')?;
    let numbers = tag.strip_prefix('v').unwrap_or(tag);
    let is_part = |one: char| one.is_ascii_digit() || one == '.';
    let length = numbers.find(|one| !is_part(one)).unwrap_or(numbers.len());
    let version = &tag[..tag.len() - numbers.len() + length];
    let version = version.trim_end_matches('.');
    version.contains(|one: char| one.is_ascii_digit()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn daemon(name: &str, image: &str) -> DaemonSet {
        crate::objects::typed(json!({
            "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {
                "selector": {},
                "template": {"spec": {"containers": [{"name": "main", "image": image}]}},
            },
        }))
    }

    #[test]
    fn the_network_s_daemons_are_named_with_their_versions() {
        let daemons = [
            daemon("kube-proxy", "registry.k8s.io/kube-proxy:v1.35.0"),
            daemon("cilium", "quay.io/cilium/cilium:v1.19.1@sha256:0123"),
            daemon("cilium-envoy", "quay.io/cilium/cilium-envoy:v1.35.9"),
            daemon("node-exporter", "prom/node-exporter:v1.10.0"),
        ];
        assert_eq!(named_daemons(&daemons), ["Cilium v1.19.1", "kube-proxy v1.35.0"]);
        assert_eq!(named_daemons(&[]), [] as [&str; 0]);
    }

    #[test]
    fn a_version_is_the_number_in_the_tag() {
        let version = |image| image_version(image);
        assert_eq!(version("localhost:5000/flannel:v0.27.4-acme"), Some("v0.27.4"));
        assert_eq!(version("flannel:0.27."), Some("0.27"));
        for without in ["localhost:5000/flannel", "flannel", "flannel:latest", "flannel:v", "f:"] {
            assert_eq!(version(without), None, "{without}");
        }
    }

    #[test]
    fn names_are_in_order_and_known_once() {
        let names = NETWORK_DAEMONS.map(|(name, _)| name);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
