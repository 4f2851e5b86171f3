//! What a packet passes on its way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of thing a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopKind {
    /// A loopback device: the packet never leaves the namespace.
    Loopback,
    /// One end of a veth pair.
    Veth,
    /// A Linux bridge.
    Bridge,
    /// Any other network device.
    Device,
    /// A queue in front of a device, which limits what leaves by it.
    Queue,
    /// Connection tracking in a namespace.
    Conntrack,
    /// A filter rule or chain that every packet passes.
    Filter,
    /// A network address translation rule.
    Nat,
    /// A routing decision between devices.
    Route,
    /// An encapsulation (VXLAN, ESP …).
    Encapsulation,
    /// A process that forwards packets in userspace.
    Forwarder,
}

/// One thing that a packet passes: a device, a bridge, a NAT rule, an encapsulation, a userspace forwarder.
///
/// A network reports its hops in the order in which a packet from the client to the server passes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// What kind of thing it is.
    pub kind: HopKind,
    /// Its name there: `docker0`, `eth0`, `nat/DOCKER`.
    pub name: String,
    /// The namespace it is in: `client-0`, `node-0`, `server-0`.
    pub place: String,
    /// The largest packet it carries, bytes, where it has such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// What else tells it from its like, e.g. the rule's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Hop {
    /// A hop with neither MTU nor detail.
    #[must_use]
    pub fn new(kind: HopKind, name: impl Into<String>, place: impl Into<String>) -> Self {
        Self { kind, name: name.into(), place: place.into(), mtu: None, detail: None }
    }

    /// The same hop with its MTU, bytes.
    #[must_use]
    pub fn with_mtu(mut self, mtu: u32) -> Self {
        self.mtu = Some(mtu);
        self
    }

    /// The same hop with a detail.
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
