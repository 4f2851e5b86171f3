//! Docker's networks that need kernel modules, each once on a kernel that has them: function only, and packets take the
//! path that each is named after.
//!
//! `make test-system` boots Debian's kernel in a virtual machine, and runs these tests there, on an engine of their
//! own.

use support::engine::Engine;
use support::shared::SharedResource as _;
use support::vm_support::{
    ENDLESS, MANY, hops_with_traffic, in_all_sandboxes, load_modules, run_arguments, run_until,
};

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn docker_on_ipvlan_which_the_machine_cannot_carry_runs_here() {
    load_modules();
    let engine = Engine::alone();
    let before = engine.inventory();
    let modes = [("docker:ipvlan-l2", "l2"), ("docker:ipvlan-l3", "l3")];
    let mut most = [0, 0];
    let networks = "docker:ipvlan-l2,docker:ipvlan-l3";
    let running = engine.tare().start(&run_arguments(networks, "out", &ENDLESS));
    let document = run_until(running, "ipvlan devices of both modes carry the traffic", || {
        let links =
            in_all_sandboxes(&engine, "ip -details -statistics -oneline link show type ipvlan");
        for (most, (_, mode)) in most.iter_mut().zip(modes) {
            *most = ipvlan_bytes(&links, mode).max(*most);
        }
        most.iter().all(|bytes| *bytes > MANY)
    });
    for (network, _) in modes {
        let hops = hops_with_traffic(&document, network);
        // The rules of the engine's DNS server make the containers track connections.
        let path = [
            "client-0:nf_conntrack",
            "client-0:eth0",
            "node-0:eth0",
            "server-0:eth0",
            "server-0:nf_conntrack",
        ];
        assert_eq!(hops, path, "{network}");
    }
    assert_eq!(engine.inventory(), before);
}

/// Returns the largest number of bytes received by a listed ipvlan device of this mode.
fn ipvlan_bytes(links: &str, mode: &str) -> u64 {
    let of_mode = links.lines().filter(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(3).any(|three| three == ["ipvlan", "mode", mode])
    });
    let received = of_mode.filter_map(|line| {
        line.split("RX:").nth(1)?.split('\\').nth(1)?.split_whitespace().next()?.parse().ok()
    });
    received.max().unwrap_or(0)
}
