//! `wireguard-user`: the same as `wireguard`, by a process on each node.

use super::wireguard::{By, SOURCE, USERSPACE, layout, needs};
use super::{Recipe, Secrecy};
use crate::layout::Layout;
use crate::program;
use crate::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct WireguardUser;

impl Recipe for WireguardUser {
    fn about(&self) -> About {
        About {
            name: "wireguard-user",
            summary: "encrypted tunnels between nodes by WireGuard in userspace, a bridge on each",
            stands_for: "wireguard-go itself, where the kernel has no WireGuard: a real one on each node",
            source: SOURCE,
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = needs();
        needs.push(Need::Program { name: "ip", package: "iproute2" });
        needs.extend(program::built(USERSPACE).map(Need::Lacking));
        needs.push(Need::DeviceFile { path: "/dev/net/tun", module: "tun" });
        needs
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("wireguard-user", By::Process, shape, site)
    }
}
