//! `macvlan`: containers on the node's uplink, each with its own link-layer address.

use crate::networks::{LabNetworkDefinition, uplink_requirements};
use crate::plan::layout::Layout;
use crate::plan::uplink;
use crate::plan::uplink::UplinkMode;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct MacvlanNetwork;

impl LabNetworkDefinition for MacvlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "macvlan",
            summary: "two containers on the node's uplink, by macvlan devices in bridge mode",
            stands_for: "docker network create --driver macvlan; the CNI plugin macvlan",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: &NetworkOption::UPLINK,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        uplink_requirements("macvlan")
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        uplink::layout("macvlan", UplinkMode::Macvlan, shape, site)
    }
}
