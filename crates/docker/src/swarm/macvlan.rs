//! `swarm:macvlan`: tasks with macvlan devices on their nodes' uplinks, each node with addresses of its own.
//!
//! Docker has such a network in two parts: on every engine a network of configuration only, under one name, with the
//! node's own device and part of the subnet; and one network of the whole Swarm that is made from these. Only an engine
//! itself takes the former: so all engines have to be named.

use super::crew::Crew;
use super::members::Member;
use super::overlay::both_on;
use super::wanted::{On, Wanted};
use super::{OPTIONS, Recipe, Spread, place_of, script};
use crate::networks::laid::{Laid, Step, direct};
use crate::networks::node;
use crate::networks::ranges::Ranges;
use crate::want::Want;
use bollard::models::NetworkCreateRequest;
use std::collections::HashMap;
use tare_network::{About, Error, Family, Hop, HopKind, Shape, Site};

pub(super) struct Macvlan;

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
        let ranges = Ranges::fresh();
        let of_nodes = crew.swarm.work.unique("config");
        for (index, member) in (0_u32..).zip(nodes.nodes) {
            let engine = crew.engine(member)?;
            let parent = &parents[index as usize];
            crew.network_on(&engine, &of_nodes, of_node(ranges, index, parent, shape))?;
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

/// The part of the network that is one node's.
fn of_node(ranges: Ranges, index: u32, parent: &str, shape: &Shape) -> NetworkCreateRequest {
    let mut options = HashMap::from([("parent".to_owned(), parent.to_owned())]);
    if shape.mtu != crate::networks::laid::USUAL_MTU {
        options.insert("com.docker.network.driver.mtu".to_owned(), shape.mtu.to_string());
    }
    NetworkCreateRequest {
        config_only: Some(true),
        ipam: Some(ranges.of(index)),
        options: Some(options),
        ..NetworkCreateRequest::default()
    }
}
