//! `pipework`: containers on Docker's bridge, each with a second interface on a bridge beside it.
//!
//! It is what the shell script pipework does by `pipework br1 CONTAINER ADDRESS`, with its names. The script itself is
//! not run: it looks for containers of a container engine.

use super::bridge::{AFTER_THE_BRIDGE, DOCKER_HOST, docker_needs, tracked};
use super::bridge_plain::{Bridged, bridged};
use super::{Recipe, wired};
use crate::address::{Slot, Subnet};
use crate::docker::host_rules;
use crate::layout::{Endpoint, Layout, Proof, Waypoint, routes, server_of};
use crate::nodes::{BRIDGED_PAST_NETFILTER, Node, Plugged};
use crate::wiring::{Cable, End, Rules, Wiring};
use tare_network::{About, Error, Family, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Pipework;

/// The second bridge.
const BRIDGE: &str = "br1";
/// A container's second interface: what pipework calls it unless told otherwise.
pub(super) const SECOND: &str = "eth1";
/// What an administrator adds where Docker drops what it does not know.
const ACCEPTED: &str = "iifname \"br1\" oifname \"br1\"";

impl Recipe for Pipework {
    fn about(&self) -> About {
        About {
            name: "pipework",
            summary: "two containers on a second bridge, each by a veth pair with a fixed address",
            stands_for: "pipework br1 CONTAINER ADDRESS: its steps, not the script itself",
            source: "https://github.com/jpetazzo/pipework",
            options: &NetworkOption::WIRED,
        }
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        if site.options.plain { wired() } else { docker_needs() }
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let plain = site.options.plain;
        let sysctls = if plain { &BRIDGED_PAST_NETFILTER[..] } else { &DOCKER_HOST[..] };
        let Bridged { mut layout, node, subnet, servers, clients, .. } =
            bridged("pipework", shape, site, sysctls)?;
        layout.wiring.bridge(node.space, BRIDGE, None);
        let containers: Vec<Second> = (0..)
            .zip(servers.iter().chain(&clients))
            .map(|(number, one)| Second { on: *one, number })
            .collect();
        for one in &containers {
            one.plug(&mut layout.wiring, node, site);
        }
        let (servers, clients) = containers.split_at(servers.len());
        for (index, client) in clients.iter().enumerate() {
            let server = &servers[server_of(index, shape)];
            layout.wiring.neighbour(client.on.space, SECOND, server.slot());
            layout.wiring.neighbour(server.on.space, SECOND, client.slot());
        }
        layout.servers = servers.iter().map(|one| one.endpoint(shape.family)).collect();
        layout.clients = clients.iter().map(|one| one.endpoint(shape.family)).collect();
        layout.routes = routes(shape, site, |_, server| {
            let address = servers[server].slot().address(shape.family);
            (address, address)
        });
        layout.path = vec![
            Waypoint::device(HopKind::Veth, clients[0].on.space, SECOND),
            Waypoint::device(HopKind::Veth, node.space, clients[0].local()),
            Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
            Waypoint::device(HopKind::Veth, node.space, servers[0].local()),
            Waypoint::device(HopKind::Veth, servers[0].on.space, SECOND),
        ];
        layout.proof = Some(Proof::Device { space: node.space, name: servers[0].local() });
        if !plain {
            filter(&mut layout, node, subnet);
        }
        Ok(layout)
    }
}

/// Docker's rules, through which the second bridge's packets go as well, and the one that lets them pass.
fn filter(layout: &mut Layout, node: Node, subnet: Subnet) {
    let family = layout.wiring.family;
    let table = match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    };
    let mut text = host_rules(family, subnet, &[]);
    text.push_str(&format!("add rule {table} filter DOCKER-USER {ACCEPTED} counter accept\n"));
    layout.wiring.rules.push(Rules { space: node.space, text });
    let place = layout.wiring.name(node.space);
    let accepted = Hop::new(HopKind::Filter, "filter/DOCKER-USER", place)
        .with_detail(format!("{ACCEPTED} counter accept"));
    let rules = [tracked(place), accepted];
    layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
    layout.proof = Some(Proof::Rule { space: node.space, rule: ACCEPTED });
}

/// A container, and its number, which is used where pipework uses a process's.
struct Second {
    on: Plugged,
    number: u16,
}

impl Second {
    /// Its place in the address plan.
    fn slot(&self) -> Slot {
        Subnet::PIPEWORK.slot(1 + self.number)
    }

    /// The node's end of its cable.
    fn local(&self) -> String {
        format!("v{SECOND}pl{}", self.number)
    }

    fn endpoint(&self, family: Family) -> Endpoint {
        Endpoint { space: Some(self.on.space), address: self.slot().address(family) }
    }

    /// Lays the cable, with the fixed address.
    fn plug(&self, wiring: &mut Wiring, node: Node, site: &Site) {
        let near = End::new(node.space, self.local()).plugged_into(BRIDGE);
        let far = End::new(self.on.space, SECOND).with_mac(self.slot().mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        wiring.address(self.on.space, SECOND, self.slot());
    }
}
