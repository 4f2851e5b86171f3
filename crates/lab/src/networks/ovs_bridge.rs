//! `ovs-bridge`: containers, each on a Linux bridge of its own, which is a port of Open vSwitch.

use super::ovs::{Between, layout, needs};
use super::{Recipe, ask_kernel};
use crate::lab::Lab;
use crate::layout::Layout;
use crate::openvswitch::Datapath;
use std::sync::Arc;
use tare_network::{About, Error, Need, NetworkOption, Probe, Shape, Site};

pub(super) struct OvsBridge {
    pub(super) lab: Option<Arc<Lab>>,
}

/// The kernel's datapath where the kernel has it.
pub(super) fn datapath(lab: Option<&Arc<Lab>>) -> Datapath {
    let module = Need::Kernel { module: "openvswitch" };
    let there = ask_kernel(lab, |probe| probe.check(&module));
    if there.is_ok() { Datapath::Kernel } else { Datapath::Userspace }
}

impl Recipe for OvsBridge {
    fn about(&self) -> About {
        About {
            name: "ovs-bridge",
            summary: "two containers, each on a Linux bridge that is a port of Open vSwitch",
            stands_for: "OpenStack Neutron's hybrid plug: Open vSwitch itself, private to the lab",
            source: "https://docs.openstack.org/neutron/latest/contributor/internals/openvswitch_firewall.html",
            options: &[NetworkOption::Rate],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        needs(datapath(self.lab.as_ref()))
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("ovs-bridge", shape, site, datapath(self.lab.as_ref()), Between::LinuxBridge)
    }
}
