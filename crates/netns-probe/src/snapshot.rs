//! Snapshot of a container's network, sent as one line of JSON.

use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Error, Family, Hop, HopKind, NamespaceCounts};

/// Snapshot of a container's network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetnsSnapshot {
    /// Reason why the request failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Network devices of the namespace, by name.
    #[serde(default)]
    pub devices: Vec<DeviceSnapshot>,
    /// Addresses of this network namespace, without loopback and link-local ones.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// Device of the default route.
    #[serde(default)]
    pub uplink: Option<String>,
    /// TCP ports on which a program listens.
    #[serde(default)]
    pub listening: Vec<u16>,
    /// Families of bridged packets that pass netfilter.
    #[serde(default)]
    pub bridged_past_netfilter: Vec<Family>,
    /// Mode of seccomp under which programs run: 0 for none, 2 for a filter (proc_pid_status(5)).
    #[serde(default)]
    pub seccomp: Option<u8>,
    /// Release of the kernel of the container's programs, which may be a sandbox's own.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Name of the processor.
    #[serde(default)]
    pub processor: Option<String>,
    /// Number of cores of the machine.
    #[serde(default)]
    pub cores: Option<u32>,
    /// Lines of the hosts file.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Packets that passed the devices, in answer to `--wire`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<UnderlayCounts>,
    /// Counters so far, in answer to `--count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<NetnsCounters>,
    /// Mode of the node's kube-proxy, in answer to `--service-proxy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_proxy: Option<String>,
    /// Address from which this program has connected, in answer to `--dial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<SocketAddr>,
    /// True if this namespace tracks the connection, in answer to `--dial` and in a line about a connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tracked: bool,
    /// Address of the client, in a line about a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
}

/// Counters of a network namespace so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetnsCounters {
    /// Id of the namespace, unique across machines.
    pub namespace: String,
    /// Counters of the namespace.
    pub counts: NamespaceCounts,
}

/// Counts of packets that passed a node's devices while two containers communicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderlayCounts {
    /// Encrypted packets (ESP, RFC 4303).
    pub esp: u64,
    /// VXLAN packets that are not encrypted.
    pub vxlan: u64,
    /// VXLAN packets in which the addresses of both containers can be read.
    pub readable: u64,
}

/// Network device of a namespace, in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSnapshot {
    /// Name of the device.
    pub name: String,
    /// MTU, bytes. `None` if the namespace's kernel does not show it: that of gVisor.
    #[serde(default)]
    pub mtu: Option<u32>,
    /// Packets that left by it: while the program connected, for `--dial`; else since it was made.
    pub sent: u64,
    /// True if the device is a bridge.
    pub bridge: bool,
    /// Addresses of the device, without loopback and link-local ones.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
}

impl DeviceSnapshot {
    /// Returns the device as a hop in a place.
    #[must_use]
    pub fn to_hop(&self, kind: HopKind, place: &str) -> Hop {
        Hop { mtu: self.mtu, ..Hop::new(kind, &self.name, place) }
    }
}

impl NetnsSnapshot {
    /// Finds a device by its name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&DeviceSnapshot> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Returns the addresses of the device of the default route.
    #[must_use]
    pub fn uplink_addresses(&self) -> Vec<IpAddr> {
        let device = self.uplink.as_deref().and_then(|name| self.device(name));
        device.map(|device| device.addresses.clone()).unwrap_or_default()
    }

    /// Finds the device that has an address.
    #[must_use]
    pub fn device_of(&self, address: IpAddr) -> Option<&DeviceSnapshot> {
        self.devices.iter().find(|device| device.addresses.contains(&address))
    }
}

/// Writes a snapshot to standard output, on one line.
pub(super) fn write_snapshot(seen: &NetnsSnapshot) -> Result<(), Error> {
    let line =
        serde_json::to_string(seen).map_err(|error| Error::new("write the snapshot", error))?;
    let mut output = io::stdout();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| Error::new("write the snapshot", error))
}
