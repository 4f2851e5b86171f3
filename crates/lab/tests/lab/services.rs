//! Servers behind Kubernetes' services: kube-proxy writes the rules of all, and packets take them.

use crate::cases::{enter, path, raise, site};
use crate::daemons::exchange;
use crate::harness::Case;
use tare_lab::networks;
use tare_network::{Family, NetworkRegistry, NetworkSpec, Requirement, Shape};

/// Networks with services.
const NETWORKS: [&str; 2] = ["service-iptables", "service-nftables"];

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for network in NETWORKS {
        for family in [Family::Ipv4, Family::Ipv6] {
            let name = format!("services_carry_the_packets_over_{family}");
            let body = move |network: &str| carries_the_packets(network, family);
            cases.push(Case::of_network(&name, network, body));
        }
        let name = "many_services_have_rules";
        cases.push(Case::of_network(name, network, many_services_have_rules));
    }
    cases
}

/// Checks that two clients reach their servers by the addresses of two services. That each passes a translation is
/// proved as the network is raised: by the kernel's table of connections.
fn carries_the_packets(network: &str, family: Family) {
    let shape = Shape { family, servers: 2, clients: 2, ..Shape::default() };
    let topology = raise(&enter(), &format!("{network}+services=3"), &shape);
    for route in &topology.routes {
        assert_ne!(route.dial.ip(), route.listen.ip(), "the address of the service is dialled");
    }
    exchange(&topology);
    let hops = path(&topology);
    assert_eq!(hops[2], "node-0:nf_conntrack Conntrack");
    assert!(hops[3].ends_with(" Nat"), "{hops:?}");
}

/// Checks that kube-proxy writes rules for more services than one transaction of etcd holds, which a step of the
/// network counts; or that an ordinary user, whose message to the kernel would be too long, is refused before anything is
/// made, and told the number that fits.
fn many_services_have_rules(network: &str) {
    let spelled: NetworkSpec = format!("{network}+services=1200").parse().expect("a good name");
    let sandbox = enter();
    let registry = NetworkRegistry::new(networks(Some(sandbox)));
    let services = registry.find(&spelled).expect("a known network");
    let site = site(&spelled);
    let raised = services.set_up(&Shape::default(), &site);
    let unmet = services.requirements(&site).into_iter().find_map(|need| match need {
        Requirement::Unmet(unmet) => Some(unmet),
        _ => None,
    });
    match (raised, unmet) {
        (Ok(topology), None) => exchange(&topology),
        (Err(error), Some(_)) => {
            assert!(error.why.contains("the rules of 1203 ports of services"), "{error}");
            assert!(error.remedy.contains("sudo sysctl net.core.wmem_default="), "{error}");
        }
        (raised, unmet) => panic!("{unmet:?}: {:?}", raised.err()),
    }
}
