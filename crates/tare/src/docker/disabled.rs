//! Docker support in a build without Docker: there are no engines.

use super::DockerArguments;
use crate::foreign_request::ForeignRequest;
use tare_network::{Network, NetworkSpec};
use tare_record::{EngineDescription, Plan};
use tare_traffic::WorkloadRegistry;

/// Absent Docker Engine.
#[derive(Clone, Default)]
pub(crate) struct DockerSupport;

impl DockerSupport {
    pub(crate) fn from_arguments(_: &DockerArguments) -> Self {
        Self
    }

    pub(crate) fn from_recorded(_: &[EngineDescription]) -> Self {
        Self
    }

    pub(crate) fn recorded_requests(_: &[EngineDescription]) -> Vec<ForeignRequest> {
        Vec::new()
    }

    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        Vec::new()
    }

    pub(crate) fn prepare(&self, _: &str) -> Result<(), tare_network::Error> {
        Ok(())
    }

    pub(crate) fn engines(&self, _: &Plan) -> Vec<EngineDescription> {
        Vec::new()
    }

    pub(crate) fn mount_host_tools(&self, _: &Plan, _: &WorkloadRegistry) {}

    pub(crate) fn has_own_image(&self) -> bool {
        false
    }

    pub(crate) fn owns(&self, _: &str) -> bool {
        false
    }

    pub(crate) fn finish_on_signal(&self, _: &NetworkSpec) -> anyhow::Result<()> {
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        Ok(())
    }
}
