//! How many of what, in which IP family, with which MTU, on which cores.

use crate::Offloads;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The IP family of a trial.
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
            other => Err(format!("unknown IP family `{other}`: it is ipv4 or ipv6")),
        }
    }
}

/// Which cores the two sides run on. On two cores it matters more than the network does, so it is a value that is
/// held constant within a comparison and recorded with every figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Clients on the first half of the allowed cores, servers on the second half.
    #[default]
    Spread,
    /// Both sides on the same single core: the first one allowed.
    Same,
    /// Wherever the scheduler puts them.
    Free,
    /// The first so many allowed cores, spelled `first-2`: clients on the first half of them, servers on the second, and on
    /// one core both; what else the network runs is held to all of them.
    First(u32),
    /// These cores, clients first: `0-1/2-3` for clients on 0 and 1 and servers on 2 and 3; `0,2` for both on both.
    List {
        /// Cores of the clients.
        clients: Vec<u32>,
        /// Cores of the servers.
        servers: Vec<u32>,
    },
}

/// A placement that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no placement: it is spread, same, free, first-2, or a list of cores such as 0,2 or 0-1/2-3 (clients/servers)"
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
                    clients: cores(clients).ok_or_else(error)?,
                    servers: cores(servers).ok_or_else(error)?,
                })
            }
        }
    }
}

/// Reads `0,2-4` as 0, 2, 3, 4; nothing for an empty, unordered or absurd list.
fn cores(text: &str) -> Option<Vec<u32>> {
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

/// Who chose the MTU of containers' devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MtuBy {
    /// The network: what its own headers leave of the underlay's.
    #[default]
    Network,
    /// The user: containers' devices have this one, whether it fits or not.
    User,
}

impl MtuBy {
    fn is_network(&self) -> bool {
        *self == Self::Network
    }
}

/// Everything about a trial but its network and its workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Nodes.
    pub nodes: u32,
    /// Server containers.
    pub servers: u32,
    /// Client containers; client i talks to server i mod n.
    pub clients: u32,
    /// Client processes in each client container.
    pub processes: u32,
    /// Flows (connections) of each client process.
    pub flows: u32,
    /// The IP family.
    pub family: Family,
    /// The MTU asked of the network's devices, bytes; loopback devices and underlays keep their own (see the hops).
    pub mtu: u32,
    /// Who chose it.
    #[serde(default, skip_serializing_if = "MtuBy::is_network")]
    pub mtu_by: MtuBy,
    /// Which cores the two sides run on.
    #[schemars(with = "String")]
    pub cpus: Placement,
    /// What the underlay between nodes is limited to, as the user wrote it.
    pub link: Option<String>,
    /// The offloads that are switched off on every device of the path.
    #[serde(default)]
    #[schemars(with = "Vec<crate::Offload>")]
    pub without: Offloads,
    /// Whether nodes lower the maximum segment size of TCP connections to what fits (RFC 4459, 3.2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clamp_mss: bool,
    /// What loads the nodes beside the traffic, as the user wrote it: `cpu=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
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
            mtu_by: MtuBy::Network,
            cpus: Placement::Spread,
            link: None,
            without: Offloads::NONE,
            clamp_mss: false,
            background: None,
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
