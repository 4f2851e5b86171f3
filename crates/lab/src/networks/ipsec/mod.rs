//! `ipsec`: containers of two or more nodes, joined by the kernel's ESP, with each tunnel endpoint in an agent
//! container.

pub(crate) mod ipsec_agents;
pub(crate) mod ipsec_user;
pub(crate) mod strongswan;

use crate::networks::ipsec::ipsec_agents::{layout, requirements};
use crate::networks::ipsec::strongswan::EspMode;
use crate::networks::{Confidentiality, LabNetworkDefinition};
use crate::plan::layout::Layout;
use crate::plan::underlay::MOST_NODES;
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct IpsecNetwork;

impl LabNetworkDefinition for IpsecNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ipsec",
            summary: "IPsec tunnels between agent containers, agreed on by strongSwan, sealed by the kernel",
            stands_for: "Rancher 1.x's network: a real strongSwan in an agent container on each node, kernel ESP",
            source: "strongSwan, plugins/kernel-netlink; rancher/rancher-net; RFC 4303, RFC 4106",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        requirements(EspMode::Kernel)
    }

    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("ipsec", EspMode::Kernel, shape, site)
    }
}
