//! Weave Net: one network over all nodes, a bridge on each, and a router that carries its frames. Its modes are networks of
//! their own: `weave-sleeve`, `weave-sleeve-encrypted`, `weave-fastdp`.

use super::{Recipe, Secrecy, ask_kernel, wired};
use crate::address::Subnet;
use crate::lab::Lab;
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{BRIDGED_PAST_NETFILTER, UPLINK};
use crate::pods::{Pod, Pods};
use crate::secret;
use crate::underlay::{MOST_NODES, Underlay, joins, link_of, mtu_inside};
use crate::weave::{self, BRIDGE, CABLE, DATAPATH, FAST_CABLE, Mode, Router, TUNNEL};
use crate::wiring::{Cable, End, Wiring};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

/// What Weave leaves free of a link's MTU, bytes: of 1500 its containers have 1376 (`docs/mtu.md`), in any of its modes.
const HEADERS: u32 = 124;

/// Weave Net in one of its modes.
pub(super) struct Weave {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) stands_for: &'static str,
    pub(super) mode: Mode,
    pub(super) lab: Option<Arc<Lab>>,
}

/// What either form of sleeve mode stands for.
pub(super) const SLEEVE: &str = "Weave Net's sleeve mode: weaver where it is on the PATH and the kernel has what it needs, else a forwarder of tare's own in its place";

impl Recipe for Weave {
    fn about(&self) -> About {
        About {
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

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = wired();
        needs.push(Need::Nodes(2));
        needs.extend(ask_kernel(self.lab.as_ref(), |probe| self.mode.needs(probe)));
        needs
    }

    fn secrecy(&self) -> Secrecy {
        match self.mode {
            Mode::SleeveEncrypted => Secrecy::Encrypted,
            Mode::Sleeve | Mode::Fastdp => Secrecy::Plain,
        }
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let Self { name, mode, .. } = *self;
        joins(name, 2, shape)?;
        let mut wiring = Wiring::new(shape.family, mtu_inside(shape, &link_of(shape)?, HEADERS));
        let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
        underlay.speak_ipv4(&mut wiring);
        let router = ask_kernel(self.lab.as_ref(), |probe| mode.router(probe));
        let pods = plug_in(&mut wiring, &underlay, (router, mode), shape, site);
        let key = match mode {
            Mode::SleeveEncrypted => Some(secret::hexadecimal(&secret::random::<32>()?)),
            Mode::Sleeve | Mode::Fastdp => None,
        };
        // Digits alone.
        let key = key.as_deref().map(|key| key.trim_start_matches("0x"));
        for (at, &node) in underlay.nodes.iter().enumerate() {
            let mine = pods.all().filter(|pod| pod.node == at);
            let ports: Vec<&str> = mine.map(|pod| pod.port.as_str()).collect();
            match router {
                Router::Ours => weave::ours(&mut wiring, &underlay, node, key),
                Router::Weaver => weave::weaver(&mut wiring, &underlay, node, mode, key, &ports),
            }
        }
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let mut path = to_router(&underlay, (router, mode), client);
        path.extend(underlay.path(client.node, server.node));
        path.extend(to_router(&underlay, (router, mode), server).into_iter().rev());
        let near = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        // What comes in by it has been carried: by the bridge to tare's own, else from the other node.
        let device = match (router, mode) {
            (Router::Ours, _) => CABLE[1],
            (Router::Weaver, Mode::Fastdp) => TUNNEL,
            (Router::Weaver, Mode::Sleeve | Mode::SleeveEncrypted) => CABLE[0],
        };
        layout.proof = Some(Proof::Device { space: near, name: device.to_owned() });
        Ok(layout)
    }
}

/// The containers, all in one network; a router of Weave's own plugs them in itself.
fn plug_in(
    wiring: &mut Wiring,
    underlay: &Underlay,
    (router, mode): (Router, Mode),
    shape: &Shape,
    site: &Site,
) -> Pods {
    let mut plugged = 0;
    let pods = Pods::spread(shape, |at, name, suffix| {
        let node = underlay.nodes[at];
        let slot = Subnet::OVERLAY.slot(2 + plugged);
        plugged += 1;
        let space = wiring.space(name, &[]);
        let port = format!("veth-{suffix}");
        let near = End::new(node.space, port.as_str());
        let near = match router {
            Router::Ours => near.plugged_into(BRIDGE),
            Router::Weaver => near,
        };
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        wiring.address(space, UPLINK, slot);
        if mode != Mode::Fastdp {
            // The router takes frames as they are, and does nothing to them that a device would. Weave, too, leaves what
            // its fast data path carries to the kernel.
            wiring.whole.push((space, UPLINK.to_owned()));
        }
        Pod { node: at, space, slot, port }
    });
    for (client, server) in pods.pairs(shape) {
        wiring.neighbour(client.space, UPLINK, server.slot);
        wiring.neighbour(server.space, UPLINK, client.slot);
    }
    pods
}

/// From a container to whoever carries its frames to other nodes.
fn to_router(underlay: &Underlay, by: (Router, Mode), pod: &Pod) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node].space;
    let mut path = vec![
        Waypoint::device(HopKind::Veth, pod.space, UPLINK),
        Waypoint::device(HopKind::Veth, node, pod.port.as_str()),
        Waypoint::device(HopKind::Bridge, node, BRIDGE),
    ];
    let [near, far] = CABLE;
    match by {
        (Router::Ours, _) => {
            let detail = "tare sleeve, which stands for weaver: frames in UDP, by a process";
            path.push(Waypoint::device(HopKind::Veth, node, near));
            path.push(Waypoint::told(HopKind::Forwarder, node, far, detail));
        }
        (Router::Weaver, Mode::Sleeve | Mode::SleeveEncrypted) => {
            let detail = "weaver: frames in UDP, by a process";
            path.push(Waypoint::device(HopKind::Veth, node, near));
            path.push(Waypoint::told(HopKind::Forwarder, node, far, detail));
        }
        (Router::Weaver, Mode::Fastdp) => {
            let detail = "Open vSwitch in the kernel, told by weaver";
            path.extend(FAST_CABLE.map(|end| Waypoint::device(HopKind::Veth, node, end)));
            path.push(Waypoint::told(HopKind::Bridge, node, DATAPATH, detail));
            path.push(Waypoint::told(HopKind::Encapsulation, node, TUNNEL, "VXLAN"));
        }
    }
    path
}
