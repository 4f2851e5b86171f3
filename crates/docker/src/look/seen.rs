//! What is told of a container's network, on one line.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use tare_network::PlaceCounts;

/// What a look saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// What it could not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The network devices.
    #[serde(default)]
    pub(crate) devices: Vec<DeviceSeen>,
    /// The addresses of this network namespace, loopback's and link-local ones left out.
    #[serde(default)]
    pub(crate) addresses: Vec<IpAddr>,
    /// The device of the default route.
    #[serde(default)]
    pub(crate) uplink: Option<String>,
    /// The TCP ports on which somebody listens.
    #[serde(default)]
    pub(crate) listening: Vec<u16>,
    /// Whether bridged packets pass netfilter.
    #[serde(default)]
    pub(crate) bridged_past_netfilter: bool,
    /// The mode of seccomp that programs run under: 0 for none, 2 for a filter (proc_pid_status(5)).
    #[serde(default)]
    pub(crate) seccomp: Option<u8>,
    /// The lines of the hosts file.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    /// What passed the devices, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wire: Option<Wire>,
    /// What was counted so far, for a line about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counted: Option<Counted>,
    /// Who connected, for a line about a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<SocketAddr>,
}

/// What a network namespace has counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Which one it is, on whatever machine.
    pub(crate) namespace: String,
    /// Its counters.
    pub(crate) counts: PlaceCounts,
}

/// What passed a node's devices while two containers talked, packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wire {
    /// Encrypted ones (ESP, RFC 4303).
    pub(crate) esp: u64,
    /// Those of VXLAN that are not.
    pub(crate) vxlan: u64,
    /// Those of them in which both containers' addresses can be read.
    pub(crate) readable: u64,
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceSeen {
    /// Its name.
    pub(crate) name: String,
    /// Its MTU, bytes.
    pub(crate) mtu: u32,
    /// Packets that left by it while the look dialled.
    pub(crate) sent: u64,
    /// Whether it is a bridge.
    pub(crate) bridge: bool,
    /// The addresses that it has, loopback's and link-local ones left out.
    #[serde(default)]
    pub(crate) addresses: Vec<IpAddr>,
}

impl Seen {
    /// A device by its name.
    #[must_use]
    pub(crate) fn device(&self, name: &str) -> Option<&DeviceSeen> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The addresses of the device by which everything leaves that has no other way.
    #[must_use]
    pub(crate) fn by_uplink(&self) -> Vec<IpAddr> {
        let device = self.uplink.as_deref().and_then(|name| self.device(name));
        device.map(|device| device.addresses.clone()).unwrap_or_default()
    }

    /// The device that has an address.
    #[must_use]
    pub(crate) fn device_of(&self, address: IpAddr) -> Option<&DeviceSeen> {
        self.devices.iter().find(|device| device.addresses.contains(&address))
    }
}
