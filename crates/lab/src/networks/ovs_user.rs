//! `ovs-user`: containers on an Open vSwitch bridge, one port each, forwarded by its daemon.

use super::Recipe;
use super::ovs::{Between, SOURCE, layout, needs};
use crate::layout::Layout;
use crate::openvswitch::Datapath;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct OvsUser;

impl Recipe for OvsUser {
    fn about(&self) -> About {
        About {
            name: "ovs-user",
            summary: "two containers on an Open vSwitch bridge, forwarded by its daemon",
            stands_for: "Open vSwitch itself, private to the lab",
            source: SOURCE,
            options: &[NetworkOption::Rate],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        needs(Datapath::Userspace)
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("ovs-user", shape, site, Datapath::Userspace, Between::Nothing)
    }
}
