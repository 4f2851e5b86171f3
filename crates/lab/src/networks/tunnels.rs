//! Networks of kernel tunnels: one from each node to each other, a bridge on each.

use super::routed::over;
use super::{Recipe, wired};
use crate::backbone::Backbone;
use crate::layout::{Layout, Proof};
use crate::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Family, Need, Shape, Site};

/// A network of tunnels of one kind.
pub(super) struct Tunnels {
    pub(super) about: About,
    pub(super) backbone: Backbone,
    /// What the kernel must have for it.
    pub(super) module: &'static str,
}

impl Recipe for Tunnels {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = wired();
        needs.extend([Need::Nodes(2), Need::Kernel { module: self.module }]);
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let name = self.about.name;
        if self.backbone == Backbone::Ipip && shape.family == Family::Ipv6 {
            let why = "IP-in-IP (RFC 2003) carries IPv4 only";
            return Err(Error::new("lay out ipip", why).with_remedy("use --family ipv4, or gre"));
        }
        let mut layout = over(name, self.backbone, shape, site)?;
        layout.proof = encapsulated(&layout);
        Ok(layout)
    }
}

/// The first tunnel on the path must have carried packets both ways.
pub(super) fn encapsulated(layout: &Layout) -> Option<Proof> {
    use crate::layout::Waypoint;
    use tare_network::HopKind;
    layout.path.iter().find_map(|waypoint| match waypoint {
        Waypoint::Device { kind: HopKind::Encapsulation, space: Some(space), name, .. } => {
            Some(Proof::Device { space: *space, name: name.clone() })
        }
        _ => None,
    })
}
