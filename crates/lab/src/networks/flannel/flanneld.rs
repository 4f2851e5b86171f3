//! flannel on every node: a real flanneld on each, etcd on the first node, and their configuration.
//!
//! The lease of a node is known in advance: flanneld asks for the lease in its subnet file, as it does after a restart
//! (flannel, `pkg/subnet/etcd/local_manager.go`), and etcd always grants it. So the addresses of the containers are
//! those of the lab's plan. All of it is private to the lab. Sources: flannel, `Documentation/configuration.md`,
//! `backends.md`; etcd(1).

use crate::networks::etcd;
use crate::plan::address::{LabSubnet, prefix_length};
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::Underlay;
use crate::plan::wiring::Wiring;
use crate::programs::{Program, ReadyCondition};
use tare_network::{Family, Requirement};
use tare_sandbox::program;
use tare_sandbox::programs::runtime_directory;

/// Key in etcd under which flanneld looks for its configuration.
const CONFIGURATION: &str = "/coreos.com/network/config";

/// Network of the containers of all nodes in flannel's configuration.
const NETWORK: &str = "10.0.0.0/8";
const NETWORK_V6: &str = "fd00::/48";

/// Name of the daemon's program.
const FLANNELD: &str = "flanneld";

/// Backend by which flannel carries packets between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlannelBackend {
    /// A kernel VXLAN device.
    Vxlan,
    /// flanneld itself, on a TUN device.
    Udp,
    /// Plain routes.
    HostGw,
    /// A kernel IP-in-IP device.
    Ipip,
    /// The kernel's WireGuard.
    Wireguard,
}

impl FlannelBackend {
    /// Returns the name in flannel's configuration.
    fn kind(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Udp => "udp",
            Self::HostGw => "host-gw",
            Self::Ipip => "ipip",
            Self::Wireguard => "wireguard",
        }
    }

    /// Returns `true` if the backend carries packets of this family (flannel, `Documentation/configuration.md`,
    /// dual-stack).
    pub(crate) fn carries(self, family: Family) -> bool {
        family == Family::Ipv4 || !matches!(self, Self::Udp | Self::Ipip)
    }

    /// Returns the device that the backend makes on every node for packets of this family.
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

    /// Returns the size of the headers on the underlay, bytes, as flanneld calculates it. The exception is VXLAN
    /// between IPv6 addresses, for which flanneld calculates as for IPv4, so that every full packet would be
    /// fragmented.
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

    /// Returns the requirements of the backend, without those of flannel's programs.
    fn requirements(self) -> Vec<Requirement> {
        match self {
            Self::Vxlan => vec![Requirement::Kernel { module: "vxlan" }],
            Self::Udp => vec![Requirement::DeviceFile { path: "/dev/net/tun", module: "tun" }],
            Self::HostGw => Vec::new(),
            Self::Ipip => vec![Requirement::Kernel { module: "ipip" }],
            Self::Wireguard => vec![
                Requirement::Kernel { module: "wireguard" },
                Requirement::Program { name: "wg", package: "wireguard-tools" },
            ],
        }
    }
}

/// Returns the requirements of flannel. It is not packaged by any distribution.
pub(crate) fn flannel_requirements(backend: FlannelBackend) -> Vec<Requirement> {
    let mut needs = etcd::etcd_requirements().to_vec();
    needs.push(Requirement::Program { name: "iptables", package: "iptables" });
    needs.push(Requirement::Program { name: "ip", package: "iproute2" });
    needs.extend(program::missing_program(FLANNELD).map(Requirement::Unmet));
    needs.extend(backend.requirements());
    needs
}

/// Adds flannel to every node. Each daemon is ready when it knows the routes to the containers of all other nodes.
pub(crate) fn add(wiring: &mut Wiring, underlay: &Underlay, backend: FlannelBackend) {
    let Some(&first) = underlay.nodes.first() else { return };
    // flannel identifies a node by its IPv4 address, whatever family it carries.
    underlay.add_ipv4(wiring);
    let etcd = format!("http://{}:2379", first.ipv4());
    add_etcd(wiring, first, &etcd, backend);
    for &node in &underlay.nodes {
        if node != first {
            wiring.programs.push(await_etcd(node, &etcd));
        }
        add_flanneld(wiring, underlay, node, &etcd, backend);
    }
}

/// Adds etcd to a node, and the configuration that it stores for all nodes.
fn add_etcd(wiring: &mut Wiring, node: LabNode, etcd: &str, backend: FlannelBackend) {
    let endpoints = format!("--endpoints={etcd}");
    wiring.programs.push(etcd::etcd(node.space, wiring.name(node.space), etcd, &[]));
    let put = ["put", CONFIGURATION, &configuration(backend, wiring.family)];
    let put = Program::step(node.space, "etcdctl", std::iter::once(endpoints.as_str()).chain(put));
    wiring.programs.push(put.with_name("etcdctl-put"));
}

/// Returns flannel's configuration: each node has the containers of its own network in the lab's plan.
fn configuration(backend: FlannelBackend, family: Family) -> String {
    let last = u8::try_from(crate::plan::underlay::MOST_NODES - 1).unwrap_or(u8::MAX);
    let of = |node, family| LabSubnet::docker(node).slot(0).address(family);
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

/// Returns a step that waits until there is a configuration. flanneld would look for it only once a second.
fn await_etcd(node: LabNode, etcd: &str) -> Program {
    let script = format!(
        "for try in $(seq 600); do etcdctl --endpoints={etcd} --dial-timeout=1s --command-timeout=2s \
         get {CONFIGURATION} 2>/dev/null | grep -q Network && exit 0; sleep 0.1; done; \
         echo 'error: etcd does not answer at {etcd}'; exit 1"
    );
    Program::step(node.space, "sh", ["-c", &script]).with_name("etcdctl-wait")
}

/// Adds flanneld to a node.
fn add_flanneld(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: LabNode,
    etcd: &str,
    backend: FlannelBackend,
) {
    let place = runtime_directory(wiring.name(node.space));
    let file = format!("{place}/subnet.env");
    let family = wiring.family;
    let mine = |family| {
        let first = LabSubnet::docker(node.number()).slot(1).address(family);
        format!("{first}/{}", prefix_length(family))
    };
    let mut lease = format!("FLANNEL_NETWORK={NETWORK}\nFLANNEL_SUBNET={}\n", mine(Family::Ipv4));
    let peers: Vec<String> = underlay
        .nodes
        .iter()
        .filter(|other| **other != node)
        .map(|other| LabSubnet::docker(other.number()).prefix(family))
        .collect();
    let (ipv4, address) = (node.ipv4().to_string(), node.slot(0).address(family).to_string());
    let mut arguments =
        vec!["-etcd-endpoints", etcd, "-iface", UPLINK, "-public-ip", &ipv4, "-subnet-file", &file];
    if family == Family::Ipv6 {
        arguments.extend(["-public-ipv6", &address]);
        let mine = mine(family);
        lease += &format!("FLANNEL_IPV6_NETWORK={NETWORK_V6}\nFLANNEL_IPV6_SUBNET={mine}\n");
    }
    let ready = routes_known(&file, &peers, backend, family);
    let flanneld = Program::daemon(node.space, FLANNELD, arguments, ready)
        // Each node has a key of its own, also if nodes share their files.
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
    wiring.programs.push(check.with_name("check-lease"));
}

/// Returns the condition that flanneld has its lease, and has told the kernel about the leases of all other nodes.
fn routes_known(
    file: &str,
    peers: &[String],
    backend: FlannelBackend,
    family: Family,
) -> ReadyCondition {
    if backend == FlannelBackend::Udp {
        // It forwards by a table of its own, and logs each entry.
        return ReadyCondition::OutputContains(
            peers.iter().map(|peer| format!("Subnet added: {peer}")).collect(),
        );
    }
    let version = match family {
        Family::Ipv4 => "-4",
        Family::Ipv6 => "-6",
    };
    let known = match backend.device(family).filter(|_| backend == FlannelBackend::Wireguard) {
        Some(device) => format!("wg show {device} allowed-ips | grep -q $net"),
        None => format!("ip {version} route show $net | grep -q ."),
    };
    let script = format!(
        "grep -q FLANNEL_MTU {file} || exit 1; for net in {}; do {known} || exit 1; done",
        peers.join(" ")
    );
    ReadyCondition::CommandSucceeds(["sh", "-c", &script].map(str::to_owned).to_vec())
}
