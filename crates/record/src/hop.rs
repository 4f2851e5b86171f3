//! Hops of a packet between client and server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kind of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopKind {
    /// Loopback device: the packet never leaves the namespace.
    Loopback,
    /// One end of a veth pair.
    Veth,
    /// Linux bridge.
    Bridge,
    /// Any other network device.
    Device,
    /// Qdisc of a device, which limits what leaves by it.
    Queue,
    /// Connection tracking in a namespace.
    Conntrack,
    /// Filter rule or chain that every packet passes.
    Filter,
    /// Network address translation rule.
    Nat,
    /// Routing decision between devices.
    Route,
    /// Encapsulation (VXLAN, ESP …).
    Encapsulation,
    /// Process that forwards packets in user space.
    Forwarder,
    /// eBPF program that forwards packets.
    Ebpf,
}

/// Hop that a packet passes: a device, a bridge, a NAT rule, an encapsulation, a user-space forwarder.
///
/// A network reports its hops in the order in which a packet from the client to the server passes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Kind of the hop.
    pub kind: HopKind,
    /// Name within its namespace: `docker0`, `eth0`, `nat/DOCKER`.
    pub name: String,
    /// Namespace of the hop: `client-0`, `node-0`, `server-0`.
    pub place: String,
    /// Largest packet that the hop carries, bytes, if it has such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Further detail that distinguishes similar hops, such as the text of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Hop {
    /// Creates a hop with neither MTU nor detail.
    #[must_use]
    pub fn new(kind: HopKind, name: impl Into<String>, place: impl Into<String>) -> Self {
        Self { kind, name: name.into(), place: place.into(), mtu: None, detail: None }
    }

    /// Returns the hop with its MTU, bytes.
    #[must_use]
    pub fn with_mtu(mut self, mtu: u32) -> Self {
        self.mtu = Some(mtu);
        self
    }

    /// Returns the hop with a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.place, self.name)
    }
}
