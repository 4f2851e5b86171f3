//! Tests of devices that most kernels lack: packets pass them.

use crate::cases::{enter, raise};
use crate::harness::Case;
use crate::paths::{SENT, assert_passes, link_details, shape, traffic_of_exchange};
use tare_network::Family;

/// Networks, with the name of one of their devices and its kind in the output of ip(8).
const OF_OTHER_KERNELS: [(&str, &str, &str); 4] = [
    ("ipvlan-l2", "eth0", "ipvlan  mode l2"),
    ("ipvlan-l3", "eth0", "ipvlan  mode l3"),
    ("vlan", "vlan7", "vlan protocol 802.1Q id 7"),
    ("netkit", "eth0", "netkit"),
];

pub(crate) fn all() -> Vec<Case> {
    let name = "devices_of_other_kernels";
    let devices = OF_OTHER_KERNELS.map(|(network, device, kind)| {
        Case::of_network(name, network, move |network| carries_by(network, device, kind))
    });
    devices.into_iter().chain([Case::of_network(name, "vrf", vrf_carries)]).collect()
}

fn carries_by(name: &str, device: &str, kind: &str) {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let topology = raise(&sandbox, name, &shape(family));
        let client = topology.clients[0].as_ref();
        assert!(link_details(client, device).contains(kind), "{}", link_details(client, device));
        assert_passes(&topology, client, device);
        assert_passes(&topology, topology.servers[0].as_ref(), device);
    }
}

fn vrf_carries(name: &str) {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let topology = raise(&sandbox, name, &shape(family));
        let node = topology.nodes[0].as_ref();
        assert!(link_details(node, "veth-c0").contains("vrf_slave table 10"));
        // A VRF device counts the packets that its ports receive.
        let seen = traffic_of_exchange(&topology, node, "tenant");
        assert!(seen.received >= 2 * SENT, "{seen:?}");
    }
}
