//! flannel: a bridge on each node, and a flanneld that sees to the ways between them. Its backends are networks of their
//! own: `flannel-vxlan`, `flannel-udp`, `flannel-host-gw`, `flannel-ipip`, `flannel-wireguard`.

use super::{Recipe, Secrecy, wired};
use crate::flannel::{self, Backend};
use crate::layout::{Layout, Proof, Waypoint};
use crate::pods;
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::Wiring;
use std::ops::RangeInclusive;
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

/// flannel with one of its backends.
pub(super) struct Flannel {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) backend: Backend,
}

impl Recipe for Flannel {
    fn about(&self) -> About {
        About {
            name: self.name,
            summary: self.summary,
            stands_for: "flannel itself: a real flanneld on each node and an etcd, private to the lab",
            source: "flannel, Documentation/backends.md",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = wired();
        needs.push(Need::Nodes(2));
        needs.extend(flannel::needs(self.backend));
        needs
    }

    fn secrecy(&self) -> Secrecy {
        match self.backend {
            Backend::Wireguard => Secrecy::Encrypted,
            _ => Secrecy::Plain,
        }
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let Self { name, backend, .. } = *self;
        joins(name, 2, shape)?;
        if !backend.carries(shape.family) {
            let why = "this backend of flannel's carries IPv4 alone";
            return Err(Error::new(format!("lay out {name}"), why).with_remedy(
                "use --family ipv4, or flannel-vxlan, flannel-host-gw, flannel-wireguard",
            ));
        }
        let inside = mtu_inside(shape, &link_of(shape)?, backend.headers(shape.family));
        let mut wiring = Wiring::new(shape.family, inside);
        let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
        let pods = pods::on_bridges(&mut wiring, &underlay, shape, site);
        flannel::add(&mut wiring, &underlay, backend);
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let device = |at: usize| {
            let node = underlay.nodes[at].space;
            backend.device(shape.family).map(|name| match backend {
                Backend::Udp => {
                    Waypoint::told(HopKind::Forwarder, node, name, "the process flanneld")
                }
                _ => Waypoint::device(HopKind::Encapsulation, node, name),
            })
        };
        let mut path = pods::to_bridge(&underlay, client);
        path.extend(device(client.node));
        path.extend(underlay.path(client.node, server.node));
        path.extend(device(server.node));
        path.extend(pods::to_bridge(&underlay, server).into_iter().rev());
        let near = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = backend
            .device(shape.family)
            .map(|name| Proof::Device { space: near, name: name.to_owned() });
        Ok(layout)
    }
}
