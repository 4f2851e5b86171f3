//! Nodes at both ends of a path, as pods on them see them: a pod in its node's network namespace sees what the cluster's
//! network is made of, too.

use crate::objects::PodNetwork;
use crate::path_proof::{ProvenPath, ask_probe};
use crate::running_pod::RunningPod;
use tare_netns_probe::NetnsSnapshot;
use tare_record::finding::NodePairFacts;
use tare_record::{Finding, NodeFacts};

/// Address at which kube-proxy tells its mode to programs on its node: its default (`metricsBindAddress`).
const KUBE_PROXY: &str = "127.0.0.1:10249";

/// Devices that network plugins make on a node, by the beginning of their names, and the plugin.
const PLUGIN_DEVICES: [(&str, &str); 9] = [
    ("cilium_host", "Cilium"),
    ("vxlan.calico", "Calico"),
    ("cali", "Calico"),
    ("flannel", "flannel"),
    ("weave", "Weave Net"),
    ("ovn-k8s-mp0", "OVN-Kubernetes"),
    ("antrea-gw0", "Antrea"),
    ("kube-bridge", "kube-router"),
    ("eni", "Amazon VPC CNI"),
];

/// Ends of a path, and the network namespaces in which their pods are.
pub(super) struct PathEnds<'a> {
    pub(super) client: &'a RunningPod,
    pub(super) server: &'a RunningPod,
    pub(super) pod_network: PodNetwork,
}

impl PathEnds<'_> {
    /// Returns the finding of the nodes at both ends.
    pub(super) fn node_pair(&self, proven: &ProvenPath) -> Finding {
        Finding::NodePairFacts(NodePairFacts {
            client: self.facts(self.client, &proven.client),
            server: self.facts(self.server, &proven.server),
        })
    }

    fn facts(&self, pod: &RunningPod, seen: &NetnsSnapshot) -> NodeFacts {
        let of_machine = NodeFacts {
            name: Some(pod.node.clone()),
            zone: pod.zone.clone(),
            kernel: seen.kernel.clone(),
            processor: seen.processor.clone(),
            cores: seen.cores,
            ..NodeFacts::default()
        };
        match self.pod_network {
            PodNetwork::Cluster => of_machine,
            PodNetwork::Host => NodeFacts {
                service_proxy: ask_service_proxy(pod),
                network_plugin: network_plugin(seen),
                ..of_machine
            },
        }
    }
}

/// Returns the mode of the kube-proxy on a pod's node. A cluster may have none, or a replacement that does not answer.
fn ask_service_proxy(pod: &RunningPod) -> Option<String> {
    let asked = ask_probe(pod, &["--service-proxy", KUBE_PROXY], "ask kube-proxy for its mode");
    asked.ok()?.service_proxy
}

/// Returns the network plugins whose devices a node has.
fn network_plugin(seen: &NetnsSnapshot) -> Option<String> {
    let mut plugins: Vec<&str> = PLUGIN_DEVICES
        .into_iter()
        .filter(|(start, _)| seen.devices.iter().any(|device| device.name.starts_with(start)))
        .map(|(_, plugin)| plugin)
        .collect();
    plugins.dedup();
    (!plugins.is_empty()).then(|| plugins.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_netns_probe::DeviceSnapshot;

    #[test]
    fn a_plugin_is_known_by_the_devices_that_it_makes() {
        let plugin = |names: &[&str]| {
            let device = |name: &&str| DeviceSnapshot {
                name: (*name).to_owned(),
                ..DeviceSnapshot::default()
            };
            let devices = names.iter().map(device).collect();
            network_plugin(&NetnsSnapshot { devices, ..NetnsSnapshot::default() })
        };
        assert_eq!(plugin(&["lo", "eth0", "veth1234"]), None);
        assert_eq!(plugin(&["lo", "cali0a", "vxlan.calico"]).as_deref(), Some("Calico"));
        assert_eq!(plugin(&["flannel.1", "cali0a"]).as_deref(), Some("Calico and flannel"));
        assert_eq!(plugin(&["cilium_host"]).as_deref(), Some("Cilium"));
    }
}
