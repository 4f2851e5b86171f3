//! Part of a run that everything which it makes in the cluster shares.

use crate::cluster_client::ClusterClient;
use crate::options::ClusterOptions;
use crate::run_id::RunId;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::sync::Arc;

/// Part of a run that everything which it makes in the cluster shares.
#[derive(Clone)]
pub(crate) struct RunScope {
    /// Client of the cluster.
    pub(crate) client: Arc<ClusterClient>,
    /// Options of the user.
    pub(crate) options: ClusterOptions,
    /// Number of the run.
    pub(crate) run: RunId,
    /// Owner of everything that the run makes.
    pub(crate) owner: OwnerReference,
}
