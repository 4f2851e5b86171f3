//! The lab's address plan: one slot, three addresses.
//!
//! Every interface has a [`Slot`]: a network and a number in it. Its IPv4, IPv6 and link-layer addresses follow from
//! the slot, so that nobody has to ask the kernel for any of them. Nothing routes out of the lab; the ranges are private
//! ones (RFC 1918, RFC 4193) so that a mistake cannot reach anybody else.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::Family;

/// A link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mac([u8; 6]);

impl Mac {
    /// That of every device by which a node of Calico's has its containers.
    pub(crate) const CALICO: Self = Self([0xee; 6]);

    /// Its bytes.
    pub(crate) fn bytes(self) -> [u8; 6] {
        self.0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A network of the lab's: 10.N.0.0/16 and fd00:0:0:N::/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subnet(u8);

impl Subnet {
    /// Between nodes.
    pub(crate) const UNDERLAY: Self = Self(20);
    /// Of veth pairs that join two containers directly.
    pub(crate) const PAIRS: Self = Self(40);
    /// Of containers of all nodes that are on one network.
    pub(crate) const OVERLAY: Self = Self(60);
    /// The ends of tunnels.
    pub(crate) const TUNNELS: Self = Self(61);

    /// Of pipework's own bridge on a node.
    pub(crate) const PIPEWORK: Self = Self(60);

    /// Docker's default bridge on a node.
    pub(crate) fn docker(node: u8) -> Self {
        Self(100 + node)
    }

    /// The interface of this number.
    pub(crate) fn slot(self, number: u16) -> Slot {
        Slot { subnet: self, number }
    }

    /// Its prefix, as `10.100.0.0/16`.
    pub(crate) fn prefix(self, family: Family) -> String {
        format!("{}/{}", self.slot(0).address(family), prefix_length(family))
    }
}

/// The length of every subnet's prefix, bits.
pub(crate) fn prefix_length(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 16,
        Family::Ipv6 => 64,
    }
}

/// The prefix of an address alone.
pub(crate) fn host_prefix(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 32,
        Family::Ipv6 => 128,
    }
}

/// An interface's place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    subnet: Subnet,
    number: u16,
}

impl Slot {
    /// Its number in its subnet.
    pub(crate) fn number(self) -> u16 {
        self.number
    }

    /// Its IP address.
    pub(crate) fn address(self, family: Family) -> IpAddr {
        let Subnet(net) = self.subnet;
        let [high, low] = self.number.to_be_bytes();
        match family {
            Family::Ipv4 => Ipv4Addr::new(10, net, high, low).into(),
            Family::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, net.into(), 0, 0, 0, self.number).into(),
        }
    }

    /// Its link-layer address, made of the IPv4 address as Docker long did.
    pub(crate) fn mac(self) -> Mac {
        let Subnet(net) = self.subnet;
        let [high, low] = self.number.to_be_bytes();
        Mac([0x02, 0x42, 10, net, high, low])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_addresses_follow_from_the_slot() {
        let slot = Subnet::docker(1).slot(258);
        assert_eq!(slot.address(Family::Ipv4).to_string(), "10.101.1.2");
        assert_eq!(slot.address(Family::Ipv6).to_string(), "fd00:0:0:65::102");
        assert_eq!(slot.mac().to_string(), "02:42:0a:65:01:02");
        assert_eq!(Subnet::docker(1).prefix(Family::Ipv4), "10.101.0.0/16");
        assert_eq!(Subnet::docker(1).prefix(Family::Ipv6), "fd00:0:0:65::/64");
    }
}
