//! `ovs-bridge`: containers, each on its own Linux bridge, which is a port of Open vSwitch, forwarded by the kernel; and the
//! definition that it shares with `ovs-user-bridge`.

use crate::networks::LabNetworkDefinition;
use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::{OvsAttachment, layout, ovs_requirements};
use crate::plan::layout::Layout;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

/// Open vSwitch as OpenStack Neutron plugs it, with one of its datapaths.
pub(crate) struct OvsBridgeNetwork {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) stands_for: &'static str,
    pub(crate) datapath: OvsDatapath,
}

pub(crate) const NETWORK: OvsBridgeNetwork = OvsBridgeNetwork {
    name: "ovs-bridge",
    summary: "two containers, each on a Linux bridge that is a port of Open vSwitch, forwarded by the kernel",
    stands_for: "OpenStack Neutron's hybrid plug: Open vSwitch itself, private to the lab",
    datapath: OvsDatapath::Kernel,
};

impl LabNetworkDefinition for OvsBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: self.stands_for,
            source: "https://docs.openstack.org/neutron/latest/contributor/internals/openvswitch_firewall.html",
            options: &[NetworkOption::Rate],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        ovs_requirements(self.datapath)
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout(self.name, shape, site, self.datapath, OvsAttachment::LinuxBridge)
    }
}
