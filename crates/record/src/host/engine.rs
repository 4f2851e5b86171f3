//! Description of a Docker Engine that runs containers of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Properties of a Docker Engine that may change a figure, as the engine reports them. A property that it does not
/// report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineDescription {
    /// Address of the engine, as in DOCKER_HOST.
    pub address: String,
    /// Product, if it is not the Docker Engine: Podman.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Name of the engine's machine.
    pub name: Option<String>,
    /// Version of the engine.
    pub version: String,
    /// Version of the engine's API.
    pub api: String,
    /// Kernel release of the engine's machine.
    pub kernel: Option<String>,
    /// Distribution of the engine's machine.
    pub system: Option<String>,
    /// Versions of its components, by name: containerd, runc, docker-init.
    pub components: BTreeMap<String, String>,
    /// Storage driver.
    pub storage: Option<String>,
    /// Cgroup driver and cgroup version.
    pub cgroups: Option<String>,
    /// Security profiles that containers run under.
    pub security: Vec<String>,
    /// Network drivers of the engine.
    pub drivers: Vec<String>,
    /// Firewall of its bridges: `iptables` or `nftables`. Engines before 28 do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firewall: Option<String>,
    /// Role of the engine in a Swarm; `None` outside of a Swarm.
    pub swarm: Option<String>,
    /// Image of the containers, and its digest.
    pub image: Option<String>,
    /// Image that the user requested instead of tare's own.
    pub image_asked: Option<String>,
    /// Security options that the user requested.
    pub security_asked: Vec<String>,
    /// Parent device that the user requested, for networks that need one.
    pub parent_asked: Option<String>,
    /// Addresses of further engines of the Swarm that the user named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines_asked: Vec<String>,
    /// True if the user requested all containers of a Swarm on one node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_node_asked: bool,
    /// Docker context by which the user named the engine, if servers and clients are on two engines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_asked: Option<String>,
}
