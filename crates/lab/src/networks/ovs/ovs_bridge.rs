//! `ovs-bridge`: containers, each on its own Linux bridge, which is a port of Open vSwitch.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::{OvsAttachment, layout, ovs_requirements};
use crate::networks::{LabNetworkDefinition, query_probe};
use crate::plan::layout::Layout;
use std::sync::Arc;
use tare_network::{
    Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, RequirementProbe, Shape,
};
use tare_sandbox::Sandbox;

pub(crate) struct OvsBridgeNetwork {
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

/// Returns the kernel's datapath if the kernel has it, otherwise the daemon's.
pub(crate) fn available_datapath(sandbox: Option<&Arc<Sandbox>>) -> OvsDatapath {
    let module = Requirement::Kernel { module: "openvswitch" };
    let there = query_probe(sandbox, |probe| probe.check(&module));
    if there.is_ok() { OvsDatapath::Kernel } else { OvsDatapath::Userspace }
}

impl LabNetworkDefinition for OvsBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ovs-bridge",
            summary: "two containers, each on a Linux bridge that is a port of Open vSwitch",
            stands_for: "OpenStack Neutron's hybrid plug: Open vSwitch itself, private to the lab",
            source: "https://docs.openstack.org/neutron/latest/contributor/internals/openvswitch_firewall.html",
            options: &[NetworkOption::Rate],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        ovs_requirements(available_datapath(self.sandbox.as_ref()))
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout(
            "ovs-bridge",
            shape,
            site,
            available_datapath(self.sandbox.as_ref()),
            OvsAttachment::LinuxBridge,
        )
    }
}
