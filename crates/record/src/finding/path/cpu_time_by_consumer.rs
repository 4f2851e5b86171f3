//! CPU time by consumer.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// CPU time by consumer while traffic ran, in cores (seconds per second), means over all trials. Packet processing
/// in an agent's context counts as the agent's time and partly as software interrupts, so the parts do not add up.
/// Time that a hypervisor took from an agent counts as the agent's on most kernels, and never as `busy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimeByConsumer {
    /// The agents' own code, in user space.
    pub agents_user: f64,
    /// The kernel on behalf of the agents.
    pub agents_system: f64,
    /// Software and hardware interrupts, in any context.
    pub softirq: f64,
    /// The ksoftirqd threads; `None` if they are not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ksoftirqd: Option<f64>,
    /// The network's daemons.
    pub daemons: f64,
    /// All busy time of the machine.
    pub busy: f64,
}

impl fmt::Display for CpuTimeByConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agents_user, agents_system, softirq, ksoftirqd, daemons, busy } = self;
        write!(
            f,
            "of {busy:.2} busy cores, the agents took {agents_user:.2} in user space and {agents_system:.2} in the kernel, softirq {softirq:.2}"
        )?;
        ksoftirqd.map_or(Ok(()), |cores| write!(f, ", ksoftirqd {cores:.2}"))?;
        if *daemons > 0.0 { write!(f, ", the network's programs {daemons:.2}") } else { Ok(()) }
    }
}

impl FindingKind for CpuTimeByConsumer {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn has_note(&self) -> bool {
        false
    }
}
