//! Weave Net on every node: its router `weaver` where it is on the PATH, used as it is; else, for sleeve mode, tare's own
//! forwarder ([`crate::sleeve`]), which stands for it.
//!
//! Sources: weaveworks/weave, `prog/weaver`, `net/bridge.go`, `docs/router-encapsulation.md`.

use crate::nodes::Node;
use crate::program;
use crate::programs::{Program, Ready, directory};
use crate::sleeve::{self, PORT};
use crate::underlay::Underlay;
use crate::wiring::{Cable, End, Wiring};
use std::net::SocketAddrV4;
use tare_network::{Missing, Need};

/// The bridge of a node, as Weave calls it.
pub(crate) const BRIDGE: &str = "weave";

/// The cable between the bridge and whoever carries its frames.
pub(crate) const CABLE: [&str; 2] = ["vethwe-bridge", "vethwe-pcap"];

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
    pub(crate) fn router(self) -> Router {
        if self == Self::Fastdp || program::find(WEAVER).is_some() {
            Router::Weaver
        } else {
            Router::Ours
        }
    }

    /// What it needs beside containers on bridges.
    pub(crate) fn needs(self) -> Vec<Need> {
        let mut needs = Vec::new();
        if self.router() == Router::Weaver {
            needs.extend(program::find(WEAVER).is_none().then(|| Need::Lacking(no_weaver())));
            needs.push(Need::Kernel { module: "dummy" });
            needs.push(Need::Program { name: "ip", package: "iproute2" });
        }
        if self == Self::Fastdp {
            needs.extend(["openvswitch", "vxlan"].map(|module| Need::Kernel { module }));
        }
        needs
    }
}

fn no_weaver() -> Missing {
    Missing {
        reason: format!("the program {WEAVER} is not installed"),
        remedy: format!(
            "have {WEAVER} of Weave Net 2.5 or later on the PATH; weave-sleeve runs without"
        ),
    }
}

/// Who seals with what, on all nodes: nothing where nobody does.
pub(crate) type Key<'a> = Option<&'a str>;

/// Adds a router to a node; `ports` are the containers' devices on it.
pub(crate) fn add(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: Node,
    mode: Mode,
    key: Key<'_>,
    ports: &[&str],
) {
    match mode.router() {
        Router::Ours => ours(wiring, underlay, node, key),
        Router::Weaver => weaver(wiring, underlay, node, mode, key, ports),
    }
}

fn others(underlay: &Underlay, node: Node) -> impl Iterator<Item = Node> + '_ {
    underlay.nodes.iter().copied().filter(move |other| *other != node)
}

/// tare's own, at one end of a cable that is plugged into the bridge at the other.
fn ours(wiring: &mut Wiring, underlay: &Underlay, node: Node, key: Key<'_>) {
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

/// A real one, which makes the bridge; containers are plugged in afterwards.
fn weaver(
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
        "--http-addr=127.0.0.1:6784".to_owned(),
    ];
    let off = ["docker-api", "ipalloc-range", "status-addr", "metrics-addr"];
    arguments.extend(off.map(|flag| format!("--{flag}=")));
    arguments.extend(["--no-discovery", "--no-dns"].map(str::to_owned));
    arguments.extend((mode != Mode::Fastdp).then(|| "--no-fastdp".to_owned()));
    arguments.extend(key.map(|key| format!("--password={key}")));
    arguments.extend(others(underlay, node).map(|other| other.ipv4().to_string()));
    let established = |other: Node| {
        format!("|{}(n{})]: connection fully established", name(other), other.number())
    };
    let ready = Ready::Says(others(underlay, node).map(established).collect());
    let program = Program::daemon(node.space, WEAVER, arguments, ready);
    wiring.programs.push(program.with_variable("CHECKPOINT_DISABLE", "1"));
    for port in ports {
        let plug = ["link", "set", port, "master", BRIDGE];
        wiring.programs.push(Program::step(node.space, "ip", plug).named(format!("ip-{port}")));
    }
}
