//! Kubernetes support in a build without Kubernetes: there is no cluster.

use super::{ClusterArguments, ManifestFormat};
use tare_network::Network;
use tare_record::{ClusterDescription, Plan};
use tare_traffic::WorkloadRegistry;

/// Says that there is no cluster to clean.
#[cfg(feature = "docker")]
pub(crate) fn clean(
    _: &super::ClusterAccessArguments,
    _: &[String],
    _: impl FnOnce(usize) -> bool,
) -> anyhow::Result<crate::exit::CommandExit> {
    anyhow::bail!("this tare was built without Kubernetes: build it with `--features kubernetes`")
}

/// Absent cluster.
#[derive(Clone, Default)]
pub(crate) struct ClusterSupport;

impl ClusterSupport {
    pub(crate) fn from_arguments(_: &ClusterArguments) -> Self {
        Self
    }

    pub(crate) fn assumed_from_arguments(_: &ClusterArguments) -> Self {
        Self
    }

    pub(crate) fn run_manifest(
        &self,
        _: &Plan,
        _: &WorkloadRegistry,
        _: ManifestFormat,
    ) -> anyhow::Result<String> {
        anyhow::bail!(
            "this tare was built without Kubernetes: build it with `--features kubernetes`"
        )
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
