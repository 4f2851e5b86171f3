//! Packets beyond the MTU of their path.

use crate::finding::kind::{FindingKind, FindingWeight};
use crate::mtu_fit::FragmentCount;
use crate::{Metric, MtuFit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Packets exceeded the MTU on their path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketFragmentation {
    /// Packets fragmented, at the place with the most.
    pub packets: u64,
    /// Fragments of those packets.
    #[serde(default)]
    pub fragments: u64,
    /// Packets dropped because they must not be fragmented, or rejected with an ICMP message (RFC 1191, RFC 8201),
    /// at all places.
    pub refused: u64,
    /// Namespace with most of the fragmentation and rejection.
    pub place: String,
    /// MTUs of the client's device and of the path, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<MtuFit>,
}

impl fmt::Display for PacketFragmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, fragments, refused, place, mtu } = self;
        match mtu {
            Some(fit) => write!(f, "{fit}: ")?,
            None => f.write_str("packets exceeded the MTU of the path: ")?,
        }
        let (packets, fragments) = (*packets, *fragments);
        write!(f, "{packets} packets were fragmented")?;
        if packets > 0 && fragments > 0 {
            write!(f, " ({})", FragmentCount { packets, fragments })?;
        }
        write!(f, ", {refused} refused, most in {place}")
    }
}

impl FindingKind for PacketFragmentation {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.packets as f64 + self.refused as f64
    }

    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        (self.packets > 0)
            .then(|| "packets exceed the MTU of its path and are fragmented".to_owned())
    }
}
