//! `swarm:macvlan`: tasks with macvlan devices on their nodes' uplinks, each node with addresses of its own.
//!
//! Docker has such a network in two parts: on every engine a network of configuration only, under one name, with the
//! node's own device and part of the subnet; and one network of the whole Swarm that is made from these. Only an engine
//! itself takes the former: so all engines have to be named.

use super::crew::{Crew, On, Wanted};
use super::members::Member;
use super::overlay::both_on;
use super::{OPTIONS, Recipe, Spread, place_of, script};
use crate::networks::laid::{Laid, Step, direct};
use crate::networks::node;
use crate::want::Want;
use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::Ipv4Addr;
use tare_network::{About, Error, Family, Hop, HopKind, Shape, Site};

pub(super) struct Macvlan;

/// The addresses that are set aside for measuring between networks (RFC 2544, appendix C.2.2): 198.18.0.0/15.
const BENCHMARK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

/// What one run takes of them, and each node of that, bits.
const SUBNET: u32 = 22;
const RANGE: u32 = 27;

impl Recipe for Macvlan {
    fn about(&self) -> About {
        About {
            name: "swarm:macvlan",
            summary: "tasks of Docker services with macvlan devices on their nodes' uplinks",
            stands_for: "docker network create --config-only on each node, then --scope swarm --config-from",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        vec![Want::Driver("macvlan"), Want::Kernel("macvlan")]
    }

    fn has_room(&self, shape: &Shape) -> Result<(), Error> {
        if shape.family == Family::Ipv6 {
            let why = "its nodes get parts of an IPv4 subnet";
            return Err(Error::new("lay out swarm:macvlan", why).with_remedy("use --family ipv4"));
        }
        Ok(())
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let parents = parents(crew, nodes)?;
        let subnet = subnet();
        let of_nodes = crew.swarm.work.unique("config");
        for (index, member) in (0_u32..).zip(nodes.nodes) {
            let engine = crew.engine(member)?;
            let parent = &parents[index as usize];
            crew.network_on(&engine, &of_nodes, of_node(subnet, index, parent, shape))?;
        }
        let network = crew.network_of(&of_nodes, "macvlan")?;
        let (servers, clients) = both_on(crew, nodes, &network, shape)?;
        let client = nodes.client(0);
        let below = Hop::new(HopKind::Device, &parents[client], place_of(client));
        let path = vec![
            Step::ClientOwn(HopKind::Device),
            Step::Node(below.with_detail("driver macvlan, bridge")),
            Step::ServerOwn(HopKind::Device),
        ];
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![script::image()];
        lines.push("# on every node, with a range of its own:".to_owned());
        lines.push(
            "docker network create --config-only --subnet 198.18.0.0/22 --ip-range 198.18.0.32/27 \
             --opt parent=eth0 tare-config"
                .to_owned(),
        );
        lines.push(
            "docker network create --driver macvlan --scope swarm --config-from tare-config tare"
                .to_owned(),
        );
        lines.extend(script::both(shape, "--network tare"));
        lines
    }
}

/// The device of each node that the network sits on: as the user says, else its uplink, which a task there sees.
fn parents(crew: &Crew, nodes: &Spread<'_>) -> Result<Vec<String>, Error> {
    if let Some(parent) = crew.swarm.work.settings().parent.clone() {
        return Ok(vec![parent; nodes.nodes.len()]);
    }
    let look =
        |(index, member): (usize, &Member)| Wanted::new(format!("look-{index}"), member, On::Host);
    let wanted: Vec<Wanted> = nodes.nodes.iter().enumerate().map(look).collect();
    crew.look(&wanted)?.iter().map(node::parent).collect()
}

/// The part of the network that is one node's: the first range is nobody's, for it begins with the gateway.
fn of_node(subnet: Ipv4Addr, index: u32, parent: &str, shape: &Shape) -> NetworkCreateRequest {
    let first = u32::from(subnet) + ((index + 1) << (32 - RANGE));
    let mut options = HashMap::from([("parent".to_owned(), parent.to_owned())]);
    if shape.mtu != crate::networks::laid::USUAL_MTU {
        options.insert("com.docker.network.driver.mtu".to_owned(), shape.mtu.to_string());
    }
    NetworkCreateRequest {
        config_only: Some(true),
        ipam: Some(Ipam {
            config: Some(vec![IpamConfig {
                subnet: Some(format!("{subnet}/{SUBNET}")),
                ip_range: Some(format!("{}/{RANGE}", Ipv4Addr::from(first))),
                ..IpamConfig::default()
            }]),
            ..Ipam::default()
        }),
        options: Some(options),
        ..NetworkCreateRequest::default()
    }
}

/// A subnet of the addresses for measuring that other runs are unlikely to have.
fn subnet() -> Ipv4Addr {
    let random = RandomState::new().hash_one(std::process::id());
    let which = u32::try_from(random % (1 << (SUBNET - 15))).unwrap_or_default();
    Ipv4Addr::from(u32::from(BENCHMARK) + (which << (32 - SUBNET)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::address::Subnet;

    #[test]
    fn every_node_has_a_range_of_its_own_in_the_one_subnet() {
        for _ in 0..20 {
            let (whole, subnet) = (Subnet::parse("198.18.0.0/15").unwrap(), subnet());
            assert!(whole.contains(subnet.into()));
            let own = Subnet::parse(&format!("{subnet}/{SUBNET}")).unwrap();
            let mut ranges = Vec::new();
            for node in 0..u32::from(31_u8) {
                let request = of_node(subnet, node, "eth0", &Shape::default());
                let config = request.ipam.unwrap().config.unwrap().remove(0);
                let range = config.ip_range.unwrap();
                let first = range.split('/').next().unwrap().parse().unwrap();
                assert!(own.contains(first), "{range}");
                assert!(!ranges.contains(&range) && first != subnet);
                ranges.push(range);
            }
        }
    }
}
