//! Environment of a run: the machine, its kernel and its settings.

use crate::ClusterDescription;
use crate::EngineDescription;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Properties of the machine that may change a figure, read once before a run. A property that cannot be read is
/// `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of tare.
    pub tare: String,
    /// Kernel release, as printed by `uname -r`.
    pub kernel: String,
    /// Kernel build, as printed by `uname -v`.
    pub kernel_build: String,
    /// Machine architecture, as printed by `uname -m`.
    pub architecture: String,
    /// Name and version of the distribution.
    pub distribution: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: Vec<u32>,
    /// Total memory, bytes.
    pub memory: Option<u64>,
    /// Hypervisor or container technology, if one is detected.
    pub virtualisation: Option<String>,
    /// True if the processor is emulated by software (QEMU's TCG). Such a run shows function, never speed.
    #[serde(default)]
    pub emulated: bool,
    /// Mitigations of CPU vulnerabilities, in the kernel's words, by vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// CPU frequency governor of the first core.
    pub governor: Option<String>,
    /// True if turbo or boost is enabled.
    pub boost: Option<bool>,
    /// Default TCP congestion control.
    pub congestion_control: Option<String>,
    /// Congestion controls that unprivileged users may choose.
    pub congestion_controls_allowed: Vec<String>,
    /// Sysctls that affect figures, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Network devices of the host, which are read and never changed.
    pub devices: Vec<HostDevice>,
    /// Versions of the external programs that networks use, by name.
    pub programs: BTreeMap<String, String>,
    /// Clock source of the kernel.
    pub clock: Option<String>,
    /// Load averages over 1, 5 and 15 minutes, at the beginning of the run.
    pub load: Option<[f64; 3]>,
    /// True if the run had root privileges on the host.
    pub root: bool,
    /// Use of kernel-wide tables that all namespaces share.
    pub headroom: Vec<Headroom>,
    /// Docker Engines on which networks of the run are.
    #[serde(default)]
    pub engines: Vec<EngineDescription>,
    /// Kubernetes cluster on which networks of the run are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterDescription>,
    /// Time at which the run began, RFC 3339, UTC.
    pub time: String,
    /// Command line that started the run, without the program.
    #[serde(default)]
    pub command: Vec<String>,
    /// SHA-256 of the program that measured, in hexadecimal.
    #[serde(default)]
    pub binary: Option<String>,
}

/// Network device of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDevice {
    /// Name of the device.
    pub name: String,
    /// Driver of the device, if it has one.
    pub driver: Option<String>,
    /// MTU of the device, bytes.
    pub mtu: Option<u32>,
    /// Speed of the device, Mbit/s, if it has one.
    pub speed: Option<u32>,
    /// Offloads by ethtool's name; true if enabled.
    pub offloads: BTreeMap<String, bool>,
}

/// Use of a kernel-wide table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Name of the table: `neighbours-ipv4`, `conntrack`, `pids`, `memory`.
    pub resource: String,
    /// Amount in use.
    pub used: u64,
    /// Upper limit.
    pub limit: u64,
}
