//! Child devices: macvlan, ipvlan, VLAN and tunnel devices.

use super::NamespaceId;
use std::sync::Arc;
use tare_sandbox::devices::ChildDeviceKind;
use tare_sandbox::netlink::MacAddress;

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

/// Child device of a parent.
#[derive(Clone, Debug)]
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
    /// Parent of the device.
    pub(crate) parent: ParentDevice,
    /// Kind of the device.
    pub(crate) kind: Arc<dyn ChildDeviceKind>,
}

impl ChildDevice {
    /// Returns a device that is attached to no controller.
    pub(crate) fn new(
        space: NamespaceId,
        name: impl Into<String>,
        parent: ParentDevice,
        kind: impl ChildDeviceKind + 'static,
    ) -> Self {
        let (name, kind) = (name.into(), Arc::new(kind));
        Self { space, name, mac: None, mtu: None, controller: None, parent, kind }
    }

    /// Returns the same device with a link-layer address that other hosts can know.
    pub(crate) fn with_mac(self, mac: MacAddress) -> Self {
        Self { mac: Some(mac), ..self }
    }
}
