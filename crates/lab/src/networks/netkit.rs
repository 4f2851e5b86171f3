//! `netkit`: two containers joined by a netkit pair, and nothing between them: `veth` with the younger device.

use super::{Recipe, filtered, veth};
use crate::layout::Layout;
use crate::wiring::CableKind;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

pub(super) struct Netkit;

impl Recipe for Netkit {
    fn about(&self) -> About {
        About {
            name: "netkit",
            summary: "two containers joined by a netkit pair, with Docker's DNS rules in both",
            stands_for: "netkit devices in the place of veth, as in Cilium's bpf.datapathMode=netkit",
            source: "drivers/net/netkit.c; https://docs.cilium.io/en/stable/operations/performance/tuning/",
            options: &NetworkOption::WIRED,
        }
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let mut needs = vec![Need::Kernel { module: "netkit" }];
        if !site.options.plain {
            needs.extend(filtered(&[]));
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        veth::layout("netkit", CableKind::Netkit, shape, site)
    }
}
