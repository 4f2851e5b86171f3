//! `ipvlan-l3`: containers on the node's uplink, by ipvlan devices that route packets and share its link-layer address.

use crate::networks::{LabNetworkDefinition, uplink_requirements};
use crate::plan::layout::Layout;
use crate::plan::uplink;
use crate::plan::uplink::UplinkMode;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};
use tare_sandbox::devices::IpvlanMode;

pub(crate) struct IpvlanL3Network;

impl LabNetworkDefinition for IpvlanL3Network {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ipvlan-l3",
            summary: "two containers on the node's uplink, by ipvlan devices that route packets",
            stands_for: "docker network create --driver ipvlan --opt ipvlan_mode=l3",
            source: "https://docs.docker.com/engine/network/drivers/ipvlan/",
            options: &NetworkOption::UPLINK,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        uplink_requirements("ipvlan")
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        uplink::layout("ipvlan-l3", UplinkMode::Ipvlan(IpvlanMode::L3), shape, site)
    }
}
