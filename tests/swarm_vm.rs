//! A Swarm's networks that need modules of the kernel's, each once on one that has them: function only, and that packets
//! take the path that each is named after.
//!
//! `make test-vm` boots Debian's kernel in a virtual machine, and runs these there, on engines of their own. It is no part of
//! `make test`: two engines and a Swarm on a processor of software take a quarter of an hour, by a clock that goes as slowly
//! (`TARE_VM_CLOCK`, scripts/vm.sh): by any other, Docker does not attach a container in the 20 s that it allows.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use support::module::{MANY, asked, carried, in_all_sandboxes, load_modules, while_running};
use support::swarm::Swarm;

/// Counters of what passes an underlay between the machines, apart from all of them.
const WIRE: &str = "
nft add table bridge wire
nft add counter bridge wire encrypted
nft add counter bridge wire readable
nft add chain bridge wire passing '{ type filter hook forward priority 0; }'
nft add rule bridge wire passing ip protocol 50 counter name encrypted
nft add rule bridge wire passing udp dport 4789 counter name readable";

/// How many bytes of a kind have passed an underlay so far.
fn passed(swarm: &Swarm, kind: &str) -> u64 {
    let said = swarm.underlay().said(&format!("nft list counter bridge wire {kind}"));
    let bytes = said.split("bytes ").nth(1).and_then(|rest| rest.split_whitespace().next());
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("a counter: {said}"))
}

/// The bytes that IPVS has handed on in a network namespace, in the most of all that are listed: the last figure but one
/// of the third line is what came in, hexadecimal.
fn handed_on(statistics: &str) -> u64 {
    let totals = statistics.lines().filter_map(|line| {
        let figures: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, incoming, _] = figures.as_slice() else { return None };
        u64::from_str_radix(incoming, 16).ok()
    });
    totals.max().unwrap_or(0)
}

/// IPVS's counters of a network namespace.
const STATISTICS: &str = "sed -n 3p /proc/self/net/ip_vs_stats";

#[test]
#[ignore = "needs a kernel with all modules: scripts/vm-test.sh swarm_vm"]
fn a_swarm_that_encrypts_and_balances_which_the_machine_cannot_carry_runs_here() {
    load_modules();
    let swarm = Swarm::of(2);
    swarm.underlay().said(WIRE);
    let before = swarm.everything();
    encrypted(&swarm);
    balanced(&swarm);
    swarm.nothing_is_left(&before);
}

/// What passes between the nodes is ESP, and no VXLAN but that by which tasks come home.
fn encrypted(swarm: &Swarm) {
    let network = "swarm:overlay-encrypted";
    let (esp, vxlan) = (passed(swarm, "encrypted"), passed(swarm, "readable"));
    let document = swarm.run(&asked(network, "encrypted", &["--nodes", "2"])).expect(0).json();
    let (esp, vxlan) = (passed(swarm, "encrypted") - esp, passed(swarm, "readable") - vxlan);
    assert!(esp > MANY, "{esp} bytes of ESP: {document}");
    assert!(vxlan < MANY, "{vxlan} bytes of VXLAN that anybody may read: {document}");
    let hops = carried(&document, network);
    assert!(hops.contains(&"node-0:esp".to_owned()), "{hops:?}");
}

/// IPVS hands on what goes to a service: in the client's namespace, where it goes to the service's own address; in the
/// mesh's, to whose address the client's node translates its own port's. VXLAN carries it.
fn balanced(swarm: &Swarm) {
    const TRANSLATED: &str = "POSTROUTING -o docker_gwbridge -p tcp -m conntrack --ctstate DNAT";
    let node = swarm.engine(0);
    node.said(&format!("iptables --table mangle --append {TRANSLATED}"));
    let by_mesh = || {
        let mesh = "nsenter --net=/run/docker/netns/ingress_sbox";
        handed_on(&node.said(&format!("{mesh} {STATISTICS}")))
    };
    let (vxlan, earlier) = (passed(swarm, "readable"), by_mesh());
    let networks = "swarm:vip,swarm:published";
    let running = swarm.start_tare(&asked(networks, "balanced", &["--nodes", "2"]));
    let mut by_address = 0;
    let document = while_running(running, || {
        by_address = handed_on(&in_all_sandboxes(node, STATISTICS)).max(by_address);
    });
    assert!(by_address > MANY, "in the client's namespace {by_address} bytes: {document}");
    assert!(by_mesh() - earlier > MANY, "in the mesh's: {document}");
    assert!(passed(swarm, "readable") - vxlan > 2 * MANY, "{document}");
    let rules = node.said("iptables --table mangle --list-rules POSTROUTING --verbose");
    let rule = rules.lines().find(|line| line.contains("DNAT")).expect("the rule is there");
    let bytes = rule.split("-c ").nth(1).and_then(|rest| rest.split(' ').nth(1));
    let translated: u64 = bytes.and_then(|bytes| bytes.parse().ok()).expect("its counter");
    assert!(translated > MANY, "translated to the mesh: {rules}");
    for (network, hops) in [
        ("swarm:vip", &["node-0:ip_vs"][..]),
        ("swarm:published", &["node-0:nat/DOCKER-INGRESS", "node-0:ip_vs", "node-0:vxlan0"]),
    ] {
        let path = carried(&document, network);
        for hop in hops {
            assert!(path.iter().any(|one| one == hop), "{network} has {hop}: {path:?}");
        }
    }
}
