//! `ipsec-user`: containers of two nodes and more through IPsec in userspace, each end of a tunnel in an agent container.
//!
//! strongSwan's `kernel-libipsec` seals, in userspace, on a TUN device, in UDP.

use super::agents::{layout, needs};
use super::{Recipe, Secrecy};
use crate::layout::Layout;
use crate::strongswan::Esp;
use crate::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct IpsecUser;

impl Recipe for IpsecUser {
    fn about(&self) -> About {
        About {
            name: "ipsec-user",
            summary: "IPsec tunnels between agent containers, sealed in userspace by strongSwan",
            stands_for: "Rancher 1.x's network: a real strongSwan in an agent container on each node",
            source: "strongSwan, plugins/kernel-libipsec; rancher/rancher-net",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        needs(Esp::Userspace)
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("ipsec-user", Esp::Userspace, shape, site)
    }
}
