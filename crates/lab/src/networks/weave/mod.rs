//! Weave Net: one network over all nodes, with a bridge on each and a router that carries its frames. Each mode is a
//! network: `weave-sleeve`, `weave-sleeve-encrypted`, `weave-fastdp`.

pub(crate) mod weave_fastdp;
pub(crate) mod weave_sleeve;
pub(crate) mod weave_sleeve_encrypted;
pub(crate) mod weaver;

use crate::networks::weave::weaver::{
    BRIDGE, CABLE, DATAPATH, FAST_CABLE, TUNNEL, WeaveMode, WeaveRouter,
};
use crate::networks::{
    Confidentiality, LabNetworkDefinition, query_probe, veth_and_bridge_requirements,
};
use crate::plan::address::LabSubnet;
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers::{NodeContainer, NodeContainers};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, UPLINK};
use crate::plan::underlay::{MOST_NODES, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{DevicePair, DevicePairEnd, Wiring};
use crate::random_key;
use crate::stand_ins::weave_sleeve::PROCESS_NAME;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::Sandbox;

/// Room that Weave leaves in a link's MTU, bytes: in all modes its containers have 1376 of 1500 (`docs/mtu.md`).
const HEADERS: u32 = 124;

/// Weave Net in one of its modes.
pub(crate) struct WeaveNetwork {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) stands_for: &'static str,
    pub(crate) mode: WeaveMode,
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

/// Text of `stands_for` for both forms of sleeve mode.
pub(crate) const SLEEVE: &str = "Weave Net's sleeve mode: weaver where it is on the PATH and the kernel has what it needs, else a forwarder of tare's own in its place";

impl LabNetworkDefinition for WeaveNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: self.stands_for,
            source: "weaveworks/weave, docs/router-encapsulation.md, router/sleeve.go",
            options: &[NetworkOption::Rate],
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.push(Requirement::Nodes(2));
        needs.extend(query_probe(self.sandbox.as_ref(), |probe| self.mode.requirements(probe)));
        needs
    }

    fn confidentiality(&self) -> Confidentiality {
        match self.mode {
            WeaveMode::SleeveEncrypted => Confidentiality::Encrypted,
            WeaveMode::Sleeve | WeaveMode::Fastdp => Confidentiality::Plain,
        }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let Self { name, mode, .. } = *self;
        check_nodes(name, 2, shape)?;
        let mut wiring = Wiring::new(shape.family, inner_mtu(shape, &parse_link(shape)?, HEADERS));
        let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
        underlay.add_ipv4(&mut wiring);
        let router = query_probe(self.sandbox.as_ref(), |probe| mode.router(probe));
        let pods = add_containers(&mut wiring, &underlay, (router, mode), shape, site);
        let reason = query_probe(self.sandbox.as_ref(), |probe| weaver::missing_weaver(probe))
            .unwrap_or_default();
        let key = match mode {
            WeaveMode::SleeveEncrypted => {
                Some(random_key::to_hex(&random_key::random_bytes::<32>()?))
            }
            WeaveMode::Sleeve | WeaveMode::Fastdp => None,
        };
        // The key file has digits without a prefix.
        let key = key.as_deref().map(|key| key.trim_start_matches("0x"));
        for (at, &node) in underlay.nodes.iter().enumerate() {
            let mine = pods.all().filter(|pod| pod.node == at);
            let ports: Vec<&str> = mine.map(|pod| pod.port.as_str()).collect();
            match router {
                WeaveRouter::StandIn => {
                    weaver::add_stand_in(&mut wiring, &underlay, node, key, &reason);
                }
                WeaveRouter::Weaver => {
                    weaver::add_weaver(&mut wiring, &underlay, node, mode, key, &ports);
                }
            }
        }
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let mut path = to_router(&underlay, (router, mode), client);
        path.extend(underlay.path(client.node, server.node));
        path.extend(to_router(&underlay, (router, mode), server).into_iter().rev());
        let near = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        // Packets that this device receives have been carried: with tare's router, from the bridge to it; with weaver,
        // from the other node.
        let device = match (router, mode) {
            (WeaveRouter::StandIn, _) => CABLE[1],
            (WeaveRouter::Weaver, WeaveMode::Fastdp) => TUNNEL,
            (WeaveRouter::Weaver, WeaveMode::Sleeve | WeaveMode::SleeveEncrypted) => CABLE[0],
        };
        layout.proof = Some(PathProof::Device { space: near, name: device.to_owned() });
        Ok(layout)
    }
}

/// Adds the containers, all in one subnet; Weave's own router plugs them into its bridge itself.
fn add_containers(
    wiring: &mut Wiring,
    underlay: &Underlay,
    (router, mode): (WeaveRouter, WeaveMode),
    shape: &Shape,
    site: &NetworkParameters,
) -> NodeContainers {
    let mut plugged = 0;
    let pods = NodeContainers::place(shape, |at, name, suffix| {
        let node = underlay.nodes[at];
        let slot = LabSubnet::OVERLAY.slot(2 + plugged);
        plugged += 1;
        let space = wiring.add_namespace(name, &[]);
        let port = format!("veth-{suffix}");
        let near = DevicePairEnd::new(node.space, port.as_str());
        let near = match router {
            WeaveRouter::StandIn => near.attached_to(BRIDGE),
            WeaveRouter::Weaver => near,
        };
        let far = DevicePairEnd::new(space, UPLINK).with_mac(slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        wiring.add_address(space, UPLINK, slot);
        if mode != WeaveMode::Fastdp {
            // The router carries frames unchanged, and does not do the work that a device would do for their offloads.
            // Weave leaves the frames of its fast data path to the kernel, too.
            wiring.without_tx_offload.push((space, UPLINK.to_owned()));
        }
        NodeContainer { node: at, space, slot, port }
    });
    for (client, server) in pods.pairs(shape) {
        wiring.add_neighbour(client.space, UPLINK, server.slot);
        wiring.add_neighbour(server.space, UPLINK, client.slot);
    }
    pods
}

/// Returns the path from a container to the router or tunnel that carries its frames to other nodes.
fn to_router(
    underlay: &Underlay,
    by: (WeaveRouter, WeaveMode),
    pod: &NodeContainer,
) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node].space;
    let mut path = vec![
        Waypoint::device(HopKind::Veth, pod.space, UPLINK),
        Waypoint::device(HopKind::Veth, node, pod.port.as_str()),
        Waypoint::device(HopKind::Bridge, node, BRIDGE),
    ];
    let [near, far] = CABLE;
    match by {
        (WeaveRouter::StandIn, _) => {
            let detail =
                format!("{PROCESS_NAME}, tare's stand-in for weaver: frames in UDP, by a process");
            path.push(Waypoint::device(HopKind::Veth, node, near));
            path.push(Waypoint::device_with_detail(HopKind::Forwarder, node, far, &detail));
        }
        (WeaveRouter::Weaver, WeaveMode::Sleeve | WeaveMode::SleeveEncrypted) => {
            let detail = "weaver: frames in UDP, by a process";
            path.push(Waypoint::device(HopKind::Veth, node, near));
            path.push(Waypoint::device_with_detail(HopKind::Forwarder, node, far, detail));
        }
        (WeaveRouter::Weaver, WeaveMode::Fastdp) => {
            let detail = "Open vSwitch in the kernel, configured by weaver";
            path.extend(FAST_CABLE.map(|end| Waypoint::device(HopKind::Veth, node, end)));
            path.push(Waypoint::device_with_detail(HopKind::Bridge, node, DATAPATH, detail));
            path.push(Waypoint::device_with_detail(HopKind::Encapsulation, node, TUNNEL, "VXLAN"));
        }
    }
    path
}
