//! Networks of kernel tunnels: a tunnel between every two nodes, and a bridge on each node.

use crate::networks::multi_host::routed::layout_over;
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::backbone::Backbone;
use crate::plan::layout::{Layout, PathProof};
use crate::plan::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{Error, Family, NetworkInfo, NetworkParameters, Requirement, Shape};

/// Network whose nodes are joined by tunnels of one kind.
pub(crate) struct TunnelNetwork {
    pub(crate) about: NetworkInfo,
    pub(crate) backbone: Backbone,
    /// Kernel module of the tunnel device.
    pub(crate) module: &'static str,
}

impl LabNetworkDefinition for TunnelNetwork {
    fn info(&self) -> NetworkInfo {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.extend([Requirement::Nodes(2), Requirement::Kernel { module: self.module }]);
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let name = self.about.name;
        if self.backbone == Backbone::Ipip && shape.family == Family::Ipv6 {
            let why = "IP-in-IP (RFC 2003) carries IPv4 only";
            return Err(Error::new("lay out ipip", why).with_remedy("use --family ipv4, or gre"));
        }
        let mut layout = layout_over(name, self.backbone, shape, site)?;
        layout.proof = encapsulation_proof(&layout);
        Ok(layout)
    }
}

/// Returns the proof that the first tunnel on the path carries packets. Returns `None` if there is no tunnel.
pub(crate) fn encapsulation_proof(layout: &Layout) -> Option<PathProof> {
    use crate::plan::layout::Waypoint;
    use tare_network::HopKind;
    layout.path.iter().find_map(|waypoint| match waypoint {
        Waypoint::Device { kind: HopKind::Encapsulation, space: Some(space), name, .. } => {
            Some(PathProof::Device { space: *space, name: name.clone() })
        }
        _ => None,
    })
}
