//! Devices that join others: bridges, VRFs and device pairs.

use super::{NamespaceId, Wiring};
use tare_network::BitsPerSecond;
use tare_sandbox::devices::{DevicePairKind, TokenBucket, Veth};
use tare_sandbox::netlink::MacAddress;

/// A Linux bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinuxBridge {
    /// Namespace of the bridge.
    pub(crate) space: NamespaceId,
    /// Name of the bridge.
    pub(crate) name: String,
    /// Link-layer address, if the bridge has an IP address.
    pub(crate) mac: Option<MacAddress>,
    /// MTU, bytes. `None` for that of the wiring.
    pub(crate) mtu: Option<u32>,
}

/// VRF device: a separate routing table for the devices that are attached to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VrfDevice {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) name: String,
    /// Number of its routing table.
    pub(crate) table: u32,
}

/// One end of a device pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DevicePairEnd {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
    /// Link-layer address, if other hosts must know it.
    pub(crate) mac: Option<MacAddress>,
    /// Bridge or VRF that the device is attached to, in the same namespace.
    pub(crate) controller: Option<String>,
}

impl DevicePairEnd {
    /// Returns an end that is attached to no controller.
    pub(crate) fn new(space: NamespaceId, device: impl Into<String>) -> Self {
        Self { space, device: device.into(), mac: None, controller: None }
    }

    /// Returns the same end with a link-layer address that other hosts can know.
    pub(crate) fn with_mac(self, mac: MacAddress) -> Self {
        Self { mac: Some(mac), ..self }
    }

    /// Returns the same end, attached to a bridge or a VRF.
    pub(crate) fn attached_to(self, controller: impl Into<String>) -> Self {
        Self { controller: Some(controller.into()), ..self }
    }
}

/// Two devices, each of which receives the packets that the other sends.
#[derive(Clone, Debug)]
pub(crate) struct DevicePair {
    /// Kind of the pair.
    pub(crate) kind: &'static dyn DevicePairKind,
    /// End in whose namespace the pair is made.
    pub(crate) near: DevicePairEnd,
    /// The other end.
    pub(crate) far: DevicePairEnd,
    /// Rate limit in each direction. `None` for no limit.
    pub(crate) rate: Option<BitsPerSecond>,
    /// MTU, bytes. `None` for that of the wiring.
    pub(crate) mtu: Option<u32>,
}

impl DevicePair {
    /// Returns a veth pair without a rate limit.
    pub(crate) fn new(near: DevicePairEnd, far: DevicePairEnd) -> Self {
        Self { kind: &Veth, near, far, rate: None, mtu: None }
    }

    /// Returns the same pair, limited to the rate in each direction if there is one.
    pub(crate) fn limited_to(self, rate: Option<BitsPerSecond>) -> Self {
        Self { rate, ..self }
    }

    /// Returns both ends, the near one first.
    pub(crate) fn ends(&self) -> [&DevicePairEnd; 2] {
        [&self.near, &self.far]
    }

    /// Returns the token bucket of each end. Returns `None` if the pair has no rate limit.
    pub(crate) fn bucket(&self, wiring: &Wiring) -> Option<TokenBucket> {
        self.rate.map(|rate| TokenBucket::new(rate, self.mtu.unwrap_or(wiring.mtu)))
    }
}
