//! flannel on every node: a real flanneld each, an etcd on the first one that all of them ask, and what they are told.
//!
//! A node's lease is known beforehand: flanneld asks for the one that its subnet file has, as it does after a restart
//! (flannel, `pkg/subnet/etcd/local_manager.go`), and it is refused to nobody. So the containers' addresses are those of
//! the lab's plan. All of it is private to the lab. Sources: flannel, `Documentation/configuration.md`, `backends.md`;
//! etcd(1).

use crate::address::{Subnet, prefix_length};
use crate::nodes::{Node, UPLINK};
use crate::program;
use crate::programs::{Program, Ready, directory};
use crate::underlay::Underlay;
use crate::wiring::Wiring;
use tare_network::{Family, Need};

/// Where flanneld looks for what it is told.
const CONFIGURATION: &str = "/coreos.com/network/config";

/// All containers of all nodes, as flannel is told of them.
const NETWORK: &str = "10.0.0.0/8";
const NETWORK_V6: &str = "fd00::/48";

/// The daemon.
const FLANNELD: &str = "flanneld";

/// How flannel carries packets from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// By a kernel VXLAN device.
    Vxlan,
    /// By flanneld itself, on a TUN device.
    Udp,
    /// By plain routes.
    HostGw,
    /// By a kernel IP-in-IP device.
    Ipip,
    /// By the kernel's WireGuard.
    Wireguard,
}

impl Backend {
    /// As flannel spells it.
    fn kind(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Udp => "udp",
            Self::HostGw => "host-gw",
            Self::Ipip => "ipip",
            Self::Wireguard => "wireguard",
        }
    }

    /// Whether it carries packets of this family (flannel, `Documentation/configuration.md`, dual-stack).
    pub(crate) fn carries(self, family: Family) -> bool {
        family == Family::Ipv4 || !matches!(self, Self::Udp | Self::Ipip)
    }

    /// The device that it makes on every node for packets of this family.
    pub(crate) fn device(self, family: Family) -> Option<&'static str> {
        match (self, family) {
            (Self::Vxlan, Family::Ipv4) => Some("flannel.1"),
            (Self::Vxlan, Family::Ipv6) => Some("flannel-v6.1"),
            (Self::Udp, _) => Some("flannel0"),
            (Self::HostGw, _) => None,
            (Self::Ipip, _) => Some("flannel.ipip"),
            (Self::Wireguard, Family::Ipv4) => Some("flannel-wg"),
            (Self::Wireguard, Family::Ipv6) => Some("flannel-wg-v6"),
        }
    }

    /// What it takes of a packet on the underlay, bytes, as flanneld reckons it; but what VXLAN takes between addresses of
    /// IPv6, for there it reckons as for IPv4, and every full packet would be two.
    pub(crate) fn headers(self, family: Family) -> u32 {
        match (self, family) {
            (Self::Vxlan, Family::Ipv4) => 50,
            (Self::Vxlan, Family::Ipv6) => 70,
            (Self::Udp, _) => 28,
            (Self::HostGw, _) => 0,
            (Self::Ipip, _) => 20,
            (Self::Wireguard, _) => 80,
        }
    }

    /// What it needs beside flannel's programs.
    fn needs(self) -> Vec<Need> {
        match self {
            Self::Vxlan => vec![Need::Kernel { module: "vxlan" }],
            Self::Udp => vec![Need::DeviceFile { path: "/dev/net/tun", module: "tun" }],
            Self::HostGw => Vec::new(),
            Self::Ipip => vec![Need::Kernel { module: "ipip" }],
            Self::Wireguard => vec![
                Need::Kernel { module: "wireguard" },
                Need::Program { name: "wg", package: "wireguard-tools" },
            ],
        }
    }
}

/// What flannel needs of the machine. It is in no distribution's packages.
pub(crate) fn needs(backend: Backend) -> Vec<Need> {
    let etcd = |name| Need::Program { name, package: "etcd-server etcd-client" };
    let mut needs = vec![etcd("etcd"), etcd("etcdctl")];
    needs.push(Need::Program { name: "iptables", package: "iptables" });
    needs.push(Need::Program { name: "ip", package: "iproute2" });
    needs.extend(program::built(FLANNELD).map(Need::Lacking));
    needs.extend(backend.needs());
    needs
}

/// Adds flannel to every node; each is ready when it knows the ways to all others' containers.
pub(crate) fn add(wiring: &mut Wiring, underlay: &Underlay, backend: Backend) {
    let Some(&first) = underlay.nodes.first() else { return };
    // By that flannel knows a node, whatever it carries.
    underlay.speak_ipv4(wiring);
    let etcd = format!("http://{}:2379", first.ipv4());
    keep(wiring, first, &etcd, backend);
    for &node in &underlay.nodes {
        if node != first {
            wiring.programs.push(wait(node, &etcd));
        }
        start(wiring, underlay, node, &etcd, backend);
    }
}

/// etcd on a node, and what it keeps for all.
fn keep(wiring: &mut Wiring, node: Node, etcd: &str, backend: Backend) {
    const PEERS: &str = "http://127.0.0.1:2380";
    let data = format!("{}/etcd", directory(wiring.name(node.space)));
    let arguments = [
        "--name=lab",
        &format!("--data-dir={data}"),
        &format!("--listen-client-urls={etcd}"),
        &format!("--advertise-client-urls={etcd}"),
        &format!("--listen-peer-urls={PEERS}"),
        &format!("--initial-advertise-peer-urls={PEERS}"),
        &format!("--initial-cluster=lab={PEERS}"),
        // It has nobody to agree with: it need not wait as long as members of a cluster do.
        "--heartbeat-interval=20",
        "--election-timeout=200",
    ];
    let endpoints = format!("--endpoints={etcd}");
    let health = ["etcdctl", &endpoints, "--dial-timeout=1s", "endpoint", "health"];
    let ready = Ready::Answers(health.map(str::to_owned).to_vec());
    wiring.programs.push(Program::daemon(node.space, "etcd", arguments, ready));
    let put = ["put", CONFIGURATION, &configuration(backend, wiring.family)];
    let put = Program::step(node.space, "etcdctl", std::iter::once(endpoints.as_str()).chain(put));
    wiring.programs.push(put.named("etcdctl-put"));
}

/// What flannel is told: every node has the containers of its own network in the lab's plan.
fn configuration(backend: Backend, family: Family) -> String {
    let last = u8::try_from(crate::underlay::MOST_NODES - 1).unwrap_or(u8::MAX);
    let of = |node, family| Subnet::docker(node).slot(0).address(family);
    let (from, to) = (of(0, Family::Ipv4), of(last, Family::Ipv4));
    let mut keys =
        format!(r#""Network":"{NETWORK}","SubnetLen":16,"SubnetMin":"{from}","SubnetMax":"{to}""#);
    if family == Family::Ipv6 {
        let (from, to) = (of(0, family), of(last, family));
        keys.push_str(&format!(
            r#","EnableIPv6":true,"IPv6Network":"{NETWORK_V6}","IPv6SubnetLen":64,"IPv6SubnetMin":"{from}","IPv6SubnetMax":"{to}""#
        ));
    }
    format!(r#"{{{keys},"Backend":{{"Type":"{}"}}}}"#, backend.kind())
}

/// Waits until there is a configuration: flanneld would look for it once a second.
fn wait(node: Node, etcd: &str) -> Program {
    let script = format!(
        "for try in $(seq 600); do etcdctl --endpoints={etcd} --dial-timeout=1s --command-timeout=2s \
         get {CONFIGURATION} 2>/dev/null | grep -q Network && exit 0; sleep 0.1; done; \
         echo 'error: etcd does not answer at {etcd}'; exit 1"
    );
    Program::step(node.space, "sh", ["-c", &script]).named("etcdctl-wait")
}

/// flanneld on a node.
fn start(wiring: &mut Wiring, underlay: &Underlay, node: Node, etcd: &str, backend: Backend) {
    let place = directory(wiring.name(node.space));
    let file = format!("{place}/subnet.env");
    let family = wiring.family;
    let mine = |family| {
        let first = Subnet::docker(node.number()).slot(1).address(family);
        format!("{first}/{}", prefix_length(family))
    };
    let mut lease = format!("FLANNEL_NETWORK={NETWORK}\nFLANNEL_SUBNET={}\n", mine(Family::Ipv4));
    let peers: Vec<String> = underlay
        .nodes
        .iter()
        .filter(|other| **other != node)
        .map(|other| Subnet::docker(other.number()).prefix(family))
        .collect();
    let (ipv4, address) = (node.ipv4().to_string(), node.slot(0).address(family).to_string());
    let mut arguments =
        vec!["-etcd-endpoints", etcd, "-iface", UPLINK, "-public-ip", &ipv4, "-subnet-file", &file];
    if family == Family::Ipv6 {
        arguments.extend(["-public-ipv6", &address]);
        let mine = mine(family);
        lease += &format!("FLANNEL_IPV6_NETWORK={NETWORK_V6}\nFLANNEL_IPV6_SUBNET={mine}\n");
    }
    let ready = knows_all(&file, &peers, backend, family);
    let flanneld = Program::daemon(node.space, FLANNELD, arguments, ready)
        // Each node has a key of its own, also where nodes share their files.
        .with_variable("WIREGUARD_KEY_FILE", format!("{place}/wgkey"))
        .with_file(file.clone(), lease.clone());
    wiring.programs.push(flanneld);
    let checks = lease.lines().map(|line| {
        format!(
            "grep -qx '{line}' {file} || {{ echo \"error: not {line}: $(cat {file})\"; exit 1; }}"
        )
    });
    let checks = checks.collect::<Vec<_>>().join("; ");
    let check = Program::step(node.space, "sh", ["-c", &checks]);
    wiring.programs.push(check.named("check-lease"));
}

/// That flanneld has its lease, and has told the kernel of all others'.
fn knows_all(file: &str, peers: &[String], backend: Backend, family: Family) -> Ready {
    if backend == Backend::Udp {
        // It forwards by a table of its own, and logs what it puts there.
        return Ready::Says(peers.iter().map(|peer| format!("Subnet added: {peer}")).collect());
    }
    let version = match family {
        Family::Ipv4 => "-4",
        Family::Ipv6 => "-6",
    };
    let known = match backend.device(family).filter(|_| backend == Backend::Wireguard) {
        Some(device) => format!("wg show {device} allowed-ips | grep -q $net"),
        None => format!("ip {version} route show $net | grep -q ."),
    };
    let script = format!(
        "grep -q FLANNEL_MTU {file} || exit 1; for net in {}; do {known} || exit 1; done",
        peers.join(" ")
    );
    Ready::Answers(["sh", "-c", &script].map(str::to_owned).to_vec())
}
