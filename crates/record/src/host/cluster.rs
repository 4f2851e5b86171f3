//! Kubernetes cluster on which networks of a run are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kubernetes cluster, as the run that began found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterDescription {
    /// Version of the API server.
    pub version: String,
    /// Short hash of the API server's address, which tells clusters apart.
    pub identity: String,
    /// Namespace of the run's pods.
    pub namespace: String,
    /// Image of the run's pods, as it was named.
    pub image: String,
}
