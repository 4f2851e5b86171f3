//! Options of the networks of a cluster, as the user gives them.

use crate::nodes::NamedNodes;
use std::path::PathBuf;
use std::time::Duration;
use tare_record::PodLifetime;

/// Default of [`ClusterOptions::request_timeout`].
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of the networks of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// File with the cluster's address and the user's credentials; `None` for those that kubectl uses.
    pub kubeconfig: Option<PathBuf>,
    /// Context in that file; `None` for its current one.
    pub context: Option<String>,
    /// Namespace in which everything is made; `None` for the context's.
    pub namespace: Option<String>,
    /// User as whom requests are made, if the credentials' own user may impersonate.
    pub impersonated_user: Option<String>,
    /// Longest time until a connection to the API server stands, and until its first answer, which shows that a cluster is
    /// there.
    pub request_timeout: Duration,
    /// Image of the pods, which holds this version of tare as `/tare`.
    pub image: String,
    /// Names of secrets with which nodes pull the image.
    pub pull_secrets: Vec<String>,
    /// Nodes of the servers. The scheduler chooses those that have no name.
    pub server_nodes: NamedNodes,
    /// Nodes of the clients on other nodes. The scheduler chooses those that have no name.
    pub client_nodes: NamedNodes,
    /// Keys of taints that the pods tolerate; `*` tolerates all.
    pub tolerations: Vec<String>,
    /// Labels that the pods' nodes have, as `KEY=VALUE`.
    pub node_labels: Vec<String>,
    /// Priority class of the pods.
    pub priority_class: Option<String>,
    /// Time for which a network's pods stay.
    pub pods: PodLifetime,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            context: None,
            namespace: None,
            impersonated_user: None,
            request_timeout: REQUEST_TIMEOUT,
            image: concat!("tare:", env!("CARGO_PKG_VERSION")).to_owned(),
            pull_secrets: Vec::new(),
            server_nodes: NamedNodes::default(),
            client_nodes: NamedNodes::default(),
            tolerations: Vec::new(),
            node_labels: Vec::new(),
            priority_class: None,
            pods: PodLifetime::default(),
        }
    }
}
