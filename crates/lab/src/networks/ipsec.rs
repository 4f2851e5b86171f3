//! `ipsec`: containers of two nodes and more through the kernel's ESP, each end of a tunnel in an agent container.

use super::agents::{layout, needs};
use super::{Recipe, Secrecy};
use crate::layout::Layout;
use crate::strongswan::Esp;
use crate::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Ipsec;

impl Recipe for Ipsec {
    fn about(&self) -> About {
        About {
            name: "ipsec",
            summary: "IPsec tunnels between agent containers, agreed on by strongSwan, sealed by the kernel",
            stands_for: "Rancher 1.x's network: a real strongSwan in an agent container on each node, kernel ESP",
            source: "strongSwan, plugins/kernel-netlink; rancher/rancher-net; RFC 4303, RFC 4106",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        needs(Esp::Kernel)
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("ipsec", Esp::Kernel, shape, site)
    }
}
