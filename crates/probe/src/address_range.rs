//! Address ranges by which strangers are told apart: a single machine can have many addresses of one range.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of the range of one machine: an IPv4 address, or an IPv6 subnet (RFC 4291, 2.5.4).
const MACHINE_BITS: (u32, u32) = (32, 64);

/// Bits of the range of one site: the longest prefix that is routed on the Internet, of IPv4 and of IPv6 (RFC 7454,
/// 6.1.3).
const SITE_BITS: (u32, u32) = (24, 48);

/// Returns the first address of the range of one machine.
pub(crate) fn machine_range(address: IpAddr) -> IpAddr {
    range(address, MACHINE_BITS)
}

/// Returns the first address of the range of one site.
pub(crate) fn site_range(address: IpAddr) -> IpAddr {
    range(address, SITE_BITS)
}

/// Returns the address with all bits cleared but the first ones, of an IPv4 or an IPv6 address.
fn range(address: IpAddr, (ipv4_bits, ipv6_bits): (u32, u32)) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            Ipv4Addr::from_bits(address.to_bits() & !(u32::MAX >> 1 >> (ipv4_bits - 1))).into()
        }
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> ipv6_bits)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_the_beginning_of_an_address() {
        for (address, machine, site) in [
            ("192.0.2.77", "192.0.2.77", "192.0.2.0"),
            ("::ffff:192.0.2.77", "192.0.2.77", "192.0.2.0"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", "2001:db8:1::"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(machine_range(address).to_string(), machine);
            assert_eq!(site_range(address).to_string(), site);
        }
    }
}
