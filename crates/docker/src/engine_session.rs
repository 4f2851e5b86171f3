//! Connection to an engine for the length of a run.

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::engine_resources::confinement::{ContainerLimits, ContainerPrograms, confine};
use crate::exec::ExecInput;
use crate::host_tool_mounts::HostToolMounts;
use crate::podman::properties::PodmanProperties;
use bollard::models::HostConfig;
use std::sync::{Arc, Mutex};
use tare_network::FirewallBackend;

/// Connection to an engine on which the image is loaded, for the length of a run.
pub struct EngineSession {
    /// Connection to the engine.
    pub engine: Arc<Engine>,
    /// Properties that Podman's own API states. `None` if the engine is not Podman.
    pub(crate) podman: Option<PodmanProperties>,
    /// Firewall of the engine's bridges.
    pub(crate) firewall: FirewallBackend,
    /// Image of the containers: the tag of the run's own, or the id of the one that the user chose, which may get another
    /// tag while the run goes on.
    pub image: String,
    /// tare's binary, if the image lacks it.
    pub program: Option<Vec<u8>>,
    /// Mounts of the host's programs in containers.
    pub(crate) host_tools: Option<HostToolMounts>,
    /// Limits of each container.
    pub(crate) limits: ContainerLimits,
    /// A container on the engine's own network that runs as long as the run does, and so shows that the run goes on.
    pub(crate) run_container: Mutex<Option<RunContainer>>,
}

impl EngineSession {
    /// Adds the confinement of this run's containers to a configuration.
    pub(crate) fn confine(&self, config: HostConfig) -> HostConfig {
        let programs = match (&self.program, &self.host_tools) {
            (None, None) => ContainerPrograms::OwnOnly,
            _ => ContainerPrograms::Foreign,
        };
        confine(config, programs, self.limits)
    }
}

/// A container that is kept, and the connection by which it notices that this process has ended.
pub(crate) struct RunContainer {
    pub(crate) container: ContainerHandle,
    pub(crate) _inputs: Vec<ExecInput>,
}
