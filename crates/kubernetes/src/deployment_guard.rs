//! Guard that ends the pods of a network with its block.

use crate::session::ClusterSession;
use std::sync::Arc;

/// Pods of a network that end with a block. Dropping it removes them.
pub(crate) struct DeploymentGuard {
    session: Arc<ClusterSession>,
    network: String,
}

impl DeploymentGuard {
    /// Creates the guard of a network's pods, by the network's name in the session.
    pub(crate) fn new(session: Arc<ClusterSession>, network: String) -> Self {
        Self { session, network }
    }
}

impl Drop for DeploymentGuard {
    fn drop(&mut self) {
        // The session tries again before the network's next pods, and at its end, where the error is reported.
        let _ = self.session.end_deployment(&self.network);
    }
}
