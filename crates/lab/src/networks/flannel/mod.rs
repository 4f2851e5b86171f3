//! flannel: a bridge on each node, and a flanneld that sets up the connections between nodes. Each backend is a
//! network: `flannel-vxlan`, `flannel-udp`, `flannel-host-gw`, `flannel-ipip`, `flannel-wireguard`.

pub(crate) mod flannel_host_gw;
pub(crate) mod flannel_ipip;
pub(crate) mod flannel_udp;
pub(crate) mod flannel_vxlan;
pub(crate) mod flannel_wireguard;
pub(crate) mod flanneld;

use crate::networks::flannel::flanneld::FlannelBackend;
use crate::networks::{Confidentiality, LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers;
use crate::plan::underlay::{MOST_NODES, ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{
    Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

/// flannel with one of its backends.
pub(crate) struct FlannelNetwork {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) backend: FlannelBackend,
}

impl LabNetworkDefinition for FlannelNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: "flannel itself: a real flanneld on each node and an etcd, private to the lab",
            source: "flannel, Documentation/backends.md",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.push(Requirement::Nodes(2));
        needs.extend(flanneld::flannel_requirements(self.backend));
        needs
    }

    fn confidentiality(&self) -> Confidentiality {
        match self.backend {
            FlannelBackend::Wireguard => Confidentiality::Encrypted,
            _ => Confidentiality::Plain,
        }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let Self { name, backend, .. } = *self;
        check_nodes(name, 2, shape)?;
        if !backend.carries(shape.family) {
            let why = "this flannel backend carries IPv4 only";
            return Err(Error::new(format!("lay out {name}"), why).with_remedy(
                "use --family ipv4, or flannel-vxlan, flannel-host-gw, flannel-wireguard",
            ));
        }
        let inside = inner_mtu(shape, &parse_link(shape)?, backend.headers(shape.family));
        let mut wiring = Wiring::new(shape.family, inside);
        let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
        let pods = node_containers::add_on_bridges(&mut wiring, &underlay, shape, site);
        flanneld::add(&mut wiring, &underlay, backend);
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let device = |at: usize| {
            let node = underlay.nodes[at].space;
            backend.device(shape.family).map(|name| match backend {
                FlannelBackend::Udp => Waypoint::device_with_detail(
                    HopKind::Forwarder,
                    node,
                    name,
                    "the process flanneld",
                ),
                _ => Waypoint::device(HopKind::Encapsulation, node, name),
            })
        };
        let mut path = node_containers::path_to_bridge(&underlay, client);
        path.extend(device(client.node));
        path.extend(underlay.path(client.node, server.node));
        path.extend(device(server.node));
        path.extend(node_containers::path_to_bridge(&underlay, server).into_iter().rev());
        let near = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = backend
            .device(shape.family)
            .map(|name| PathProof::Device { space: near, name: name.to_owned() });
        Ok(layout)
    }
}
