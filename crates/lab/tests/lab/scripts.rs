//! Tests of `tare show`: its commands, run in private namespaces, build a network that answers.

use crate::cases::{names, site};
use crate::cni::CniConfigFile;
use crate::harness::Case;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tare_network::{Family, NetworkRegistry, NetworkSpec, Shape};

pub(crate) fn all() -> Vec<Case> {
    let of = |family: Family| {
        move |network| {
            let case = format!("the_shown_commands_build_it_over_{family}");
            Case::of_network(&case, network, move |network| builds(network, family))
        }
    };
    let mut cases = vec![Case::new("the_shown_commands_start_programs", with_programs)];
    for family in [Family::Ipv4, Family::Ipv6] {
        let daemons = ["ovs-user", "ovs-user-bridge", "ovs-user-internal"];
        cases.extend(names().chain(daemons).map(of(family)));
    }
    cases.extend(["service-iptables", "service-nftables"].map(of(Family::Ipv4)));
    cases
}

/// Returns the namespace of the client, and the server's address as this client sees it, in a network built by the
/// commands.
fn client_and_server(name: &str, family: Family) -> (Option<&'static str>, &'static str) {
    let v4 = family == Family::Ipv4;
    let either = |ipv4, ipv6| if v4 { ipv4 } else { ipv6 };
    match name.split('+').next().unwrap_or_default() {
        "native" => (None, either("127.0.0.1", "::1")),
        "loopback" => (Some("node-0"), either("127.0.0.1", "::1")),
        "host" => (Some("node-0"), either("10.20.0.1", "fd00:0:0:14::1")),
        "shared" => (Some("server-0"), either("10.100.0.2", "fd00:0:0:64::2")),
        "veth" | "netkit" => (Some("client-0"), either("10.40.0.2", "fd00:0:0:28::2")),
        "macvlan" | "macvlan-nat" | "pipework-macvlan" | "ipvlan-l2" | "ipvlan-l3" => {
            (Some("client-0"), either("10.20.128.1", "fd00:0:0:14::8001"))
        }
        "pipework" => (Some("client-0"), either("10.60.0.1", "fd00:0:0:3c::1")),
        // Ping does not pass a published port, so it tries the server's own address.
        "published" | "published-proxy" => (Some("node-0"), either("10.100.0.2", "fd00:0:0:64::2")),
        _ => (Some("client-0"), either("10.100.0.2", "fd00:0:0:64::2")),
    }
}

/// Networks that need programs in addition to the kernel: this user finds their programs.
fn with_programs() {
    let ranges = r#"{"type": "host-local", "dataDir": "/run/cni", "subnet": "10.88.0.0/16"}"#;
    let list = format!(
        r#"{{"cniVersion": "1.0.0", "name": "listed", "plugins": [
            {{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {ranges}}},
            {{"type": "tuning", "sysctl": {{"net.ipv4.conf.all.forwarding": "0"}}}}]}}"#
    );
    let file = CniConfigFile::new("scripts.conflist", &list);
    builds_at(&file.spelled("cni").to_string(), Family::Ipv4, (Some("client-0"), "10.88.0.2"));
    let example = concat!("exec:", env!("CARGO_MANIFEST_DIR"), "/../../examples/exec/bridge.py");
    builds_at(example, Family::Ipv4, (Some("client-0"), "10.77.0.1"));
    builds_at(example, Family::Ipv6, (Some("client-0"), "fd00:77::1"));
}

fn builds(name: &str, family: Family) {
    builds_at(name, family, client_and_server(name, family));
}

fn builds_at(name: &str, family: Family, (client, server): (Option<&str>, &str)) {
    ping(name, &Shape { family, ..Shape::default() }, client, server);
}

/// Builds a network by its commands in private namespaces, and sends a packet from a client to a server and back.
pub(crate) fn ping(name: &str, shape: &Shape, client: Option<&str>, server: &str) {
    let family = shape.family;
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(tare_lab::networks(None));
    let network = registry.find(&spelled).expect("a known network");
    let place = client.map(|name| format!("ip netns exec {name} ")).unwrap_or_default();
    // A private /run lets namespaces have names. `native` needs the loopback device of the namespace it runs in.
    let mut script = "set -e\nmount -t tmpfs tmpfs /run\nip link set lo up\n".to_owned();
    let site = site(&spelled);
    script.push_str(&network.commands(shape, &site).join("\n"));
    script.push_str(&if spelled.name == "link" {
        // Only the server's port is accepted. The server itself refuses the connection, because it does not listen.
        let dial = format!("timeout 60 bash -c '</dev/tcp/{server}/{}'", site.ports[0]);
        format!("\n{place}{dial} 2>&1 | grep -o refused\n")
    } else {
        // The kernel adds the local route of an IPv6 address with a delay; until then, packets cannot be sent.
        let ping = format!("{place}ping -n -c 1 -W 60 {server}");
        format!("\nfor attempt in $(seq 600); do {ping} && exit; sleep 0.1; done; exit 1\n")
    });
    let namespaces: &[&str] =
        if spelled.options.redirect.is_some() { &AS_ROOT } else { &MAPPED_TO_ROOT };
    let done = run_in_namespaces(namespaces, &script);
    let said = String::from_utf8_lossy(&done.stdout);
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name} {family}:\n{script}\n{said}{complaints}");
    let answered = said.contains("1 received") || said.contains("refused");
    assert!(answered, "{name} {family}: {said}");
}

/// Options of unshare(1): private namespaces, in which any user is root.
const MAPPED_TO_ROOT: [&str; 6] =
    ["--map-root-user", "--mount", "--net", "--pid", "--fork", "--mount-proc"];

/// Options of unshare(1): private namespaces of root itself, who alone may load eBPF programs.
const AS_ROOT: [&str; 5] = ["--mount", "--net", "--pid", "--fork", "--mount-proc"];

/// Runs a script of the shell in private namespaces, to its end.
pub(crate) fn run_in_private_namespaces(script: &str) -> Output {
    run_in_namespaces(&MAPPED_TO_ROOT, script)
}

/// Runs a script of the shell, to its end, in the namespaces that unshare(1) makes by these options.
fn run_in_namespaces(options: &[&str], script: &str) -> Output {
    // An ordinary user's PATH lacks /usr/sbin and /sbin.
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("unshare")
        // Daemons end with their shell, which is init of a PID namespace.
        .args(options)
        .args(["sh", "-s"])
        .env("PATH", format!("{path}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unshare runs");
    shell.stdin.take().expect("piped").write_all(script.as_bytes()).expect("the shell reads");
    shell.wait_with_output().expect("the shell ends")
}
