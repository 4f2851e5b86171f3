//! `ovs-user`: containers on an Open vSwitch bridge, one port each, forwarded by the daemon.

use crate::networks::LabNetworkDefinition;
use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::{OvsAttachment, SOURCE, layout, ovs_requirements};
use crate::plan::layout::Layout;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct UserspaceOvsNetwork;

impl LabNetworkDefinition for UserspaceOvsNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ovs-user",
            summary: "two containers on an Open vSwitch bridge, forwarded by its daemon",
            stands_for: "Open vSwitch itself, private to the lab",
            source: SOURCE,
            options: &[NetworkOption::Rate],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        ovs_requirements(OvsDatapath::Userspace)
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("ovs-user", shape, site, OvsDatapath::Userspace, OvsAttachment::Direct)
    }
}
