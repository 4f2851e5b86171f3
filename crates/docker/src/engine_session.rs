//! Connection to an engine for the length of a run.

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::exec::ExecInput;
use crate::host_tool_mounts::HostToolMounts;
use std::sync::{Arc, Mutex};

/// Connection to an engine on which the image is loaded, for the length of a run.
pub struct EngineSession {
    /// Connection to the engine.
    pub engine: Arc<Engine>,
    /// Image of the containers.
    pub image: String,
    /// tare's binary, if the image lacks it.
    pub program: Option<Vec<u8>>,
    /// Mounts of the host's programs in containers.
    pub(crate) host_tools: Option<HostToolMounts>,
    /// A container on the engine's own network that runs as long as the run does, and so shows that the run goes on.
    pub(crate) run_container: Mutex<Option<RunContainer>>,
}

/// A container that is kept, and the connection by which it notices that this process has ended.
pub(crate) struct RunContainer {
    pub(crate) container: ContainerHandle,
    pub(crate) _inputs: Vec<ExecInput>,
}
