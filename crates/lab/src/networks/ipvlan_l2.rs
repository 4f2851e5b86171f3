//! `ipvlan-l2`: containers straight on the node's uplink, all with its link-layer address, ipvlan devices that switch frames.

use super::{Recipe, hung};
use crate::layout::Layout;
use crate::uplink::{self, By};
use crate::wiring::IpvlanMode;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct IpvlanL2;

impl Recipe for IpvlanL2 {
    fn about(&self) -> About {
        About {
            name: "ipvlan-l2",
            summary: "two containers on the node's uplink, by ipvlan devices that switch frames",
            stands_for: "docker network create --driver ipvlan --opt ipvlan_mode=l2; the CNI plugin ipvlan",
            source: "https://docs.docker.com/engine/network/drivers/ipvlan/",
            options: &NetworkOption::HUNG,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        hung("ipvlan")
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        uplink::layout("ipvlan-l2", By::Ipvlan(IpvlanMode::L2), shape, site)
    }
}
