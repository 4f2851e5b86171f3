//! Figures of the networks themselves: routes out of them, ports of their bridges, idle containers, many rules.

use crate::cases::{enter, output, raise};
use crate::harness::Case;
use tare_network::{Family, Shape, Topology};

pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("clients_on_a_bridge_have_a_route_out", clients_on_a_bridge_have_a_route_out),
        Case::new("a_bridge_takes_as_many_ports_as_it_has", a_bridge_takes_as_many_ports_as_it_has),
        Case::new("idle_containers_are_on_the_bridge", idle_containers_are_on_the_bridge),
        Case::new("many_ports_have_their_rules", many_ports_have_their_rules),
    ]
}

fn routes_out(topology: &mut Topology) -> u32 {
    topology.inspector.as_mut().expect("the lab has one").count_routes_out().expect("an answer")
}

fn fill_bridge(topology: &mut Topology) -> Option<u32> {
    topology.inspector.as_mut().expect("the lab has one").fill_bridge().expect("an answer")
}

fn clients_on_a_bridge_have_a_route_out() {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let shape = Shape { clients: 3, family, ..Shape::default() };
        for (network, expected) in
            [("bridge", 3), ("bridge-plain", 3), ("shared", 3), ("veth", 0), ("loopback", 0)]
        {
            let mut topology = raise(&sandbox, network, &shape);
            assert_eq!(routes_out(&mut topology), expected, "{network} over {family}");
        }
    }
}

/// The kernel numbers the ports of a bridge with ten bits, and leaves out the number 0.
fn a_bridge_takes_as_many_ports_as_it_has() {
    let sandbox = enter();
    for network in ["bridge", "bridge-plain+idle=5"] {
        let mut topology = raise(&sandbox, network, &Shape::default());
        let before = devices(&topology);
        assert_eq!(fill_bridge(&mut topology), Some(1023), "{network}");
        assert_eq!(devices(&topology), before, "{network}: what filled it is gone");
        assert_eq!(fill_bridge(&mut topology), Some(1023), "{network}: once more");
    }
    assert_eq!(fill_bridge(&mut raise(&sandbox, "veth", &Shape::default())), None);
}

/// Returns the devices of the first node, a line each.
fn devices(topology: &Topology) -> String {
    let ip = tare_sandbox::program::find("ip").expect("ip is installed");
    output(topology.nodes[0].as_ref(), &ip, &["-brief", "link"])
}

fn idle_containers_are_on_the_bridge() {
    let topology = raise(&enter(), "bridge+idle=5", &Shape::default());
    assert_eq!((topology.servers.len(), topology.clients.len()), (1, 1));
    let arguments = ["-o", "link", "show", "master", "docker0", "up"];
    let ip = tare_sandbox::program::find("ip").expect("ip is installed");
    let ports = output(topology.nodes[0].as_ref(), &ip, &arguments);
    assert_eq!(ports.lines().count(), 7, "{ports}");
    assert_eq!(ports.lines().filter(|line| line.contains(" veth-i")).count(), 5, "{ports}");
}

/// Checks that ports have rules, and in order, which are more than one message of an ordinary user to the kernel holds.
fn many_ports_have_their_rules() {
    const PORTS: u16 = 400;
    let sandbox = enter();
    for firewall in ["iptables", "nftables"] {
        let network = format!("published+ports={PORTS}+firewall={firewall}");
        let topology = raise(&sandbox, &network, &Shape::default());
        let nft = tare_sandbox::program::find("nft").expect("nft is installed");
        let listed = output(topology.nodes[0].as_ref(), &nft, &["list", "ruleset"]);
        let translated: Vec<u16> = listed
            .lines()
            .filter(|line| line.contains("tcp dport ") && line.contains(" dnat to "))
            .map(|line| line.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect(line))
            .collect();
        let (workloads, others) = translated.split_at(translated.len() - usize::from(PORTS));
        assert_eq!(workloads.len(), 2, "the ports of the site: {listed}");
        assert!(others.windows(2).all(|pair| pair[1] == pair[0] + 1), "{others:?}");
        let accepted =
            listed.lines().filter(|line| line.contains(" dport ") && line.ends_with("accept"));
        assert_eq!(accepted.count(), 2 * translated.len(), "each port of each transport: {listed}");
    }
}
