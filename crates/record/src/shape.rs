//! Shape of a trial: numbers of nodes, containers and flows, IP family, MTU, cores.

use crate::Offloads;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// IP family of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        })
    }
}

impl FromStr for Family {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ipv4" => Ok(Self::Ipv4),
            "ipv6" => Ok(Self::Ipv6),
            other => Err(format!("unknown IP family `{other}`: expected ipv4 or ipv6")),
        }
    }
}

/// Placement of the two sides on cores. On two cores it matters more than the network does, so it is held constant
/// within a comparison and recorded with every figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Clients on the first half of the allowed cores, servers on the second half.
    #[default]
    Spread,
    /// Both sides on the same single core, the first allowed one.
    Same,
    /// Placement by the scheduler.
    Free,
    /// First N allowed cores, written `first-2`: clients on the first half of them, servers on the second half, and
    /// both on one core if N is 1. Other programs of the network are limited to all N.
    First(u32),
    /// Listed cores, clients first: `0-1/2-3` for clients on 0 and 1 and servers on 2 and 3; `0,2` for both sides on
    /// both cores.
    List {
        /// Cores of the clients.
        clients: Vec<u32>,
        /// Cores of the servers.
        servers: Vec<u32>,
    },
}

/// Error for an invalid placement.
#[derive(Debug, thiserror::Error)]
#[error(
    "invalid placement `{0}`: expected spread, same, free, first-2, or a list of cores, for example 0,2 or 0-1/2-3 (clients/servers)"
)]
pub struct PlacementError(pub String);

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |cores: &[u32]| cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Spread => f.write_str("spread"),
            Self::Same => f.write_str("same"),
            Self::Free => f.write_str("free"),
            Self::First(cores) => write!(f, "first-{cores}"),
            Self::List { clients, servers } if clients == servers => f.write_str(&list(clients)),
            Self::List { clients, servers } => write!(f, "{}/{}", list(clients), list(servers)),
        }
    }
}

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let error = || PlacementError(text.to_owned());
        match text {
            "spread" => Ok(Self::Spread),
            "same" => Ok(Self::Same),
            "free" => Ok(Self::Free),
            _ if text.starts_with("first-") => {
                let cores = text.strip_prefix("first-").and_then(|cores| cores.parse().ok());
                cores.filter(|cores| *cores > 0).map(Self::First).ok_or_else(error)
            }
            _ => {
                let (clients, servers) = text.split_once('/').unwrap_or((text, text));
                Ok(Self::List {
                    clients: parse_cores(clients).ok_or_else(error)?,
                    servers: parse_cores(servers).ok_or_else(error)?,
                })
            }
        }
    }
}

/// Parses `0,2-4` as 0, 2, 3, 4. Returns `None` for an empty list, a reversed range or a core number of 4096 or more.
fn parse_cores(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 4096;
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Some(cores)
}

impl TryFrom<String> for Placement {
    type Error = PlacementError;
    fn try_from(text: String) -> Result<Self, PlacementError> {
        text.parse()
    }
}

impl Serialize for Placement {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Source of the MTU of containers' devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MtuSource {
    /// Network: the underlay's MTU without the network's own headers.
    #[default]
    Network,
    /// User: containers' devices have this MTU, whether it fits or not.
    User,
}

impl MtuSource {
    fn is_network(&self) -> bool {
        *self == Self::Network
    }
}

/// Parameters of a trial other than its network and its workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of server containers.
    pub servers: u32,
    /// Number of client containers; client i talks to server i mod n.
    pub clients: u32,
    /// Number of client processes in each client container.
    pub processes: u32,
    /// Number of flows (connections) of each client process.
    pub flows: u32,
    /// IP family.
    pub family: Family,
    /// Requested MTU of the network's devices, bytes; loopback devices and underlays keep their own (see the hops).
    pub mtu: u32,
    /// Source of the MTU.
    #[serde(default, skip_serializing_if = "MtuSource::is_network")]
    pub mtu_by: MtuSource,
    /// Placement of the two sides on cores.
    #[schemars(with = "String")]
    pub cpus: Placement,
    /// Limits of the underlay between nodes, as the user wrote them.
    pub link: Option<String>,
    /// Offloads that are disabled on every device of the path.
    #[serde(default)]
    #[schemars(with = "Vec<crate::Offload>")]
    pub without: Offloads,
    /// True if nodes lower the maximum segment size of TCP connections to what fits (RFC 4459, 3.2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clamp_mss: bool,
    /// Background load of the nodes, as the user wrote it: `cpu=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// Number of the pair of a cluster's nodes, from 1; `None` if the run has a single pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pair: Option<u32>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            nodes: 1,
            servers: 1,
            clients: 1,
            processes: 1,
            flows: 1,
            family: Family::Ipv4,
            mtu: 1500,
            mtu_by: MtuSource::Network,
            cpus: Placement::Spread,
            link: None,
            without: Offloads::NONE,
            clamp_mss: false,
            background: None,
            node_pair: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn placements_read_as_written() {
        for text in ["spread", "same", "free", "0,2,3", "0,1/2,3"] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
        assert_eq!("0-2/3".parse::<Placement>().unwrap().to_string(), "0,1,2/3");
        for bad in ["", "fast", "1-", "3-1", "0,,1", "0/", "99999999"] {
            assert!(bad.parse::<Placement>().is_err(), "{bad} was taken");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in ".{0,20}") {
            let _ = text.parse::<Placement>();
        }
    }
}
