//! `routed`: a bridge on each node, and plain routes between the nodes' container networks.

use super::{Recipe, wired};
use crate::backbone::Backbone;
use crate::layout::{Layout, Waypoint};
use crate::pods::{self, Pods};
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Routed;

impl Recipe for Routed {
    fn about(&self) -> About {
        About {
            name: "routed",
            summary: "plain routes between the nodes' container networks, a bridge on each",
            stands_for: "flannel's host-gw, kube-router, static routes; without their netfilter rules",
            source: "flannel, pkg/backend/hostgw; CNI plugins, plugins/main/bridge",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = wired();
        needs.push(Need::Nodes(2));
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        over("routed", Backbone::Routes, shape, site)
    }
}

/// Containers on a bridge of each node's, and a backbone between the nodes.
pub(super) fn over(
    name: &str,
    backbone: Backbone,
    shape: &Shape,
    site: &Site,
) -> Result<Layout, Error> {
    joins(name, 2, shape)?;
    let inside = mtu_inside(shape, &link_of(shape)?, backbone.headers());
    let mut wiring = Wiring::new(shape.family, inside);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    let pods = pods::on_bridges(&mut wiring, &underlay, shape, site);
    backbone.add(&mut wiring, &underlay);
    let path = path(&underlay, &pods, backbone);
    Ok(pods.layout(wiring, path, shape, site))
}

/// From client 0 to its server.
fn path(underlay: &Underlay, pods: &Pods, backbone: Backbone) -> Vec<Waypoint> {
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let mut path = pods::to_bridge(underlay, client);
    path.extend(backbone.path(underlay, client.node, server.node));
    path.extend(pods::to_bridge(underlay, server).into_iter().rev());
    path
}
