//! Weave Net on every node: its router `weaver` where it is on the PATH and the kernel has what it needs, used as it is; else,
//! for sleeve mode, tare's own forwarder ([`crate::sleeve`]), which stands for it.
//!
//! Sources: weaveworks/weave, `prog/weaver`, `net/bridge.go`, `docs/router-encapsulation.md`.

use crate::nodes::Node;
use crate::program;
use crate::programs::{Program, Ready, directory};
use crate::sleeve::{self, PORT};
use crate::underlay::Underlay;
use crate::wiring::{Cable, End, Wiring};
use std::net::SocketAddrV4;
use tare_network::{Need, Probe};

/// The bridge of a node, as Weave calls it.
pub(crate) const BRIDGE: &str = "weave";

/// The cable between the bridge and whoever carries its frames in sleeve mode.
pub(crate) const CABLE: [&str; 2] = ["vethwe-bridge", "vethwe-pcap"];

/// The same with the fast data path: its other end is a port of Open vSwitch.
pub(crate) const FAST_CABLE: [&str; 2] = ["vethwe-bridge", "vethwe-datapath"];

/// Weave's datapath in Open vSwitch of the kernel.
pub(crate) const DATAPATH: &str = "datapath";

/// The datapath's port to other nodes: VXLAN, on the port after the router's own.
pub(crate) const TUNNEL: &str = "vxlan-6784";

/// Where a router tells how it stands; the `weave` script asks there, too.
const STATUS: &str = "127.0.0.1:6784";

/// What the router's rules and its bridge are made of: the bridge takes its MTU from a dummy that is a port for a moment.
const MODULES: [&str; 9] = [
    "dummy",
    "nf_tables",
    "nft_counter",
    "nft_chain_nat",
    "nft_compat",
    "xt_addrtype",
    "xt_comment",
    "xt_conntrack",
    "xt_tcpudp",
];

/// The router.
const WEAVER: &str = "weaver";

/// IPv4 and UDP, bytes.
const UDP: u32 = 28;

/// How frames go from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In UDP, by a process.
    Sleeve,
    /// The same, sealed.
    SleeveEncrypted,
    /// By the kernel's Open vSwitch in VXLAN.
    Fastdp,
}

/// Who carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Router {
    /// A real one.
    Weaver,
    /// tare's own.
    Ours,
}

impl Mode {
    /// Who does it on this machine.
    pub(crate) fn router(self, probe: &dyn Probe) -> Router {
        let runs = || weaver_needs().iter().all(|need| probe.check(need).is_ok());
        if self == Self::Fastdp || runs() { Router::Weaver } else { Router::Ours }
    }

    /// What it needs beside containers on bridges.
    pub(crate) fn needs(self, probe: &dyn Probe) -> Vec<Need> {
        match (self, self.router(probe)) {
            (_, Router::Ours) => Vec::new(),
            (Self::Fastdp, Router::Weaver) => {
                let mut needs = weaver_needs();
                needs.extend(
                    ["openvswitch", "vxlan", "vport_vxlan"].map(|module| Need::Kernel { module }),
                );
                // How one learns that frames go by the fast data path already.
                needs.push(Need::Program { name: "curl", package: "curl" });
                needs
            }
            (_, Router::Weaver) => weaver_needs(),
        }
    }
}

/// What a real router needs in any mode; what is cheap to find out is first.
fn weaver_needs() -> Vec<Need> {
    let mut needs: Vec<Need> = program::built(WEAVER).map(Need::Lacking).into_iter().collect();
    needs.push(Need::Program { name: "ip", package: "iproute2" });
    needs.push(Need::Program { name: "iptables", package: "iptables" });
    needs.extend(MODULES.map(|module| Need::Kernel { module }));
    needs
}

/// Who seals with what, on all nodes: nothing where nobody does.
pub(crate) type Key<'a> = Option<&'a str>;

fn others(underlay: &Underlay, node: Node) -> impl Iterator<Item = Node> + '_ {
    underlay.nodes.iter().copied().filter(move |other| *other != node)
}

/// Adds tare's own to a node, at one end of a cable that is plugged into the bridge at the other.
pub(crate) fn ours(wiring: &mut Wiring, underlay: &Underlay, node: Node, key: Key<'_>) {
    let [near, far] = CABLE;
    wiring.bridge(node.space, BRIDGE, None);
    let near = End::new(node.space, near).plugged_into(BRIDGE);
    wiring.cables.push(Cable::new(near, End::new(node.space, far)));
    let at = |node: Node| SocketAddrV4::new(node.ipv4(), PORT);
    let file = format!("{}/key", directory(wiring.name(node.space)));
    let told = sleeve::Told {
        device: far.to_owned(),
        number: node.number(),
        listen: at(node),
        room: usize::try_from(underlay.link.mtu() - UDP).unwrap_or(usize::MAX),
        peers: others(underlay, node).map(|other| (other.number(), at(other))).collect(),
        key: key.map(|_| file.clone()),
    };
    let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
    let ready = Ready::Says(vec![sleeve::READY.to_owned()]);
    let program = Program::daemon(node.space, &own.to_string_lossy(), sleeve::words(&told), ready);
    let program = program.named("sleeve");
    wiring.programs.push(match key {
        Some(key) => program.with_file(file, format!("{key}\n")),
        None => program,
    });
}

/// Adds a real one to a node. It makes the bridge; `ports`, the containers' devices, are plugged in afterwards.
pub(crate) fn weaver(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: Node,
    mode: Mode,
    key: Key<'_>,
    ports: &[&str],
) {
    let name = |node: Node| format!("0a:00:00:00:00:{:02x}", node.number() + 1);
    let place = directory(wiring.name(node.space));
    let mut arguments = vec![
        format!("--name={}", name(node)),
        format!("--nickname=n{}", node.number()),
        format!("--db-prefix={place}/weave"),
        format!("--mtu={}", wiring.mtu),
        format!("--host={}", node.ipv4()),
        format!("--http-addr={STATUS}"),
    ];
    let off = ["docker-api", "ipalloc-range", "status-addr", "metrics-addr"];
    arguments.extend(off.map(|flag| format!("--{flag}=")));
    arguments.extend(["--no-discovery", "--no-dns"].map(str::to_owned));
    arguments.push(match mode {
        Mode::Fastdp => format!("--datapath={DATAPATH}"),
        Mode::Sleeve | Mode::SleeveEncrypted => "--no-fastdp".to_owned(),
    });
    // One of two calls the other, as `weave launch` has it: where both call at once, one connection is dropped, and the one that
    // is left may never take to the fast data path.
    let called = others(underlay, node).filter(|other| other.number() < node.number());
    arguments.extend(called.map(|other| other.ipv4().to_string()));
    let established = |other: Node| {
        format!("|{}(n{})]: connection fully established", name(other), other.number())
    };
    let ready = match mode {
        Mode::Fastdp => fast(others(underlay, node).count()),
        Mode::Sleeve | Mode::SleeveEncrypted => {
            Ready::Says(others(underlay, node).map(established).collect())
        }
    };
    // It leaves a file in whatever directory it is started.
    let mut program = Program::daemon(node.space, WEAVER, arguments, ready).at_home();
    program = program.with_variable("CHECKPOINT_DISABLE", "1");
    if let Some(key) = key {
        // Arguments can be read by everybody.
        program = program.with_variable("WEAVE_PASSWORD", key);
    }
    wiring.programs.push(program);
    for port in ports {
        let plug = ["link", "set", port, "master", BRIDGE];
        wiring.programs.push(Program::step(node.space, "ip", plug).named(format!("ip-{port}")));
    }
}

/// So many connections go by the fast data path. Until its first packets are acknowledged frames go by sleeve mode, which is
/// established, too.
fn fast(connections: usize) -> Ready {
    let asked = format!("curl -sf http://{STATUS}/status/connections");
    let test = format!("test \"$({asked} | grep -c 'established *fastdp')\" -eq {connections}");
    Ready::Answers(["sh", "-c", &test].map(str::to_owned).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_network::{Missing, Needed};

    /// A kernel without dummy devices, and all the programs there are.
    struct NoDummy;

    impl Probe for NoDummy {
        fn check(&self, need: &Need) -> Result<(), Missing> {
            match need {
                Need::Kernel { module: "dummy" } => {
                    Err(Missing { reason: "no dummy".to_owned(), remedy: String::new() })
                }
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn a_real_router_is_taken_where_all_that_it_needs_is_there() {
        for mode in [Mode::Sleeve, Mode::SleeveEncrypted] {
            assert_eq!(mode.router(&Needed), Router::Weaver);
            assert_eq!(mode.router(&NoDummy), Router::Ours);
            assert_eq!(mode.needs(&NoDummy), []);
        }
        // Nothing stands for it here: what it lacks is said.
        assert_eq!(Mode::Fastdp.router(&NoDummy), Router::Weaver);
        assert!(Mode::Fastdp.needs(&NoDummy).contains(&Need::Kernel { module: "dummy" }));
    }
}
