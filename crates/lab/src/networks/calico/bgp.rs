//! Routes between nodes by BGP (RFC 4271), as Calico distributes them: a BIRD daemon on each node, all of them peers in
//! one autonomous system. Each announces its node's block of container addresses and installs the blocks of the others
//! in the kernel.
//!
//! Source: projectcalico/node, `filesystem/etc/calico/confd/templates/bird.cfg.template`, in the syntax of BIRD 2.

use crate::plan::address::LabSubnet;
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::Underlay;
use crate::plan::wiring::Wiring;
use crate::programs::{Program, ReadyCondition};
use tare_network::{Family, Requirement};
use tare_sandbox::programs::runtime_directory;

/// Autonomous system number that Calico gives a cluster by default.
const SYSTEM: u32 = 64_512;

/// Returns the requirement of BIRD: the program, and the Debian package that contains it.
pub(crate) fn requirement() -> Requirement {
    Requirement::Program { name: "bird", package: "bird2" }
}

/// Adds BIRD to every node. Each daemon is ready when it has routes to the containers of all other nodes.
pub(crate) fn add(wiring: &mut Wiring, underlay: &Underlay) {
    for &node in &underlay.nodes {
        let peers: Vec<LabNode> =
            underlay.nodes.iter().copied().filter(|other| *other != node).collect();
        let place = runtime_directory(wiring.name(node.space));
        let (file, socket) = (format!("{place}/bird.conf"), format!("{place}/bird.ctl"));
        let text = configuration(wiring.family, node, &peers);
        let ready = ReadyCondition::CommandSucceeds(
            ["sh", "-c", &routes_known_command(wiring.family, peers.len(), &socket)]
                .map(str::to_owned)
                .to_vec(),
        );
        let arguments = ["-f", "-c", &file, "-s", &socket];
        let bird = Program::daemon(node.space, "bird", arguments, ready);
        wiring.programs.push(bird.with_file(file.clone(), text));
    }
}

/// Returns a command that succeeds when the kernel has this many routes from BIRD. The command also connects to BIRD's
/// socket, because BIRD delays its output by up to 3 s until an event wakes it (2.0, `io_loop` of sysdep/unix/io.c).
fn routes_known_command(family: Family, routes: usize, socket: &str) -> String {
    let flag = if family == Family::Ipv4 { "-4" } else { "-6" };
    format!(
        "birdc -s {socket} show status >/dev/null; \
         test \"$(ip {flag} route show proto bird | wc -l)\" -ge {routes}"
    )
}

fn configuration(family: Family, node: LabNode, peers: &[LabNode]) -> String {
    let channel = if family == Family::Ipv4 { "ipv4" } else { "ipv6" };
    let block = LabSubnet::docker(node.number()).prefix(family);
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
