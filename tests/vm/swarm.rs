//! A Swarm's networks that need modules of the kernel's, each once on one that has them: function only, and that packets
//! take the path that each is named after.
//!
//! `make test-system` boots Debian's kernel in a virtual machine, and runs these there, on engines of their own. They are no part
//! of `make test`: two engines and a Swarm on a processor of software take a quarter of an hour, by a clock that goes as slowly
//!: by any other, Docker does not attach a container in the 20 s that it allows.

use support::counts::total;
use support::module::{ENDLESS, MANY, asked, carried, in_all_sandboxes, load_modules, seen_in};
use support::shared::Resource as _;
use support::swarm::Swarm;

/// Counters of what passes an underlay between the machines, apart from all of them.
const WIRE: &str = "
nft add table bridge wire
nft add counter bridge wire encrypted
nft add counter bridge wire readable
nft add chain bridge wire passing '{ type filter hook forward priority 0; }'
nft add rule bridge wire passing ip protocol 50 counter name encrypted
nft add rule bridge wire passing udp dport 4789 counter name readable";

/// Bytes of a kind that have passed an underlay so far.
fn passed(swarm: &Swarm, kind: &str) -> u64 {
    let said = swarm.underlay().said(&format!("nft list counter bridge wire {kind}"));
    let bytes = said.split("bytes ").nth(1).and_then(|rest| rest.split_whitespace().next());
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("a counter: {said}"))
}

/// Bytes that IPVS has handed on in a network namespace, in the most of all that are listed: the last figure but one
/// of the third line is what came in, hexadecimal.
fn handed_on(statistics: &str) -> u64 {
    let totals = statistics.lines().filter_map(|line| {
        let figures: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, incoming, _] = figures.as_slice() else { return None };
        u64::from_str_radix(incoming, 16).ok()
    });
    totals.max().unwrap_or(0)
}

/// Command that shows IPVS's counters of a network namespace.
const STATISTICS: &str = "sed -n 3p /proc/self/net/ip_vs_stats";

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn a_swarm_that_encrypts_and_balances_which_the_machine_cannot_carry_runs_here() {
    load_modules();
    let swarm = Swarm::of(2);
    swarm.underlay().said(WIRE);
    let before = swarm.everything();
    encrypted(&swarm);
    balanced(&swarm);
    swarm.nothing_is_left(&before);
}

/// Checks that the traffic between the nodes is ESP; only what tasks tell their run comes by readable VXLAN.
fn encrypted(swarm: &Swarm) {
    let network = "swarm:overlay-encrypted";
    let (esp, vxlan) = (passed(swarm, "encrypted"), passed(swarm, "readable"));
    let flags = ["--nodes", "2", "--blocks", "1"];
    let document = swarm.run(&asked(network, "encrypted", &flags)).expect(0).json();
    let (esp, vxlan) = (passed(swarm, "encrypted") - esp, passed(swarm, "readable") - vxlan);
    let received = total(&swarm.engine(0).scratch().path("encrypted"), "tcp-stream", "received");
    assert!(esp >= received, "{esp} bytes of ESP, {received} received: {document}");
    assert!(vxlan < received, "{vxlan} bytes of readable VXLAN, {received} received: {document}");
    let hops = carried(&document, network);
    assert!(hops.contains(&"node-0:esp".to_owned()), "{hops:?}");
}

/// Checks that IPVS hands on what goes to a service: in the client's namespace, where it goes to the service's own address;
/// in the mesh's, to whose address the client's node translates its own port's. VXLAN carries it.
fn balanced(swarm: &Swarm) {
    const TRANSLATED: &str = "POSTROUTING -o docker_gwbridge -p tcp -m conntrack --ctstate DNAT";
    let node = swarm.engine(0);
    node.said(&format!("iptables --table mangle --append {TRANSLATED}"));
    let translated = || -> u64 {
        let rules = node.said("iptables --table mangle --list-rules POSTROUTING --verbose");
        let rule = rules.lines().find(|line| line.contains("DNAT")).expect("the rule is there");
        let bytes = rule.split("-c ").nth(1).and_then(|rest| rest.split(' ').nth(1));
        bytes.and_then(|bytes| bytes.parse().ok()).expect("its counter")
    };
    let by_mesh = || {
        let mesh = "nsenter --net=/run/docker/netns/ingress_sbox";
        handed_on(&node.said(&format!("{mesh} {STATISTICS}")))
    };
    let (vxlan, earlier) = (passed(swarm, "readable"), by_mesh());
    let flags = [&["--nodes", "2"][..], &ENDLESS].concat();
    let running = swarm.start_tare(&asked("swarm:vip,swarm:published", "balanced", &flags));
    let mut by_address = 0;
    let document = seen_in(running, "IPVS hands on the traffic, and VXLAN carries it", || {
        by_address = handed_on(&in_all_sandboxes(node, STATISTICS)).max(by_address);
        by_address > MANY
            && by_mesh() - earlier > MANY
            && passed(swarm, "readable") - vxlan > 2 * MANY
            && translated() > MANY
    });
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
