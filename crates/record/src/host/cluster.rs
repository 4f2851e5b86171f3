//! Kubernetes cluster on which networks of a run are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kubernetes cluster, as the run that began found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterDescription {
    /// Version of the API server.
    pub version: String,
    /// Short hash of the API server's address, which tells clusters apart.
    pub identity: String,
    /// Namespace of the run's pods.
    pub namespace: String,
    /// Programs of the cluster's network that DaemonSets run on its nodes, with their versions, for example
    /// `Cilium v1.19.1`. Empty where the user may not list them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_daemons: Vec<String>,
    /// Image of the run's pods, as it was named.
    pub image: String,
    /// Time for which a network's pods stay.
    #[serde(default, skip_serializing_if = "PodLifetime::is_run")]
    pub pods: PodLifetime,
}

/// Time for which the pods of a network stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PodLifetime {
    /// The run: each block has new sockets in the same pods.
    #[default]
    Run,
    /// A block: the time to set a network up is that of its pods, too.
    Block,
}

impl PodLifetime {
    /// Returns what each block raises anew, as `--raise` names it.
    #[must_use]
    pub fn raised_anew(self) -> &'static str {
        match self {
            Self::Run => "sockets",
            Self::Block => "pods",
        }
    }

    fn is_run(&self) -> bool {
        *self == Self::Run
    }
}

/// Facts of a node of a cluster, as a program on it sees them, and its name and zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFacts {
    /// Name of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Zone of the node, which clusters from 1.35 on tell pods (the label `topology.kubernetes.io/zone`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Release of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Name of the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Number of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Mode of kube-proxy, as it reports it: `iptables`, `ipvs` or `nftables`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_proxy: Option<String>,
    /// Network plugins whose devices the node has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_plugin: Option<String>,
}

impl NodeFacts {
    /// Returns true if all is equal but the names and the zones.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let anonymous = |node: &Self| Self { name: None, zone: None, ..node.clone() };
        anonymous(self) == anonymous(other)
    }
}

impl fmt::Display for NodeFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            self.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            self.processor.clone(),
            self.cores.map(|cores| format!("{cores} core{}", if cores == 1 { "" } else { "s" })),
            self.service_proxy.as_ref().map(|mode| format!("kube-proxy by {mode}")),
            self.network_plugin.clone(),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() {
            return f.write_str("nothing known");
        }
        f.write_str(&facts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;
    use crate::finding::NodePairFacts;

    #[test]
    fn a_pair_of_nodes_is_told_once_if_it_is_alike() {
        let node = |kernel: &str, cores| NodeFacts {
            kernel: Some(kernel.to_owned()),
            processor: Some("AMD EPYC".to_owned()),
            cores: Some(cores),
            ..NodeFacts::default()
        };
        let told =
            |client, server| Finding::NodePairFacts(NodePairFacts { client, server }).to_string();
        let named = |name: &str, zone: &str| NodeFacts {
            name: Some(name.to_owned()),
            zone: Some(zone.to_owned()),
            ..node("6.8", 2)
        };
        let alike = "the nodes of both ends are alike: Linux 6.8, AMD EPYC, 2 cores";
        assert_eq!(told(node("6.8", 2), node("6.8", 2)), alike);
        let in_zones = |client, server| told(named("a", client), named("b", server));
        assert_eq!(in_zones("x", "x"), format!("{alike}; they are in one zone"));
        assert_eq!(in_zones("x", "y"), format!("{alike}; they are in two zones"));
        let differ = "the nodes differ: the client's has Linux 6.8, AMD EPYC, 2 cores; the server's Linux 6.1, AMD EPYC, 1 core";
        assert_eq!(told(node("6.8", 2), node("6.1", 1)), differ);
        let of_cluster = NodeFacts {
            service_proxy: Some("nftables".to_owned()),
            network_plugin: Some("Calico".to_owned()),
            ..node("6.8", 2)
        };
        let facts = "Linux 6.8, AMD EPYC, 2 cores, kube-proxy by nftables, Calico";
        assert_eq!(of_cluster.to_string(), facts);
        let unknown = NodeFacts::default();
        assert_eq!(unknown.to_string(), "nothing known");
    }
}
