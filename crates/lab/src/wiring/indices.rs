//! The index of every device of a wiring.
//!
//! Each is unique in the whole wiring: before Linux 6.15 the kernel refuses a device that is made from within another
//! namespace where that one has a device of the same index (net/core/rtnetlink.c, `__rtnl_newlink`).

use super::{SpaceId, Wiring};
use std::collections::HashMap;
use tare_network::Error;

/// Where the lab's own device indices begin. The kernel gives new namespaces devices of its own where tunnel drivers are
/// loaded (`tunl0`, `sit0` …), numbered from 2.
const FIRST: u32 = 100;

/// The loopback device is the first of every network namespace.
const LOOPBACK: u32 = 1;

/// The index of every device of a wiring, by namespace and name.
pub(crate) struct Indices(HashMap<(SpaceId, String), u32>);

impl Indices {
    /// Numbers the devices in the order in which they are made.
    pub(crate) fn of(wiring: &Wiring) -> Self {
        let devices = wiring.devices().map(|(space, name)| (space, name.to_owned()));
        let mut indices: HashMap<_, _> = devices.zip(FIRST..).collect();
        let spaces = (0..wiring.spaces.len()).map(SpaceId);
        indices.extend(spaces.map(|space| ((space, "lo".to_owned()), LOOPBACK)));
        Self(indices)
    }

    /// The index of a device.
    pub(crate) fn get(&self, space: SpaceId, name: &str) -> Result<u32, Error> {
        self.0.get(&(space, name.to_owned())).copied().ok_or_else(|| {
            Error::new(format!("find the device {name}"), "the wiring has no such device")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiring::{Cable, End};
    use tare_network::Family;

    #[test]
    fn no_two_devices_have_the_same_index() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let [node, client] = ["node-0", "client-0"].map(|name| wiring.space(name, &[]));
        wiring.bridge(node, "br0", None);
        wiring.cables.push(Cable::new(End::new(node, "veth-c0"), End::new(client, "eth0")));
        let indices = Indices::of(&wiring);
        let index = |space, name| indices.get(space, name).unwrap();
        let all = [index(node, "br0"), index(node, "veth-c0"), index(client, "eth0")];
        assert_eq!(all, [100, 101, 102]);
        assert_eq!((index(node, "lo"), index(client, "lo")), (1, 1));
        assert!(indices.get(client, "br0").is_err());
    }
}
