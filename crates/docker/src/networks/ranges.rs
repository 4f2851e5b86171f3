//! Addresses for a network that several engines share: one subnet, of which each engine assigns a range of its own.

use bollard::models::{Ipam, IpamConfig};
use std::hash::{BuildHasher as _, RandomState};
use std::net::Ipv4Addr;

/// Block of addresses for benchmarks of interconnected networks (RFC 2544, appendix C.2.2): 198.18.0.0/15.
const BENCHMARK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const BENCHMARK_PREFIX: u32 = 15;

/// Prefix lengths of a network's subnet, and of an engine's range in it, bits.
const SUBNET_PREFIX: u32 = 22;
const RANGE_PREFIX: u32 = 27;

/// Subnet of a network, with its ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineRanges(Ipv4Addr);

impl EngineRanges {
    /// Chooses a random subnet, which other networks are unlikely to use.
    pub fn random() -> Self {
        let random = RandomState::new().hash_one(std::process::id());
        let which =
            u32::try_from(random % (1 << (SUBNET_PREFIX - BENCHMARK_PREFIX))).unwrap_or_default();
        Self(Ipv4Addr::from(u32::from(BENCHMARK) + (which << (32 - SUBNET_PREFIX))))
    }

    /// Returns the address configuration of an engine. The first range is left unused, because the gateway is in it.
    pub fn ipam_for_engine(self, engine: u32) -> Ipam {
        let first = u32::from(self.0) + ((engine + 1) << (32 - RANGE_PREFIX));
        let config = IpamConfig {
            subnet: Some(format!("{}/{SUBNET_PREFIX}", self.0)),
            ip_range: Some(format!("{}/{RANGE_PREFIX}", Ipv4Addr::from(first))),
            ..IpamConfig::default()
        };
        Ipam { config: Some(vec![config]), ..Ipam::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::address::DockerSubnet;

    #[test]
    fn every_engine_has_a_range_of_its_own_in_the_one_subnet() {
        let whole = DockerSubnet::parse("198.18.0.0/15").unwrap();
        for _ in 0..20 {
            let ranges = EngineRanges::random();
            assert!(whole.contains(ranges.0.into()));
            let own = DockerSubnet::parse(&format!("{}/{SUBNET_PREFIX}", ranges.0)).unwrap();
            let mut seen = Vec::new();
            for engine in 0..31 {
                let range =
                    ranges.ipam_for_engine(engine).config.unwrap().remove(0).ip_range.unwrap();
                let first = range.split('/').next().unwrap().parse().unwrap();
                assert!(own.contains(first), "{range}");
                assert!(!seen.contains(&range) && first != ranges.0);
                seen.push(range);
            }
        }
    }
}
