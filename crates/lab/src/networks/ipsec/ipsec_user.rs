//! `ipsec-user`: containers of two or more nodes, joined by IPsec in userspace, with each tunnel endpoint in an agent
//! container.
//!
//! strongSwan's `kernel-libipsec` encrypts in userspace, on a TUN device, and encapsulates in UDP.

use crate::networks::ipsec::ipsec_agents::{layout, requirements};
use crate::networks::ipsec::strongswan::EspMode;
use crate::networks::{Confidentiality, LabNetworkDefinition};
use crate::plan::layout::Layout;
use crate::plan::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct UserspaceIpsecNetwork;

impl LabNetworkDefinition for UserspaceIpsecNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ipsec-user",
            summary: "IPsec tunnels between agent containers, sealed in userspace by strongSwan",
            stands_for: "Rancher 1.x's network: a real strongSwan in an agent container on each node",
            source: "strongSwan, plugins/kernel-libipsec; rancher/rancher-net",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        requirements(EspMode::Userspace)
    }

    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("ipsec-user", EspMode::Userspace, shape, site)
    }
}
