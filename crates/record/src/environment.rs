//! The machine a run was made on.

use crate::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything about the machine that may move a figure, read once before a run. What could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// tare's version.
    pub tare: String,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Kernel build, as `uname -v`.
    pub kernel_build: String,
    /// Machine architecture, as `uname -m`.
    pub architecture: String,
    /// The distribution's name and version.
    pub distribution: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: Vec<u32>,
    /// Memory, bytes.
    pub memory: Option<u64>,
    /// Hypervisor or container technology, where one shows.
    pub virtualisation: Option<String>,
    /// Whether the processor is emulated by software (QEMU's TCG): what runs there shows function, never speed.
    #[serde(default)]
    pub emulated: bool,
    /// CPU vulnerabilities' mitigations, as the kernel words them.
    pub mitigations: BTreeMap<String, String>,
    /// CPU frequency governor of the first core.
    pub governor: Option<String>,
    /// Whether turbo or boost is on.
    pub boost: Option<bool>,
    /// The default TCP congestion control.
    pub congestion_control: Option<String>,
    /// The congestion controls that ordinary users may choose.
    pub congestion_controls_allowed: Vec<String>,
    /// Sysctls that move figures, by name.
    pub sysctls: BTreeMap<String, String>,
    /// The host's network devices, seen, never touched.
    pub devices: Vec<Device>,
    /// Versions of the programs that networks use, by name.
    pub programs: BTreeMap<String, String>,
    /// The clock source.
    pub clock: Option<String>,
    /// Load averages over 1, 5 and 15 minutes at the beginning.
    pub load: Option<[f64; 3]>,
    /// Whether the run had root's privileges on the host.
    pub root: bool,
    /// Kernel-wide tables that all namespaces share.
    pub headroom: Vec<Headroom>,
    /// Docker Engines that networks of the run are on.
    #[serde(default)]
    pub engines: Vec<Engine>,
    /// When the run began, RFC 3339, UTC.
    pub time: String,
    /// The command line that began it, without the program.
    #[serde(default)]
    pub command: Vec<String>,
    /// SHA-256 of the program that measured, in hexadecimal.
    #[serde(default)]
    pub binary: Option<String>,
}

/// A network device of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its driver, where it has one.
    pub driver: Option<String>,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    /// Its speed, Mbit/s, where it has one.
    pub speed: Option<u32>,
    /// Its offloads by ethtool's name, and whether they are on.
    pub offloads: BTreeMap<String, bool>,
}

/// How full a kernel-wide table is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Which: `neighbours-ipv4`, `conntrack`, `pids`, `memory`.
    pub resource: String,
    /// How much is used.
    pub used: u64,
    /// How much there is.
    pub limit: u64,
}
