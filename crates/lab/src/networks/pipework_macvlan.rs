//! `pipework-macvlan`: containers on Docker's bridge, each with a second interface on the node's uplink.
//!
//! It is what the shell script pipework does by `pipework eth0 CONTAINER ADDRESS`.

use super::bridge_plain::{Bridged, bridged};
use super::pipework::SECOND;
use super::{Recipe, hung};
use crate::layout::{Endpoint, Layout, Proof, routes, server_of};
use crate::nodes::BRIDGED_PAST_NETFILTER;
use crate::uplink::{By, Hung, hang, introduce, path, room, slot};
use crate::wiring::MacvlanMode;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct PipeworkMacvlan;

impl Recipe for PipeworkMacvlan {
    fn about(&self) -> About {
        About {
            name: "pipework-macvlan",
            summary: "two containers with a second interface each, a macvlan device on the uplink",
            stands_for: "pipework eth0 CONTAINER ADDRESS: its steps, not the script itself",
            source: "https://github.com/jpetazzo/pipework",
            options: &NetworkOption::HUNG,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        hung("macvlan")
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        const BY: By = By::Macvlan(MacvlanMode::Bridge);
        room("pipework-macvlan", shape)?;
        let Bridged { mut layout, node, servers, clients, .. } =
            bridged("pipework-macvlan", shape, site, &BRIDGED_PAST_NETFILTER)?;
        let hung: Vec<Hung> = (0..)
            .zip(servers.iter().chain(&clients))
            .map(|(number, one)| Hung { space: one.space, slot: slot(number) })
            .collect();
        for one in &hung {
            hang(&mut layout.wiring, node, BY, *one, SECOND);
        }
        let (servers, clients) = hung.split_at(servers.len());
        for (index, client) in clients.iter().enumerate() {
            let server = servers[server_of(index, shape)];
            introduce(&mut layout.wiring, node, BY, [*client, server], SECOND);
        }
        let address = |one: &Hung| one.slot.address(shape.family);
        let endpoint = |one: &Hung| Endpoint { space: Some(one.space), address: address(one) };
        layout.servers = servers.iter().map(endpoint).collect();
        layout.clients = clients.iter().map(endpoint).collect();
        layout.routes =
            routes(shape, site, |_, server| (address(&servers[server]), address(&servers[server])));
        layout.path = path(BY, clients[0].space, servers[0].space, SECOND);
        layout.proof = Some(Proof::Device { space: clients[0].space, name: SECOND.to_owned() });
        Ok(layout)
    }
}
