//! `netkit`: two containers joined directly by a netkit pair, the newer device, as `veth` joins them by a veth pair.

use crate::networks::single_host::veth;
use crate::networks::{LabNetworkDefinition, nftables_requirements};
use crate::plan::layout::Layout;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};
use tare_sandbox::devices::Netkit;

pub(crate) struct NetkitNetwork;

impl LabNetworkDefinition for NetkitNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "netkit",
            summary: "two containers joined by a netkit pair, with Docker's DNS rules in both",
            stands_for: "netkit devices in the place of veth, as in Cilium's bpf.datapathMode=netkit",
            source: "drivers/net/netkit.c; https://docs.cilium.io/en/stable/operations/performance/tuning/",
            options: &NetworkOption::WIRED,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vec![Requirement::Kernel { module: "netkit" }];
        if !site.options.plain {
            needs.extend(nftables_requirements(&[]));
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        veth::layout("netkit", &Netkit, shape, site)
    }
}
