//! `vxlan-encrypted`: the same as `vxlan`, inside ESP in transport mode between the nodes, as Swarm's `encrypted` does.

use super::vxlan::{HEADERS, Overlay, overlay, vxlan_needs};
use super::{Recipe, Secrecy};
use crate::backbone::VXLAN_PORT;
use crate::layout::Layout;
use crate::nodes::Node;
use crate::programs::Program;
use crate::secret;
use crate::underlay::MOST_NODES;
use crate::wiring::SpaceId;
use std::ops::RangeInclusive;
use tare_network::{About, Error, Need, NetworkOption, Shape, Site};

/// What ESP with AES-GCM takes of a packet, as libnetwork reckons it (`pktExpansion`), bytes.
const ESP: u32 = 26;

/// As libnetwork calls its security associations (`r`).
const REQUEST_ID: &str = "13681891";

pub(super) struct VxlanEncrypted;

impl Recipe for VxlanEncrypted {
    fn about(&self) -> About {
        About {
            name: "vxlan-encrypted",
            summary: "one network over all nodes by kernel VXLAN inside kernel ESP (AES-GCM)",
            stands_for: "a Docker Swarm overlay network with --opt encrypted",
            source: "moby, libnetwork/drivers/overlay/encryption.go; RFC 4303, RFC 4106",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = vxlan_needs();
        needs.extend(["xfrm_user", "esp4"].map(|module| Need::Kernel { module }));
        needs.push(Need::Program { name: "ip", package: "iproute2" });
        needs
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let Overlay { mut layout, underlay } =
            overlay("vxlan-encrypted", HEADERS + ESP, shape, site)?;
        for (number, (one, other)) in (1..).zip(underlay.pairs()) {
            let key = secret::hexadecimal(&secret::random::<20>()?);
            for space in [one.space, other.space] {
                layout.wiring.programs.push(association(space, one, other, number, &key));
            }
            layout.wiring.programs.push(policy(one, other, number));
        }
        Ok(layout)
    }
}

/// How packets from one node to the other are sealed; both must know.
fn association(space: SpaceId, one: Node, other: Node, number: u32, key: &str) -> Program {
    let line = format!(
        "xfrm state add src {} dst {} proto esp spi {:#x} reqid {REQUEST_ID} mode transport aead",
        one.ipv4(),
        other.ipv4(),
        0x1000 + number
    );
    let mut arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    arguments.extend(["rfc4106(gcm(aes))".to_owned(), key.to_owned(), "64".to_owned()]);
    Program::step(space, "ip", arguments).named(format!("ip-state-{number}"))
}

/// That VXLAN to the other node must be sealed.
fn policy(one: Node, other: Node, number: u32) -> Program {
    let (from, to) = (one.ipv4(), other.ipv4());
    let line = format!(
        "xfrm policy add src {from} dst {to} proto udp dport {VXLAN_PORT} dir out \
         tmpl src {from} dst {to} proto esp reqid {REQUEST_ID} mode transport"
    );
    Program::step(one.space, "ip", line.split(' ')).named(format!("ip-policy-{number}"))
}
