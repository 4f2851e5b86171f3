//! Connection to an engine for the length of a run.

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::engine_resources::confinement::{ContainerLimits, ContainerPrograms, confine};
use crate::exec::ExecInput;
use crate::host_tool_mounts::HostToolMounts;
use bollard::models::{HostConfig, SystemVersion};
use std::fmt;
use std::sync::{Arc, Mutex};

/// Product that answers to the API of the Docker Engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineProduct {
    /// The Docker Engine itself.
    #[default]
    Docker,
    /// Podman, by its compatible socket.
    Podman,
}

impl EngineProduct {
    /// Returns the product that an engine says it is. Podman names itself only among its components.
    pub(crate) fn from_version(version: &SystemVersion) -> Self {
        let mut components = version.components.iter().flatten();
        let is_podman = components.any(|component| component.name == "Podman Engine");
        if is_podman { Self::Podman } else { Self::Docker }
    }

    /// Returns the name of the rules that translate a published port, as a hop. Podman's chains have the name of its
    /// network backend, which the API does not state.
    pub(crate) fn port_rules(self) -> &'static str {
        match self {
            Self::Docker => "nat/DOCKER",
            Self::Podman => "nat/podman",
        }
    }

    /// Returns the name of the program that forwards a published port if no rule does.
    pub(crate) fn port_proxy(self) -> &'static str {
        match self {
            Self::Docker => "docker-proxy",
            Self::Podman => "rootlessport",
        }
    }
}

impl fmt::Display for EngineProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "Docker Engine",
            Self::Podman => "Podman",
        })
    }
}

/// Connection to an engine on which the image is loaded, for the length of a run.
pub struct EngineSession {
    /// Connection to the engine.
    pub engine: Arc<Engine>,
    /// Product that the engine is.
    pub(crate) product: EngineProduct,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn podman_is_told_by_its_components() {
        let product = |components: &[&str]| {
            let of = |name: &&str| json!({"Name": name, "Version": "4.3.1"});
            let components: Vec<_> = components.iter().map(of).collect();
            let version = serde_json::from_value(json!({"Components": components}));
            EngineProduct::from_version(&version.unwrap())
        };
        assert_eq!(product(&["Podman Engine", "Conmon"]), EngineProduct::Podman);
        assert_eq!(product(&["Engine", "containerd", "runc"]), EngineProduct::Docker);
        assert_eq!(product(&[]), EngineProduct::Docker);
    }
}
