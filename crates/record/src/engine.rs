//! A Docker Engine on which containers of a run are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything about a Docker Engine that may move a figure, in its own words. What it did not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// Where it listens, as DOCKER_HOST spells it.
    pub address: String,
    /// Its machine's name.
    pub name: Option<String>,
    /// The engine's version.
    pub version: String,
    /// The version of its API.
    pub api: String,
    /// The kernel release that it runs on.
    pub kernel: Option<String>,
    /// The distribution that it runs on.
    pub system: Option<String>,
    /// Versions of its parts, by name: containerd, runc, docker-init.
    pub components: BTreeMap<String, String>,
    /// The driver of its file systems.
    pub storage: Option<String>,
    /// The driver of its control groups, and their version.
    pub cgroups: Option<String>,
    /// The security profiles that containers run under.
    pub security: Vec<String>,
    /// Its network drivers.
    pub drivers: Vec<String>,
    /// Its part in a Swarm, where it has one.
    pub swarm: Option<String>,
    /// The image that containers were made of, and its digest.
    pub image: Option<String>,
    /// The image that the user asked for instead of tare's own.
    pub image_asked: Option<String>,
    /// The security options that the user asked for.
    pub security_asked: Vec<String>,
    /// The device that the user asked for, for networks that sit on one.
    pub parent_asked: Option<String>,
    /// Further engines of its Swarm that the user named, by their addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines_asked: Vec<String>,
    /// Whether the user asked for all containers of a Swarm on one node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_node_asked: bool,
    /// The Docker context by which the user named it, where servers and clients are on two engines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_asked: Option<String>,
}
