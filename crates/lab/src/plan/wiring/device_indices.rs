//! Indices of all devices of a wiring.
//!
//! Each is unique in the whole wiring: before Linux 6.15 the kernel refuses to make a device from within another
//! namespace if that namespace has a device of the same index (net/core/rtnetlink.c, `__rtnl_newlink`).

use super::{NamespaceId, Wiring};
use std::collections::HashMap;
use tare_network::Error;
use tare_sandbox::netlink::DeviceRef;

/// First index of the lab's own devices. If tunnel drivers are loaded, the kernel adds their devices to new namespaces
/// (`tunl0`, `sit0` …), numbered from 2.
const FIRST: u32 = 100;

/// Index of every device of a wiring, by namespace and name.
pub(super) struct DeviceIndices(HashMap<(NamespaceId, String), u32>);

impl DeviceIndices {
    /// Numbers the devices in the order in which they are made.
    pub(super) fn from_wiring(wiring: &Wiring) -> Self {
        let devices = wiring.devices().map(|(space, name)| (space, name.to_owned()));
        let mut indices: HashMap<_, _> = devices.zip(FIRST..).collect();
        let spaces = (0..wiring.spaces.len()).map(NamespaceId);
        let DeviceRef { name, index } = DeviceRef::LOOPBACK;
        indices.extend(spaces.map(|space| ((space, name.to_owned()), index)));
        Self(indices)
    }

    /// Returns the index of a device.
    pub(super) fn get(&self, space: NamespaceId, name: &str) -> Result<u32, Error> {
        self.0.get(&(space, name.to_owned())).copied().ok_or_else(|| {
            Error::new(format!("find the device {name}"), "the wiring has no device of this name")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::wiring::{DevicePair, DevicePairEnd};
    use tare_network::Family;

    #[test]
    fn no_two_devices_have_the_same_index() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let [node, client] = ["node-0", "client-0"].map(|name| wiring.add_namespace(name, &[]));
        wiring.add_bridge(node, "br0", None);
        wiring.device_pairs.push(DevicePair::new(
            DevicePairEnd::new(node, "veth-c0"),
            DevicePairEnd::new(client, "eth0"),
        ));
        let indices = DeviceIndices::from_wiring(&wiring);
        let index = |space, name| indices.get(space, name).unwrap();
        let all = [index(node, "br0"), index(node, "veth-c0"), index(client, "eth0")];
        assert_eq!(all, [100, 101, 102]);
        assert_eq!((index(node, "lo"), index(client, "lo")), (1, 1));
        assert!(indices.get(client, "br0").is_err());
    }
}
