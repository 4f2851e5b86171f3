//! Address plan of the lab: one slot, three addresses.
//!
//! Every interface has a [`InterfaceSlot`]: a network and a number in it. Its IPv4, IPv6 and link-layer addresses
//! follow from the slot, so that the kernel need not be queried for any of them. Nothing routes out of the lab; the
//! ranges are private (RFC 1918, RFC 4193), so that a mistake cannot reach other machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::Family;
use tare_sandbox::netlink::MacAddress;

/// Network of the lab: 10.N.0.0/16 and fd00:0:0:N::/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabSubnet(u8);

impl LabSubnet {
    /// Network between the nodes.
    pub(crate) const UNDERLAY: Self = Self(20);
    /// Network of the veth pairs that join two containers directly.
    pub(crate) const PAIRS: Self = Self(40);
    /// Network of the containers of all nodes that share one network.
    pub(crate) const OVERLAY: Self = Self(60);
    /// Network of the ends of tunnels.
    pub(crate) const TUNNELS: Self = Self(61);

    /// Network of pipework's own bridge on a node.
    pub(crate) const PIPEWORK: Self = Self(60);

    /// Network of the addresses of Kubernetes' services.
    pub(crate) const SERVICES: Self = Self(96);
    /// Network of the endpoints of services that nobody uses; no container has one of its addresses.
    pub(crate) const MADE_UP: Self = Self(97);

    /// Returns the network of Docker's default bridge on a node.
    pub(crate) fn docker(node: u8) -> Self {
        Self(100 + node)
    }

    /// Returns the slot of this number.
    pub(crate) fn slot(self, number: u16) -> InterfaceSlot {
        InterfaceSlot { subnet: self, number }
    }

    /// Returns the prefix, as `10.100.0.0/16`.
    pub(crate) fn prefix(self, family: Family) -> String {
        format!("{}/{}", self.slot(0).address(family), prefix_length(family))
    }
}

/// Returns the length of every subnet's prefix, bits.
pub(crate) fn prefix_length(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 16,
        Family::Ipv6 => 64,
    }
}

/// Returns the length of the prefix of a single address, bits.
pub(crate) fn host_prefix(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 32,
        Family::Ipv6 => 128,
    }
}

/// Slot of an interface in the address plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceSlot {
    subnet: LabSubnet,
    number: u16,
}

impl InterfaceSlot {
    /// Returns the number of the slot in its subnet.
    pub(crate) fn number(self) -> u16 {
        self.number
    }

    /// Returns the IP address of this family.
    pub(crate) fn address(self, family: Family) -> IpAddr {
        let LabSubnet(net) = self.subnet;
        let [high, low] = self.number.to_be_bytes();
        match family {
            Family::Ipv4 => Ipv4Addr::new(10, net, high, low).into(),
            Family::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, net.into(), 0, 0, 0, self.number).into(),
        }
    }

    /// Returns the link-layer address. It is derived from the IPv4 address, as Docker did for a long time.
    pub(crate) fn mac(self) -> MacAddress {
        let LabSubnet(net) = self.subnet;
        let [high, low] = self.number.to_be_bytes();
        MacAddress::new([0x02, 0x42, 10, net, high, low])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_addresses_follow_from_the_slot() {
        let slot = LabSubnet::docker(1).slot(258);
        assert_eq!(slot.address(Family::Ipv4).to_string(), "10.101.1.2");
        assert_eq!(slot.address(Family::Ipv6).to_string(), "fd00:0:0:65::102");
        assert_eq!(slot.mac().to_string(), "02:42:0a:65:01:02");
        assert_eq!(LabSubnet::docker(1).prefix(Family::Ipv4), "10.101.0.0/16");
        assert_eq!(LabSubnet::docker(1).prefix(Family::Ipv6), "fd00:0:0:65::/64");
    }
}
