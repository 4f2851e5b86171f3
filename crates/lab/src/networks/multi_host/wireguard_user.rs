//! `wireguard-user`: the network `wireguard`, with a userspace process on each node.

use crate::networks::multi_host::wireguard::{
    SOURCE, USERSPACE, WireguardBackend, layout, wireguard_requirements,
};
use crate::networks::{Confidentiality, LabNetworkDefinition};
use crate::plan::layout::Layout;
use crate::plan::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};
use tare_sandbox::program;

pub(crate) struct UserspaceWireguardNetwork;

impl LabNetworkDefinition for UserspaceWireguardNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "wireguard-user",
            summary: "encrypted tunnels between nodes by WireGuard in userspace, a bridge on each",
            stands_for: "wireguard-go itself, where the kernel has no WireGuard: a real one on each node",
            source: SOURCE,
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = wireguard_requirements();
        needs.push(Requirement::Program { name: "ip", package: "iproute2" });
        needs.extend(program::missing_program(USERSPACE).map(Requirement::Unmet));
        needs.push(Requirement::DeviceFile { path: "/dev/net/tun", module: "tun" });
        needs
    }

    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("wireguard-user", WireguardBackend::Userspace, shape, site)
    }
}
