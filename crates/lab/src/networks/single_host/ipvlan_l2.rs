//! `ipvlan-l2`: containers on the node's uplink, by ipvlan devices that switch frames and share its link-layer address.

use crate::networks::{LabNetworkDefinition, uplink_requirements};
use crate::plan::layout::Layout;
use crate::plan::uplink;
use crate::plan::uplink::UplinkMode;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};
use tare_sandbox::devices::IpvlanMode;

pub(crate) struct IpvlanL2Network;

impl LabNetworkDefinition for IpvlanL2Network {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ipvlan-l2",
            summary: "two containers on the node's uplink, by ipvlan devices that switch frames",
            stands_for: "docker network create --driver ipvlan --opt ipvlan_mode=l2; the CNI plugin ipvlan",
            source: "https://docs.docker.com/engine/network/drivers/ipvlan/",
            options: &NetworkOption::UPLINK,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        uplink_requirements("ipvlan")
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        uplink::layout("ipvlan-l2", UplinkMode::Ipvlan(IpvlanMode::L2), shape, site)
    }
}
