//! `vxlan-encrypted`: the network `vxlan`, inside ESP in transport mode between the nodes, as with Swarm's `encrypted`.

use crate::networks::multi_host::vxlan::{HEADERS, VxlanOverlay, add_overlay, vxlan_requirements};
use crate::networks::{Confidentiality, LabNetworkDefinition};
use crate::plan::backbone::VXLAN_PORT;
use crate::plan::layout::Layout;
use crate::plan::nodes::LabNode;
use crate::plan::underlay::MOST_NODES;
use crate::plan::wiring::NamespaceId;
use crate::programs::Program;
use crate::random_key;
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

/// Headers of ESP with AES-GCM, bytes, as libnetwork computes them (`pktExpansion`).
const ESP: u32 = 26;

/// Request ID of the security associations, as in libnetwork (`r`).
const REQUEST_ID: &str = "13681891";

pub(crate) struct EncryptedVxlanNetwork;

impl LabNetworkDefinition for EncryptedVxlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "vxlan-encrypted",
            summary: "one network over all nodes by kernel VXLAN inside kernel ESP (AES-GCM)",
            stands_for: "a Docker Swarm overlay network with --opt encrypted",
            source: "moby, libnetwork/drivers/overlay/encryption.go; RFC 4303, RFC 4106",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vxlan_requirements();
        needs.extend(["xfrm_user", "esp4"].map(|module| Requirement::Kernel { module }));
        needs.push(Requirement::Program { name: "ip", package: "iproute2" });
        needs
    }

    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let VxlanOverlay { mut layout, underlay } =
            add_overlay("vxlan-encrypted", HEADERS + ESP, shape, site)?;
        for (number, (one, other)) in (1..).zip(underlay.pairs()) {
            let key = random_key::to_hex(&random_key::random_bytes::<20>()?);
            for space in [one.space, other.space] {
                layout.wiring.programs.push(association(space, one, other, number, &key));
            }
            layout.wiring.programs.push(policy(one, other, number));
        }
        Ok(layout)
    }
}

/// Returns the step that adds the security association from one node to the other; both need it.
fn association(
    space: NamespaceId,
    one: LabNode,
    other: LabNode,
    number: u32,
    key: &str,
) -> Program {
    let line = format!(
        "xfrm state add src {} dst {} proto esp spi {:#x} reqid {REQUEST_ID} mode transport aead",
        one.ipv4(),
        other.ipv4(),
        0x1000 + number
    );
    let mut arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    arguments.extend(["rfc4106(gcm(aes))".to_owned(), key.to_owned(), "64".to_owned()]);
    Program::step(space, "ip", arguments).with_name(format!("ip-state-{number}"))
}

/// Returns the step that adds the policy to encrypt VXLAN packets to the other node.
fn policy(one: LabNode, other: LabNode, number: u32) -> Program {
    let (from, to) = (one.ipv4(), other.ipv4());
    let line = format!(
        "xfrm policy add src {from} dst {to} proto udp dport {VXLAN_PORT} dir out \
         tmpl src {from} dst {to} proto esp reqid {REQUEST_ID} mode transport"
    );
    Program::step(one.space, "ip", line.split(' ')).with_name(format!("ip-policy-{number}"))
}
