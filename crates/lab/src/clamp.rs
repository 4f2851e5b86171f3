//! Clamping of the maximum segment size: a node that sends a TCP connection's first packets on lowers what they say of
//! the segments that the sender takes, to what fits the way (RFC 4459, 3.2; iptables' `TCPMSS --clamp-mss-to-pmtu`).
//!
//! Where nodes route, the kernel knows what fits. A bridge with a tunnel on it knows nothing of MTUs: there it is what the
//! tunnel's headers leave of the links.

use crate::backbone::Backbone;
use crate::layout::Layout;
use crate::nft;
use crate::underlay::link_of;
use crate::wiring::{LinkKind, Rules, SpaceId};
use tare_network::{Error, Family, Need, Shape};

/// What rules like these need.
pub(crate) fn needs() -> Vec<Need> {
    let (name, package) = nft::NFT;
    vec![Need::Program { name, package }, Need::Kernel { module: "nf_tables" }]
}

/// Adds the rules to a layout, where its shape asks for them.
pub(crate) fn clamp(layout: &mut Layout, shape: &Shape) -> Result<(), Error> {
    if !shape.clamp_mss {
        return Ok(());
    }
    let nodes: Vec<SpaceId> = layout.wiring.nodes().map(|(node, _)| node).collect();
    let routed = nodes.into_iter().map(|space| Rules { space, text: by_route() });
    let largest = link_of(shape)?.mtu() - Backbone::Vxlan { device: "" }.headers();
    let bridged = bridges_with_tunnels(layout)
        .into_iter()
        .map(|space| Rules { space, text: to(largest - headers(shape.family)) });
    let all: Vec<Rules> = routed.chain(bridged).collect();
    layout.wiring.rules.extend(all);
    Ok(())
}

/// What of a packet is neither TCP's payload nor TCP's options, bytes.
fn headers(family: Family) -> u32 {
    const TCP: u32 = 20;
    match family {
        Family::Ipv4 => 20 + TCP,
        Family::Ipv6 => 40 + TCP,
    }
}

/// The namespaces in which a tunnel is a bridge's port.
fn bridges_with_tunnels(layout: &Layout) -> Vec<SpaceId> {
    let is_port = |link: &&crate::wiring::Link| {
        matches!(link.kind, LinkKind::Tunnel { .. }) && link.controller.is_some()
    };
    layout.wiring.links.iter().filter(is_port).map(|link| link.space).collect()
}

fn by_route() -> String {
    "table inet clamp {
  chain forward {
    type filter hook forward priority mangle; policy accept;
    tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu counter
  }
}
"
    .to_owned()
}

fn to(size: u32) -> String {
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
