//! Kubernetes support in a build with Kubernetes.

use super::{ClusterAccessArguments, ClusterArguments, RaisedParts};
use std::sync::Arc;
use tare_kubernetes::{ClusterOptions, ClusterPlace, NamedNodes, PREFIX};
use tare_network::Network;
use tare_record::{ClusterDescription, Plan, PodLifetime};

/// Cluster of this process, which is reached only when it is needed.
#[derive(Clone)]
pub(crate) struct ClusterSupport {
    place: Arc<ClusterPlace>,
}

/// Returns options that reach the cluster of these arguments.
pub(super) fn access_options(arguments: &ClusterAccessArguments) -> ClusterOptions {
    let default = ClusterOptions::default();
    ClusterOptions {
        request_timeout: arguments
            .request_timeout
            .map_or(default.request_timeout, |limit| limit.0.into()),
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.kube_context.clone(),
        namespace: arguments.namespace.clone(),
        impersonated_user: arguments.impersonated_user.clone(),
        ..default
    }
}

impl Default for ClusterSupport {
    fn default() -> Self {
        Self::from_arguments(&ClusterArguments::default())
    }
}

impl ClusterSupport {
    /// Returns the cluster of the user's configuration, with the settings of the flags.
    pub(crate) fn from_arguments(arguments: &ClusterArguments) -> Self {
        let access = access_options(&arguments.access);
        let place = ClusterPlace::new(ClusterOptions {
            image: arguments.pod_image.clone().unwrap_or_else(|| access.image.clone()),
            pull_secrets: arguments.image_pull_secret.clone(),
            server_nodes: NamedNodes(arguments.server_node.clone()),
            client_nodes: NamedNodes(arguments.client_node.clone()),
            tolerations: arguments.toleration.clone(),
            node_labels: arguments.node_label.clone(),
            priority_class: arguments.priority_class.clone(),
            pods: match arguments.raise {
                None | Some(RaisedParts::Sockets) => PodLifetime::Run,
                Some(RaisedParts::Pods) => PodLifetime::Block,
            },
            ..access
        });
        Self { place: Arc::new(place) }
    }

    /// Returns the networks of the cluster.
    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        tare_kubernetes::cluster_networks(&self.place)
    }

    /// Returns true if a network is one of a cluster, by its name.
    pub(crate) fn owns(&self, network: &str) -> bool {
        network.starts_with(PREFIX)
    }

    /// Returns the cluster that a plan's networks use. Returns `None` if they use none.
    pub(crate) fn describe(&self, plan: &Plan) -> Option<ClusterDescription> {
        let is_used = plan.networks.iter().any(|entry| self.owns(&entry.network));
        if is_used { self.place.describe().ok().cloned() } else { None }
    }

    /// Prepares the removal of everything that a run makes, even if it is killed. The lab must not have been entered.
    ///
    /// # Errors
    /// The process that removes it cannot be started.
    pub(crate) fn prepare(&self) -> Result<(), tare_network::Error> {
        self.place.prepare()
    }

    /// Removes what this process has made in the cluster and not yet removed.
    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        self.place.finish()
    }
}
