//! Kubernetes support of the command: its flags, its cluster, and their replacement in a build without Kubernetes.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tare_study::TimeSpan;

#[cfg(all(feature = "docker", feature = "kubernetes"))]
mod clean;
#[cfg(feature = "kubernetes")]
mod enabled;
#[cfg(all(feature = "docker", feature = "kubernetes"))]
pub(crate) use clean::clean;
#[cfg(feature = "kubernetes")]
pub(crate) use enabled::ClusterSupport;

#[cfg(not(feature = "kubernetes"))]
mod disabled;
#[cfg(not(feature = "kubernetes"))]
pub(crate) use disabled::ClusterSupport;
#[cfg(all(feature = "docker", not(feature = "kubernetes")))]
pub(crate) use disabled::clean;

/// Options by which a Kubernetes cluster is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct ClusterAccessArguments {
    /// File with the cluster and the credentials [default: those of kubectl]
    #[arg(long, value_name = "F", help_heading = "Kubernetes")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "CONTEXT", help_heading = "Kubernetes")]
    pub(crate) kube_context: Option<String>,
    /// Namespace of the pods and services [default: the context's]
    #[arg(long, value_name = "NAMESPACE", help_heading = "Kubernetes")]
    pub(crate) namespace: Option<String>,
    /// User as whom requests are made, if the credentials may impersonate
    #[arg(long = "as", value_name = "USER", help_heading = "Kubernetes")]
    pub(crate) impersonated_user: Option<String>,
    /// Longest time until the cluster's first answer [default: 5s]
    #[arg(long, value_name = "T", help_heading = "Kubernetes")]
    pub(crate) request_timeout: Option<TimeSpan>,
}

/// Parts of a cluster's network that each block raises anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RaisedParts {
    /// Sockets; the pods stay for the run
    Sockets,
    /// Pods, services and network policies
    Pods,
}

/// Format of objects of a cluster that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManifestFormat {
    /// Documents of YAML.
    Yaml,
    /// A list of the API in JSON.
    Json,
}

/// Options of the networks of a Kubernetes cluster.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClusterArguments {
    /// Options by which the cluster is reached.
    #[command(flatten)]
    pub(crate) access: ClusterAccessArguments,
    /// Image of the pods, which nodes have or can pull: it holds this tare [default: tare:VERSION, of `tare image`]
    #[arg(long, value_name = "IMAGE", help_heading = "Kubernetes")]
    pub(crate) pod_image: Option<String>,
    /// Secret with which nodes pull the image; may be repeated
    #[arg(long, value_name = "SECRET", help_heading = "Kubernetes")]
    pub(crate) image_pull_secret: Vec<String>,
    /// Node of the servers; several are for one pair of nodes each [default: the scheduler chooses]
    #[arg(long, value_name = "NODE", value_delimiter = ',', help_heading = "Kubernetes")]
    pub(crate) server_node: Vec<String>,
    /// Node of the clients of networks between two nodes; several are for one pair each [default: the scheduler chooses]
    #[arg(long, value_name = "NODE", value_delimiter = ',', help_heading = "Kubernetes")]
    pub(crate) client_node: Vec<String>,
    /// Label that the nodes have; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Kubernetes")]
    pub(crate) node_label: Vec<String>,
    /// Key of a taint that the pods tolerate, or * for all; may be repeated
    #[arg(long, value_name = "KEY", help_heading = "Kubernetes")]
    pub(crate) toleration: Vec<String>,
    /// What each block raises anew: sockets in pods that stay for the run, or the pods, whose start is then the network's
    /// set-up time [default: sockets]
    #[arg(long, value_name = "WHAT", help_heading = "Kubernetes")]
    pub(crate) raise: Option<RaisedParts>,
    /// Priority class of the pods
    #[arg(long, value_name = "CLASS", help_heading = "Kubernetes")]
    pub(crate) priority_class: Option<String>,
}

impl ClusterArguments {
    /// Returns the number of pairs of nodes: the one that is asked for, or else the number of named nodes of a role.
    ///
    /// # Errors
    /// A role has several named nodes, and not one for each pair.
    pub(crate) fn node_pairs(&self, asked: Option<u32>) -> Result<Option<u32>, String> {
        let named = [("--server-node", &self.server_node), ("--client-node", &self.client_node)];
        let several = named.into_iter().filter(|(_, nodes)| nodes.len() > 1);
        let mut pairs = asked.map(|pairs| (pairs as usize, "--node-pairs"));
        for (flag, nodes) in several {
            let (wanted, by) = *pairs.get_or_insert((nodes.len(), flag));
            if nodes.len() != wanted {
                return Err(format!(
                    "{flag} names {} nodes, and {by} asks for {wanted} pairs: name one node for all pairs, or one for each",
                    nodes.len()
                ));
            }
        }
        Ok(pairs.and_then(|(pairs, _)| u32::try_from(pairs).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_as_many_as_nodes_are_named() {
        let pairs = |servers: &[&str], clients: &[&str], asked| {
            let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let (server_node, client_node) = (own(servers), own(clients));
            ClusterArguments { server_node, client_node, ..ClusterArguments::default() }
                .node_pairs(asked)
        };
        assert_eq!(pairs(&[], &[], None), Ok(None));
        assert_eq!(pairs(&["a"], &["b"], None), Ok(None));
        assert_eq!(pairs(&["a"], &[], Some(3)), Ok(Some(3)));
        assert_eq!(pairs(&["a"], &["b", "c"], None), Ok(Some(2)));
        assert_eq!(pairs(&["a", "b"], &["b", "a"], Some(2)), Ok(Some(2)));
        let error = pairs(&["a", "b"], &["b", "c", "a"], None).unwrap_err();
        assert!(error.starts_with("--client-node names 3 nodes, and --server-node asks for 2"));
        let error = pairs(&["a", "b"], &[], Some(3)).unwrap_err();
        assert!(error.starts_with("--server-node names 2 nodes, and --node-pairs asks for 3"));
    }
}
