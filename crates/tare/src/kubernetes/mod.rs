//! Kubernetes support of the command: its flags, its cluster, and their replacement in a build without Kubernetes.

use clap::Args;
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
    /// Node of the servers [default: the scheduler chooses]
    #[arg(long, value_name = "NODE", help_heading = "Kubernetes")]
    pub(crate) server_node: Option<String>,
    /// Node of the clients of networks between two nodes [default: the scheduler chooses]
    #[arg(long, value_name = "NODE", help_heading = "Kubernetes")]
    pub(crate) client_node: Option<String>,
    /// Label that the nodes have; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Kubernetes")]
    pub(crate) node_label: Vec<String>,
    /// Key of a taint that the pods tolerate, or * for all; may be repeated
    #[arg(long, value_name = "KEY", help_heading = "Kubernetes")]
    pub(crate) toleration: Vec<String>,
    /// Priority class of the pods
    #[arg(long, value_name = "CLASS", help_heading = "Kubernetes")]
    pub(crate) priority_class: Option<String>,
}
