//! Tests of `cni:FILE`: real plugins attach containers, and packets take the path that the plugins set up.

use crate::cases::{enter, path, site};
use crate::daemons::{exchange, program_output};
use crate::harness::Case;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tare_dev::ScratchDirectory;
use tare_lab::networks;
use tare_network::{Error, Family, NetworkRegistry, NetworkSpec, Shape, Topology};
use tare_sandbox::Sandbox;

/// CNI configuration on disk, which is removed with the value.
pub(crate) struct CniConfigFile {
    file: PathBuf,
    _scratch: ScratchDirectory,
}

impl CniConfigFile {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let scratch = ScratchDirectory::new();
        Self { file: scratch.write_file(name, text), _scratch: scratch }
    }

    pub(crate) fn spelled(&self, scheme: &str) -> NetworkSpec {
        format!("{scheme}:{}", self.file.display()).parse().expect("a good name")
    }
}

/// Bytes that an exchange carries in each direction.
const SENT: u64 = 100_000;

/// Configuration of an IPAM plugin with addresses of both families.
const RANGES: &str = r#"{"type": "host-local",
    "ranges": [[{"subnet": "10.88.0.0/16"}], [{"subnet": "fd00:88::/64"}]],
    "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}"#;

fn try_raise(
    sandbox: &Arc<Sandbox>,
    spelled: &NetworkSpec,
    shape: &Shape,
) -> Result<Topology, Error> {
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))));
    registry.find(spelled).expect("a known network").set_up(shape, &site(spelled))
}

fn raise(sandbox: &Arc<Sandbox>, spelled: &NetworkSpec, shape: &Shape) -> Topology {
    try_raise(sandbox, spelled, shape).unwrap_or_else(|error| panic!("{spelled}: {error}"))
}

/// Returns the bytes that a device of the node has received.
fn received_bytes(topology: &Topology, device: &str) -> u64 {
    let file = format!("/sys/class/net/{device}/statistics/rx_bytes");
    program_output(topology.nodes[0].as_ref(), &["cat", &file]).trim().parse().expect("a number")
}

pub(crate) fn all() -> Vec<Case> {
    let modes = [("l2", "ipvlan-l2"), ("l3", "ipvlan-l3")];
    let ipvlan = modes.map(|(mode, network)| {
        let case = format!("cni_ipvlan_of_other_kernels::{mode}");
        Case::new(case, move || ipvlan_hands_packets_over(mode)).on(network)
    });
    let rest = [
        Case::new("cni_bridge_in_both_families", bridge_in_both_families),
        Case::new(
            "cni_ptp_is_routed_and_macvlan_is_not_seen_by_the_node",
            ptp_is_routed_and_macvlan_is_not_seen_by_the_node,
        ),
        Case::new("cni_portmap_publishes_ports", portmap_publishes_ports),
        Case::new(
            "cni_nerdctls_default_network_carries_and_publishes",
            nerdctls_default_network_carries_and_publishes,
        ),
        Case::new("cni_plugins_fail_in_their_own_words", plugins_fail_in_their_own_words),
        Case::new("cni_detaches_every_container", every_container_is_detached),
    ];
    ipvlan.into_iter().chain(rest).collect()
}

fn bridge_in_both_families() {
    let sandbox = enter();
    let text = format!(
        r#"{{"cniVersion": "0.4.0", "name": "bridged", "type": "bridge", "bridge": "cni0",
            "isGateway": true, "ipam": {RANGES}}}"#
    );
    let file = CniConfigFile::new("bridge.conf", &text);
    for family in [Family::Ipv4, Family::Ipv6] {
        let shape = Shape { servers: 2, clients: 3, family, ..Shape::default() };
        let topology = raise(&sandbox, &file.spelled("cni"), &shape);
        let hops = path(&topology);
        assert_eq!((hops.len(), hops[2].as_str()), (5, "node-0:cni0 Bridge"), "{hops:?}");
        assert_eq!(hops[0], "client-0:eth0 Veth");
        let address = topology.servers[1].address().to_string();
        assert!(address.starts_with("10.88.") || address.starts_with("fd00:88::"), "{address}");
        // The client's port on the bridge is the second hop.
        let port = topology.hops[1].name.clone();
        let before = received_bytes(&topology, &port);
        exchange(&topology);
        assert!(received_bytes(&topology, &port) >= before + SENT);
    }
}

fn ptp_is_routed_and_macvlan_is_not_seen_by_the_node() {
    let sandbox = enter();
    let text =
        format!(r#"{{"cniVersion": "1.0.0", "name": "routed", "type": "ptp", "ipam": {RANGES}}}"#);
    let file = CniConfigFile::new("ptp.conf", &text);
    let topology = raise(&sandbox, &file.spelled("cni"), &Shape::default());
    let kinds: Vec<String> =
        path(&topology).iter().filter_map(|hop| hop.split(' ').nth(1)).map(str::to_owned).collect();
    assert_eq!(kinds, ["Veth", "Veth", "Route", "Veth", "Veth"]);
    let port = topology.hops[1].name.clone();
    let before = received_bytes(&topology, &port);
    exchange(&topology);
    assert!(received_bytes(&topology, &port) >= before + SENT);

    let text = format!(
        r#"{{"cniVersion": "0.3.1", "name": "straight", "type": "macvlan", "master": "eth0", "ipam": {RANGES}}}"#
    );
    let file = CniConfigFile::new("macvlan.conf", &text);
    let topology = raise(&sandbox, &file.spelled("cni"), &Shape::default());
    assert_eq!(path(&topology), ["client-0:eth0 Device", "server-0:eth0 Device"]);
    let before = received_bytes(&topology, "eth0");
    exchange(&topology);
    assert!(received_bytes(&topology, "eth0") < before + SENT, "they do not pass the node");
}

fn ipvlan_hands_packets_over(mode: &str) {
    let text = format!(
        r#"{{"cniVersion": "1.0.0", "name": "straight", "type": "ipvlan", "mode": "{mode}", "master": "eth0", "ipam": {RANGES}}}"#
    );
    let file = CniConfigFile::new(&format!("ipvlan-{mode}.conf"), &text);
    let topology = raise(&enter(), &file.spelled("cni"), &Shape::default());
    assert_eq!(path(&topology), ["client-0:eth0 Device", "server-0:eth0 Device"]);
    let described =
        program_output(topology.clients[0].as_ref(), &["ip", "-details", "link", "show", "eth0"]);
    assert!(described.contains(&format!("ipvlan  mode {mode}")), "{described}");
    let before = received_bytes(&topology, "eth0");
    exchange(&topology);
    assert!(received_bytes(&topology, "eth0") < before + SENT, "they do not pass the node");
}

/// Returns the packets counted by portmap's DNAT rules for a port.
fn dnat_packets(topology: &Topology, port: u16) -> u64 {
    let node = topology.nodes[0].as_ref();
    let rules = program_output(node, &["iptables", "-t", "nat", "-nvxL"]);
    let rule = |line: &&str| line.contains("DNAT") && line.contains(&format!("tcp dpt:{port} "));
    let counts = rules.lines().filter(rule).filter_map(|line| line.split_whitespace().next());
    counts.map(|count| count.parse::<u64>().expect("a number")).sum()
}

fn portmap_publishes_ports() {
    let sandbox = enter();
    let text = format!(
        r#"{{"cniVersion": "1.0.0", "name": "published", "plugins": [
            {{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "ipam": {RANGES}}},
            {{"type": "portmap", "capabilities": {{"portMappings": true}}}}]}}"#
    );
    let file = CniConfigFile::new("portmap.conflist", &text);
    let shape = Shape { servers: 2, clients: 2, ..Shape::default() };
    let topology = raise(&sandbox, &file.spelled("cni-published"), &shape);
    let hops = path(&topology);
    assert_eq!(&hops[..2], ["node-0:nat/CNI-HOSTPORT-DNAT Nat", "node-0:cni0 Bridge"]);
    assert_eq!(hops.last().map(String::as_str), Some("server-0:eth0 Veth"));
    let dialled: Vec<String> =
        topology.routes.iter().map(|route| route.dial.ip().to_string()).collect();
    assert_eq!(dialled, ["10.20.0.1", "10.20.0.1", "10.20.0.2", "10.20.0.2"]);
    let port = topology.routes[0].dial.port();
    let before = dnat_packets(&topology, port);
    assert!(before > 0, "raising has passed the rule");
    exchange(&topology);
    assert_eq!(dnat_packets(&topology, port), before + 1, "one connection passes it once");
    drop(topology);
    let shape = Shape { family: Family::Ipv6, ..Shape::default() };
    let topology = raise(&sandbox, &file.spelled("cni-published"), &shape);
    assert_eq!(topology.routes[0].dial.ip().to_string(), "fd00:0:0:14::1");
    exchange(&topology);
    // Without the capability, no plugin can publish a port.
    let plain = CniConfigFile::new(
        "none.conf",
        r#"{"cniVersion": "1.0.0", "name": "n", "type": "bridge"}"#,
    );
    let registry = NetworkRegistry::new(networks(None));
    let spelled = plain.spelled("cni-published");
    let network = registry.find(&spelled).unwrap();
    let missing = registry
        .unmet_requirement(network, &site(&spelled), &tare_sandbox::KernelProbe::default())
        .expect("it cannot publish");
    assert!(missing.reason.contains("capability portMappings"), "{missing:?}");
}

/// Configuration that nerdctl writes to /etc/cni/net.d for its default network (nerdctl, `pkg/netutil/netutil_unix.go`).
const NERDCTL: &str = r#"{"cniVersion": "1.0.0", "name": "bridge",
    "nerdctlID": "17f29b073143d8cd97b5bbe492bdeffec1c5fee55cc1fe2112c8b9335f8b6121",
    "nerdctlLabels": {"nerdctl/default-network": "true"},
    "plugins": [
        {"type": "bridge", "bridge": "nerdctl0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
         "ipam": {"type": "host-local", "ranges": [[{"gateway": "10.4.0.1", "subnet": "10.4.0.0/24"}]],
                  "routes": [{"dst": "0.0.0.0/0"}]}},
        {"type": "portmap", "capabilities": {"portMappings": true}},
        {"type": "firewall", "ingressPolicy": "same-bridge"},
        {"type": "tuning"}]}"#;

fn nerdctls_default_network_carries_and_publishes() {
    let sandbox = enter();
    let file = CniConfigFile::new("nerdctl-bridge.conflist", NERDCTL);
    let topology = raise(&sandbox, &file.spelled("cni"), &Shape::default());
    let hops: Vec<&str> = topology.hops.iter().map(|hop| hop.name.as_str()).collect();
    let [_, port, "nerdctl0", _, _] = hops[..] else { panic!("{hops:?}") };
    let before = received_bytes(&topology, port);
    exchange(&topology);
    assert!(received_bytes(&topology, port) - before > SENT, "{hops:?}");
    drop(topology);
    let topology = raise(&sandbox, &file.spelled("cni-published"), &Shape::default());
    let port = topology.routes[0].dial.port();
    let before = dnat_packets(&topology, port);
    exchange(&topology);
    assert_eq!(dnat_packets(&topology, port), before + 1, "one connection passes it once");
}

fn plugins_fail_in_their_own_words() {
    let sandbox = enter();
    let text = r#"{"cniVersion": "1.0.0", "name": "small", "type": "bridge", "bridge": "cni0",
        "ipam": {"type": "host-local", "subnet": "10.88.0.0/30"}}"#;
    let file = CniConfigFile::new("small.conf", text);
    let spelled = file.spelled("cni");
    let shape = Shape { clients: 4, ..Shape::default() };
    let error = try_raise(&sandbox, &spelled, &shape).unwrap_err();
    assert!(error.what.starts_with("run the CNI plugin bridge (ADD) for client-0"), "{error}");
    assert!(error.why.contains("no IP addresses available"), "{error}");
    let shape = Shape { family: Family::Ipv6, ..Shape::default() };
    let text = text.replace("/30", "/24");
    let file = CniConfigFile::new("one-family.conf", &text);
    let error = try_raise(&sandbox, &file.spelled("cni"), &shape).unwrap_err();
    assert!(error.why.contains("no ipv6 address"), "{error}");
    let shape = Shape { mtu: 9000, ..Shape::default() };
    let topology = raise(&sandbox, &file.spelled("cni"), &shape);
    assert!(topology.hops.iter().all(|hop| hop.mtu == Some(9000)), "{:?}", topology.hops);
    drop(topology);
    let text = text.replace("\"bridge\": \"cni0\",", "\"bridge\": \"cni0\", \"mtu\": 1400,");
    let file = CniConfigFile::new("own-mtu.conf", &text);
    let error = try_raise(&sandbox, &file.spelled("cni"), &shape).unwrap_err();
    assert!(error.why.contains("an MTU of 1400, not of 9000"), "{error}");
}

fn every_container_is_detached() {
    let scratch = ScratchDirectory::new();
    let heard = scratch.path("heard");
    // The plugin adds nothing and so may print nothing; the result of the plugin before must be in its configuration.
    let script = format!(
        "#!/bin/sh\nconfig=$(cat)\ncase $config in *prevResult*) told=yes ;; *) told=no ;; esac\n\
         echo \"$CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME $told\" >> {}\n",
        heard.display()
    );
    scratch.write_program("witness", &script);
    let text = format!(
        r#"{{"cniVersion": "1.0.0", "name": "witnessed", "plugins": [
            {{"type": "bridge", "bridge": "cni0", "ipam": {RANGES}}}, {{"type": "witness"}}]}}"#
    );
    let file = CniConfigFile::new("witnessed.conflist", &text);
    let this = std::env::current_exe().expect("this program has a path");
    let path = format!("/usr/lib/cni:/opt/cni/bin:{}", scratch.root().display());
    let done = std::process::Command::new(this)
        .args(["raise-once", &file.spelled("cni").to_string()])
        .env("CNI_PATH", path)
        .output()
        .expect("it runs");
    let lines = fs::read_to_string(&heard).unwrap_or_default();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines: Vec<&str> = lines.lines().collect();
    let expected = [
        "ADD server-0 eth0 yes",
        "ADD client-0 eth0 yes",
        "DEL client-0 eth0 yes",
        "DEL server-0 eth0 yes",
    ];
    assert_eq!(lines, expected);
}

/// Raises a network, and removes it.
pub(crate) fn raise_once(name: &str) -> std::process::ExitCode {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    drop(raise(&enter(), &spelled, &Shape::default()));
    std::process::ExitCode::SUCCESS
}
