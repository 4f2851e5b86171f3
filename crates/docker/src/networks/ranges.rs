//! Addresses for a network that several engines share: one subnet, of which each gives out a range of its own.

use bollard::models::{Ipam, IpamConfig};
use std::hash::{BuildHasher as _, RandomState};
use std::net::Ipv4Addr;

/// The addresses that are set aside for measuring between networks (RFC 2544, appendix C.2.2): 198.18.0.0/15.
const BENCHMARK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const BITS: u32 = 15;

/// What one network takes of them, and each engine of that, bits.
const SUBNET: u32 = 22;
const RANGE: u32 = 27;

/// A subnet with its ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges(Ipv4Addr);

impl Ranges {
    /// One that other networks are unlikely to have.
    pub(crate) fn fresh() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        let which = u32::try_from(random % (1 << (SUBNET - BITS))).unwrap_or_default();
        Self(Ipv4Addr::from(u32::from(BENCHMARK) + (which << (32 - SUBNET))))
    }

    /// What an engine is told. The first range is nobody's, for it begins with the gateway.
    pub(crate) fn of(self, engine: u32) -> Ipam {
        let first = u32::from(self.0) + ((engine + 1) << (32 - RANGE));
        let config = IpamConfig {
            subnet: Some(format!("{}/{SUBNET}", self.0)),
            ip_range: Some(format!("{}/{RANGE}", Ipv4Addr::from(first))),
            ..IpamConfig::default()
        };
        Ipam { config: Some(vec![config]), ..Ipam::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::address::Subnet;

    #[test]
    fn every_engine_has_a_range_of_its_own_in_the_one_subnet() {
        let whole = Subnet::parse("198.18.0.0/15").unwrap();
        for _ in 0..20 {
            let ranges = Ranges::fresh();
            assert!(whole.contains(ranges.0.into()));
            let own = Subnet::parse(&format!("{}/{SUBNET}", ranges.0)).unwrap();
            let mut seen = Vec::new();
            for engine in 0..31 {
                let range = ranges.of(engine).config.unwrap().remove(0).ip_range.unwrap();
                let first = range.split('/').next().unwrap().parse().unwrap();
                assert!(own.contains(first), "{range}");
                assert!(!seen.contains(&range) && first != ranges.0);
                seen.push(range);
            }
        }
    }
}
