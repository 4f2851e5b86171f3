//! Docker's netfilter rules, of each of its firewall backends: the hops that packets pass, and what is let through.

use crate::cases::{enter, output, path, raise};
use crate::container_programs::start;
use crate::harness::Case;
use crate::paths::{exchange, rule_packets, shape};
use std::path::Path;
use std::sync::Arc;
use tare_dev::eventually;
use tare_network::{Command, Family, ProcessExit, Shape};
use tare_sandbox::Sandbox;

pub(crate) fn all() -> Vec<Case> {
    [
        ("published_names_its_hops", published_names_its_hops as fn()),
        ("bridge_names_its_hops", bridge_names_its_hops),
        ("packets_pass_the_published_rule", packets_pass_the_published_rule),
        ("only_linked_containers_talk", only_linked_containers_talk),
        (
            "a_linked_client_is_told_where_its_server_is",
            a_linked_client_is_told_where_its_server_is,
        ),
    ]
    .map(|(name, body)| Case::new(name, body))
    .into()
}

fn published_names_its_hops() {
    let sandbox = enter();
    for (name, translation) in [
        ("published", "nat/DOCKER"),
        ("published+firewall=nftables", "docker-bridges/nat-prerouting-and-output"),
    ] {
        let topology = raise(&sandbox, name, &Shape::default());
        let translation = format!("node-0:{translation} Nat");
        let expected = [
            "node-0:nf_conntrack Conntrack",
            &translation,
            "node-0:docker0 Bridge",
            "node-0:veth-s0 Veth",
            "server-0:eth0 Veth",
        ];
        assert_eq!(path(&topology), expected);
        let port = topology.routes[0].dial.port();
        let rule = topology.hops[1].detail.as_deref().expect("the rule's own text");
        assert!(rule.contains(&format!("tcp dport {port} counter dnat to ")), "{rule}");
        assert_eq!(topology.hops[2].mtu, Some(1500));
    }
}

fn bridge_names_its_hops() {
    let sandbox = enter();
    let mut expected = vec![
        "client-0:eth0 Veth",
        "node-0:veth-c0 Veth",
        "node-0:docker0 Bridge",
        "node-0:veth-s0 Veth",
        "server-0:eth0 Veth",
    ];
    assert_eq!(path(&raise(&sandbox, "bridge-plain", &Shape::default())), expected);
    assert_eq!(path(&raise(&sandbox, "bridge+plain", &Shape::default())), expected);
    expected.splice(3..3, ["node-0:nf_conntrack Conntrack", "node-0:filter/FORWARD Filter"]);
    for name in ["bridge", "bridge+firewall=iptables"] {
        assert_eq!(path(&raise(&sandbox, name, &Shape::default())), expected);
    }
    expected[4] = "node-0:docker-bridges/filter-FORWARD Filter";
    let topology = raise(&sandbox, "bridge+firewall=nftables", &Shape::default());
    assert_eq!(path(&topology), expected);
}

fn packets_pass_the_published_rule() {
    let sandbox = enter();
    let topology = raise(&sandbox, "published", &Shape::default());
    let route = topology.routes[0];
    let nft = tare_sandbox::program::find("nft").expect("nft is installed");
    // The client is on the node, and lists the node's rules.
    let packets = || -> u64 {
        let rules = output(topology.clients[0].as_ref(), &nft, &["list", "table", "ip", "nat"]);
        let rule = format!("tcp dport {} counter packets ", route.dial.port());
        let rest = rules.split(&rule).nth(1).expect("the rule is listed");
        rest.split(' ').next().and_then(|count| count.parse().ok()).expect("it counts")
    };
    let before = packets();
    assert!(before > 0, "raising has proven the path");
    let (_serving, _) = start(topology.servers[0].as_ref(), &["serve", &route.listen.to_string()]);
    let (_, line) = start(topology.clients[0].as_ref(), &["dial", &route.dial.to_string()]);
    assert_eq!(line, "100000");
    assert_eq!(packets(), before + 1, "one new connection passes the rule once");
}

fn only_linked_containers_talk() {
    let sandbox = enter();
    let firewalls = [
        ("link", "iifname \"docker0\" oifname \"docker0\" counter"),
        ("link+firewall=nftables", "iifname \"docker0\" counter"),
    ];
    for family in [Family::Ipv4, Family::Ipv6] {
        for (name, dropped) in firewalls {
            only_linked_containers_communicate(&sandbox, name, family, dropped);
        }
    }
}

/// Checks that a client reaches the server that it is linked to, and that the rule `dropped` drops what it sends to another.
fn only_linked_containers_communicate(
    sandbox: &Arc<Sandbox>,
    name: &str,
    family: Family,
    dropped: &str,
) {
    let topology = raise(sandbox, name, &Shape { clients: 2, servers: 2, ..shape(family) });
    let port = topology.routes[0].listen.port();
    let rule = format!("tcp dport {port} counter");
    let before = rule_packets(&topology, &rule);
    exchange(&topology);
    assert_eq!(rule_packets(&topology, &rule), before + 1, "{name}: a connection is accepted once");
    // Client 0 is linked to server 0, and not to server 1.
    let other = topology.client_routes(1).next().expect("a route").dial;
    let before = rule_packets(&topology, dropped);
    let dials = Command {
        program: Some("bash".into()),
        arguments: vec!["-c".to_owned(), format!("</dev/tcp/{}/{}", other.ip(), other.port())],
        ..Command::default()
    };
    let mut dialling = topology.clients[0].spawn(&dials).expect("bash is installed");
    eventually("the bridge drops what is not linked", || rule_packets(&topology, dropped) > before);
    // If anything had answered, even with a refusal, the command would have ended by itself.
    dialling.kill();
    assert_eq!(dialling.wait().expect("it ends"), ProcessExit::Signal(9), "{name}");
}

fn a_linked_client_is_told_where_its_server_is() {
    let sandbox = enter();
    for name in ["link", "link-icc"] {
        let topology = raise(&sandbox, name, &Shape::default());
        let server = topology.routes[0].dial;
        let ask = format!("echo $SERVER_PORT_{}_TCP_ADDR $SERVER_PORT", server.port());
        let said = output(topology.clients[0].as_ref(), Path::new("/bin/sh"), &["-c", &ask]);
        assert_eq!(said.trim(), format!("{} tcp://{server}", server.ip()));
    }
}
