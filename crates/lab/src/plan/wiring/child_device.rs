//! Child devices: macvlan, ipvlan, VLAN and tunnel devices.

use super::{Encapsulation, NamespaceId};
use crate::plan::address::MacAddress;

/// Parent of a child device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParentDevice {
    /// Namespace of the parent. It can be another one than the child's.
    pub(crate) space: NamespaceId,
    /// Name of the parent.
    pub(crate) device: String,
}

impl ParentDevice {
    /// Returns the device of this name in a namespace as a parent.
    pub(crate) fn new(space: NamespaceId, device: impl Into<String>) -> Self {
        Self { space, device: device.into() }
    }
}

/// Mode in which the macvlan devices of one parent reach each other (ip-link(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacvlanMode {
    /// The devices reach each other directly.
    Bridge,
}

/// Mode in which ipvlan devices handle packets (Documentation/networking/ipvlan.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpvlanMode {
    /// The devices switch frames. All have the parent's link-layer address, and their IP addresses distinguish them.
    L2,
    /// The devices route packets, without neighbour discovery.
    L3,
}

/// Kind of a child device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChildDeviceKind {
    /// A second device on a parent, with a link-layer address of its own.
    Macvlan {
        /// Parent device.
        parent: ParentDevice,
        /// Mode in which the devices of one parent reach each other.
        mode: MacvlanMode,
    },
    /// A second device on a parent, with the parent's link-layer address.
    Ipvlan {
        /// Parent device.
        parent: ParentDevice,
        /// Mode in which the device handles packets.
        mode: IpvlanMode,
    },
    /// A tunnel, whose packets leave by the parent.
    Tunnel {
        /// Parent device.
        parent: ParentDevice,
        /// Encapsulation of the packets.
        wrap: Encapsulation,
    },
    /// A device for the frames of a parent that carry a tag (IEEE 802.1Q).
    Vlan {
        /// Parent device.
        parent: ParentDevice,
        /// VLAN identifier of the tag.
        id: u16,
    },
}

impl ChildDeviceKind {
    /// Returns the parent, if the kind has one.
    pub(crate) fn parent(&self) -> Option<&ParentDevice> {
        match self {
            Self::Macvlan { parent, .. }
            | Self::Ipvlan { parent, .. }
            | Self::Tunnel { parent, .. }
            | Self::Vlan { parent, .. } => Some(parent),
        }
    }
}

/// Child device of a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChildDevice {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) name: String,
    /// Link-layer address, if other hosts must know it.
    pub(crate) mac: Option<MacAddress>,
    /// MTU, bytes. `None` for that of the wiring.
    pub(crate) mtu: Option<u32>,
    /// Bridge or VRF that the device is attached to, in the same namespace.
    pub(crate) controller: Option<String>,
    /// Kind of the device.
    pub(crate) kind: ChildDeviceKind,
}

impl ChildDevice {
    /// Returns a device that is attached to no controller.
    pub(crate) fn new(space: NamespaceId, name: impl Into<String>, kind: ChildDeviceKind) -> Self {
        Self { space, name: name.into(), mac: None, mtu: None, controller: None, kind }
    }

    /// Returns the same device with a link-layer address that other hosts can know.
    pub(crate) fn with_mac(self, mac: MacAddress) -> Self {
        Self { mac: Some(mac), ..self }
    }

    /// Returns the parent if it is in another namespace.
    pub(crate) fn foreign_parent(&self) -> Option<&ParentDevice> {
        self.kind.parent().filter(|parent| parent.space != self.space)
    }
}
