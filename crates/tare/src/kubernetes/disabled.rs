//! Kubernetes support in a build without Kubernetes: there is no cluster.

use super::ClusterArguments;
use tare_network::Network;
use tare_record::{ClusterDescription, Plan};

/// Absent cluster.
#[derive(Clone, Default)]
pub(crate) struct ClusterSupport;

impl ClusterSupport {
    pub(crate) fn from_arguments(_: &ClusterArguments) -> Self {
        Self
    }

    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        Vec::new()
    }

    pub(crate) fn owns(&self, _: &str) -> bool {
        false
    }

    pub(crate) fn describe(&self, _: &Plan) -> Option<ClusterDescription> {
        None
    }

    pub(crate) fn prepare(&self) -> Result<(), tare_network::Error> {
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        Ok(())
    }
}
