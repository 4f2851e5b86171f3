//! Networks of a Swarm that need kernel modules, each once on a kernel that has them: function only, and packets take
//! the path that each is named after.
//!
//! `make test-system` boots Debian's kernel in a virtual machine, and runs these tests there, on engines of their own.
//! They are not part of `make test`: two engines and a Swarm on an emulated processor take a quarter of an hour, with a
//! clock that is equally slow. With any other clock, Docker cannot attach a container within its limit of 20 s.

use support::counts::total;
use support::shared::SharedResource as _;
use support::swarm::Swarm;
use support::vm_support::{
    ENDLESS, MANY, hops_with_traffic, in_all_sandboxes, load_modules, run_arguments, run_until,
};

/// Counters of the traffic on an underlay between the machines, outside of all of them.
const WIRE: &str = "
nft add table bridge wire
nft add counter bridge wire encrypted
nft add counter bridge wire readable
nft add chain bridge wire passing '{ type filter hook forward priority 0; }'
nft add rule bridge wire passing ip protocol 50 counter name encrypted
nft add rule bridge wire passing udp dport 4789 counter name readable";

/// Returns the bytes of a kind that have passed an underlay so far.
fn passed(swarm: &Swarm, kind: &str) -> u64 {
    let said = swarm.underlay().shell_output(&format!("nft list counter bridge wire {kind}"));
    let bytes = said.split("bytes ").nth(1).and_then(|rest| rest.split_whitespace().next());
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("a counter: {said}"))
}

/// Returns the largest number of bytes that IPVS has received, hexadecimal, in any listed network namespace: the last
/// figure but one of the third line.
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
    let swarm = Swarm::with_nodes(2);
    swarm.underlay().shell_output(WIRE);
    let before = swarm.inventory();
    assert_encrypted(&swarm);
    assert_balanced(&swarm);
    swarm.assert_nothing_left(&before);
}

/// Checks that the traffic between the nodes is ESP. Only the tasks' messages to their run use readable VXLAN.
fn assert_encrypted(swarm: &Swarm) {
    let network = "swarm:overlay-encrypted";
    let (esp, vxlan) = (passed(swarm, "encrypted"), passed(swarm, "readable"));
    let flags = ["--nodes", "2", "--blocks", "1"];
    let document = swarm.run(&run_arguments(network, "encrypted", &flags)).expect(0).json();
    let (esp, vxlan) = (passed(swarm, "encrypted") - esp, passed(swarm, "readable") - vxlan);
    let received = total(&swarm.engine(0).scratch().path("encrypted"), "tcp-stream", "received");
    assert!(esp >= received, "{esp} bytes of ESP, {received} received: {document}");
    assert!(vxlan < received, "{vxlan} bytes of readable VXLAN, {received} received: {document}");
    let hops = hops_with_traffic(&document, network);
    assert!(hops.contains(&"node-0:esp".to_owned()), "{hops:?}");
}

/// Checks that IPVS forwards the traffic to a service: in the client's namespace, for the service's own address; in the
/// mesh's namespace, to whose address the client's node translates its own published port. VXLAN carries both.
fn assert_balanced(swarm: &Swarm) {
    const TRANSLATED: &str = "POSTROUTING -o docker_gwbridge -p tcp -m conntrack --ctstate DNAT";
    let node = swarm.engine(0);
    node.shell_output(&format!("iptables --table mangle --append {TRANSLATED}"));
    let translated = || -> u64 {
        let rules = node.shell_output("iptables --table mangle --list-rules POSTROUTING --verbose");
        let rule = rules.lines().find(|line| line.contains("DNAT")).expect("the rule is there");
        let bytes = rule.split("-c ").nth(1).and_then(|rest| rest.split(' ').nth(1));
        bytes.and_then(|bytes| bytes.parse().ok()).expect("its counter")
    };
    let by_mesh = || {
        let mesh = "nsenter --net=/run/docker/netns/ingress_sbox";
        handed_on(&node.shell_output(&format!("{mesh} {STATISTICS}")))
    };
    let (vxlan, earlier) = (passed(swarm, "readable"), by_mesh());
    let flags = [&["--nodes", "2"][..], &ENDLESS].concat();
    let running = swarm.start_tare(&run_arguments("swarm:vip,swarm:published", "balanced", &flags));
    let mut by_address = 0;
    let document = run_until(running, "IPVS hands on the traffic, and VXLAN carries it", || {
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
        let path = hops_with_traffic(&document, network);
        for hop in hops {
            assert!(path.iter().any(|one| one == hop), "{network} has {hop}: {path:?}");
        }
    }
}
