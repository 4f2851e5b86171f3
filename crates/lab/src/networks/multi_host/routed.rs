//! `routed`: a bridge on each node, and plain routes between the nodes' container networks.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::backbone::Backbone;
use crate::plan::layout::{Layout, Waypoint};
use crate::plan::node_containers;
use crate::plan::node_containers::NodeContainers;
use crate::plan::underlay::{MOST_NODES, ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct RoutedNetwork;

impl LabNetworkDefinition for RoutedNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "routed",
            summary: "plain routes between the nodes' container networks, a bridge on each",
            stands_for: "flannel's host-gw, kube-router, static routes; without their netfilter rules",
            source: "flannel, pkg/backend/hostgw; CNI plugins, plugins/main/bridge",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.push(Requirement::Nodes(2));
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout_over("routed", Backbone::Routes, shape, site)
    }
}

/// Lays out containers on a bridge of each node, and a backbone between the nodes.
pub(crate) fn layout_over(
    name: &str,
    backbone: Backbone,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_nodes(name, 2, shape)?;
    let inside = inner_mtu(shape, &parse_link(shape)?, backbone.headers());
    let mut wiring = Wiring::new(shape.family, inside);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    let pods = node_containers::add_on_bridges(&mut wiring, &underlay, shape, site);
    backbone.add(&mut wiring, &underlay);
    let path = path(&underlay, &pods, backbone);
    Ok(pods.layout(wiring, path, shape, site))
}

/// Returns the path from client 0 to its server.
fn path(underlay: &Underlay, pods: &NodeContainers, backbone: Backbone) -> Vec<Waypoint> {
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let mut path = node_containers::path_to_bridge(underlay, client);
    path.extend(backbone.path(underlay, client.node, server.node));
    path.extend(node_containers::path_to_bridge(underlay, server).into_iter().rev());
    path
}
