//! Routes between nodes by BGP (RFC 4271), as Calico spreads them: a BIRD on each node, all of them peers in one
//! autonomous system. Each announces its node's block of container addresses and takes the others' into the kernel.
//!
//! Source: projectcalico/node, `filesystem/etc/calico/confd/templates/bird.cfg.template`, with BIRD 2's own spelling.

use crate::address::Subnet;
use crate::nodes::{Node, UPLINK};
use crate::programs::{Program, Ready, directory};
use crate::underlay::Underlay;
use crate::wiring::Wiring;
use tare_network::{Family, Need};

/// The number that Calico gives a cluster unless it is told another.
const SYSTEM: u32 = 64_512;

/// The program, and the Debian package that has it.
pub(crate) fn need() -> Need {
    Need::Program { name: "bird", package: "bird2" }
}

/// Adds a BIRD to every node; each is ready when it knows the ways to all others' containers.
pub(crate) fn add(wiring: &mut Wiring, underlay: &Underlay) {
    for &node in &underlay.nodes {
        let peers: Vec<Node> =
            underlay.nodes.iter().copied().filter(|other| *other != node).collect();
        let place = directory(wiring.name(node.space));
        let (file, socket) = (format!("{place}/bird.conf"), format!("{place}/bird.ctl"));
        let text = configuration(wiring.family, node, &peers);
        let ready = Ready::Answers(
            ["sh", "-c", &knows_all(wiring.family, peers.len(), &socket)]
                .map(str::to_owned)
                .to_vec(),
        );
        let arguments = ["-f", "-c", &file, "-s", &socket];
        let bird = Program::daemon(node.space, "bird", arguments, ready);
        wiring.programs.push(bird.with_file(file.clone(), text));
    }
}

/// A command that ends with success when the kernel has so many routes of BIRD's. BIRD is spoken to at its socket as well: it
/// sleeps up to 3 s over what it has to send until something wakes it (2.0, `io_loop` of sysdep/unix/io.c).
fn knows_all(family: Family, routes: usize, socket: &str) -> String {
    let flag = if family == Family::Ipv4 { "-4" } else { "-6" };
    format!(
        "birdc -s {socket} show status >/dev/null; \
         test \"$(ip {flag} route show proto bird | wc -l)\" -ge {routes}"
    )
}

fn configuration(family: Family, node: Node, peers: &[Node]) -> String {
    let channel = if family == Family::Ipv4 { "ipv4" } else { "ipv6" };
    let block = Subnet::docker(node.number()).prefix(family);
    let mut text = format!(
        "router id {};
protocol device {{ }}
protocol direct {{ {channel}; interface \"{UPLINK}\"; }}
protocol static {{ {channel}; route {block} blackhole; }}
protocol kernel {{
  {channel} {{ export filter {{ if source = RTS_BGP then accept; reject; }}; }};
}}
template bgp peer {{
  local {} as {SYSTEM};
  direct;
  connect delay time 1;
  connect retry time 1;
  error wait time 1, 2;
  {channel} {{
    import all;
    export filter {{ if net = {block} then accept; reject; }};
    next hop self;
  }};
}}
",
        node.ipv4(),
        node.slot(0).address(family),
    );
    for peer in peers {
        let address = peer.slot(0).address(family);
        text.push_str(&format!(
            "protocol bgp mesh_{} from peer {{ neighbor {address} as {SYSTEM}; }}\n",
            peer.number()
        ));
    }
    text
}
