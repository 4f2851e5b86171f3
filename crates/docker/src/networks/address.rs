//! Addresses of the engine's machine, and prefixes for new networks.

use crate::engine_resources::EngineResources;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use tare_network::Error;

/// Makes a 64-bit prefix for a network of one run: a unique local address with a random identifier (RFC 4193, 3.2.2).
pub(crate) fn random_ipv6_prefix() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    let part = |shift: u32| u16::try_from(random >> shift & 0xffff).unwrap_or_default();
    let first = 0xfd00 | (part(0) & 0xff);
    format!("{}/64", Ipv6Addr::new(first, part(16), part(32), part(48), 0, 0, 0, 0))
}

/// Subnet, as Docker writes it: `172.17.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DockerSubnet {
    address: IpAddr,
    prefix_length: u32,
}

impl DockerSubnet {
    /// Parses a subnet. Returns `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let (address, bits) = (address.parse().ok()?, bits.parse().ok()?);
        let most = if matches!(address, IpAddr::V4(_)) { 32 } else { 128 };
        (bits <= most).then_some(Self { address, prefix_length: bits })
    }

    /// Returns whether an address is in the subnet.
    pub fn contains(self, address: IpAddr) -> bool {
        // Both addresses are extended at the end to 128 bits, so that leading bits of either family compare alike.
        let (left, right) = match (self.address, address) {
            (IpAddr::V4(left), IpAddr::V4(right)) => {
                (u128::from(u32::from(left)) << 96, u128::from(u32::from(right)) << 96)
            }
            (IpAddr::V6(left), IpAddr::V6(right)) => (u128::from(left), u128::from(right)),
            _ => return false,
        };
        (left ^ right).leading_zeros() >= self.prefix_length
    }
}

/// Returns the address of the engine's machine to which a client there connects: if possible, an address that the
/// machine does not have only because of Docker. Returns `None` if there are no addresses.
pub(crate) fn machine_address(addresses: &[IpAddr], dockers: &[DockerSubnet]) -> Option<IpAddr> {
    let is_dockers = |address: IpAddr| dockers.iter().any(|subnet| subnet.contains(address));
    let other = addresses.iter().find(|address| !is_dockers(**address));
    other.or(addresses.first()).copied()
}

/// Returns the subnets of all networks. Addresses of the machine in these subnets exist only because of Docker.
pub(super) fn docker_subnets(work: &EngineResources) -> Result<Vec<DockerSubnet>, Error> {
    let listing = work.engine().docker().list_networks(None);
    let networks = work.engine().request("list Docker's networks", listing)?;
    let configured = networks.into_iter().filter_map(|network| network.ipam?.config).flatten();
    Ok(configured.filter_map(|config| DockerSubnet::parse(&config.subnet?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_machines_own_address_is_preferred_to_a_bridges() {
        let [bridge, own] = [[172, 17, 0, 1], [192, 0, 2, 7]].map(IpAddr::from);
        let dockers =
            ["172.17.0.0/16", "fd00:1::/64"].map(|text| DockerSubnet::parse(text).unwrap());
        assert_eq!(machine_address(&[bridge, own], &dockers), Some(own));
        assert_eq!(machine_address(&[bridge], &dockers), Some(bridge));
        assert_eq!(machine_address(&[], &dockers), None);
        assert!(dockers[1].contains("fd00:1::7".parse().unwrap()));
        assert!(!dockers[1].contains("fd00:2::7".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[0-9a-f.:]{0,12}/?[0-9]{0,3}") {
            if let Some(subnet) = DockerSubnet::parse(&text) {
                prop_assert!(subnet.contains(subnet.address));
            }
        }
    }

    #[test]
    fn prefixes_are_unique_local_ones() {
        let prefix = random_ipv6_prefix();
        assert!(prefix.starts_with("fd") && prefix.ends_with("::/64"), "{prefix}");
        assert_ne!(prefix, random_ipv6_prefix());
    }
}
