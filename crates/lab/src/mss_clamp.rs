//! Clamping of the maximum segment size: a node that forwards a TCP connection's first packets lowers the MSS option in
//! them to what fits the path (RFC 4459, 3.2; iptables' `TCPMSS --clamp-mss-to-pmtu`).
//!
//! On nodes that route, the kernel knows the path MTU. A bridge with a tunnel as its port does not know MTUs: there the
//! limit is the MTU of the links without the tunnel's headers.

use crate::plan::backbone::Backbone;
use crate::plan::layout::Layout;
use crate::plan::underlay::parse_link;
use crate::plan::wiring::{ChildDevice, NamespaceId, Ruleset};
use tare_network::{Error, Family, Requirement, Shape};
use tare_sandbox::devices::ParentRole;
use tare_sandbox::nft;

/// Returns the requirements of clamping rules.
pub(crate) fn requirements() -> Vec<Requirement> {
    let (name, package) = nft::NFT;
    vec![Requirement::Program { name, package }, Requirement::Kernel { module: "nf_tables" }]
}

/// Adds the rules to a layout if its shape asks for them.
pub(crate) fn add_clamp_rules(layout: &mut Layout, shape: &Shape) -> Result<(), Error> {
    if !shape.clamp_mss {
        return Ok(());
    }
    let nodes: Vec<NamespaceId> = layout.wiring.nodes().map(|(node, _)| node).collect();
    let routed = nodes.into_iter().map(|space| Ruleset { space, text: routed_rules() });
    let largest = parse_link(shape)?.mtu() - Backbone::Vxlan { device: "" }.headers();
    let bridged = bridges_with_tunnels(layout)
        .into_iter()
        .map(|space| Ruleset { space, text: bridged_rules(largest - headers(shape.family)) });
    let all: Vec<Ruleset> = routed.chain(bridged).collect();
    layout.wiring.rules.extend(all);
    Ok(())
}

/// Returns the size of the headers of a packet without TCP's payload and options, bytes.
fn headers(family: Family) -> u32 {
    const TCP: u32 = 20;
    match family {
        Family::Ipv4 => 20 + TCP,
        Family::Ipv6 => 40 + TCP,
    }
}

/// Returns the namespaces in which a tunnel is a port of a bridge.
fn bridges_with_tunnels(layout: &Layout) -> Vec<NamespaceId> {
    let is_port = |link: &&ChildDevice| {
        link.kind.parent_role() == ParentRole::Underlay && link.controller.is_some()
    };
    layout.wiring.child_devices.iter().filter(is_port).map(|link| link.space).collect()
}

fn routed_rules() -> String {
    "table inet clamp {
  chain forward {
    type filter hook forward priority mangle; policy accept;
    tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu counter
  }
}
"
    .to_owned()
}

fn bridged_rules(size: u32) -> String {
    format!(
        "table bridge clamp {{
  chain forward {{
    type filter hook forward priority filter; policy accept;
    tcp flags & (syn | rst) == syn tcp option maxseg size > {size} tcp option maxseg size set {size} counter
  }}
}}
"
    )
}
