//! `macvlan`: containers straight on the node's uplink, each with a link-layer address of its own.

use super::{Recipe, hung};
use crate::layout::Layout;
use crate::uplink::{self, By};
use crate::wiring::MacvlanMode;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Macvlan;

impl Recipe for Macvlan {
    fn about(&self) -> About {
        About {
            name: "macvlan",
            summary: "two containers on the node's uplink, by macvlan devices in bridge mode",
            stands_for: "docker network create --driver macvlan; the CNI plugin macvlan",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: &NetworkOption::HUNG,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        hung("macvlan")
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        uplink::layout("macvlan", By::Macvlan(MacvlanMode::Bridge), shape, site)
    }
}
