//! Swarm of one Docker Engine 29: its rules are of iptables, and an engine with nftables is in none.

use support::engine::release::{Engine29, Iptables, Nftables};
use support::{hops, list, short_run, text};

/// Command that makes an engine the first of a Swarm.
const INIT: [&str; 4] = ["swarm", "init", "--advertise-addr", "192.0.2.1"];

pub(crate) fn iptables_serves_a_swarm() {
    let engine = Engine29::<Iptables>::with(&[]);
    engine.docker(&INIT);
    let networks = "swarm:host,swarm:overlay,swarm:published-host";
    let more = ["--same-node", "--baseline", "swarm:host"];
    let document = engine.run_once(networks, &more);
    assert_eq!(hops(&document, "swarm:published-host")[0], "node-0:nat/DOCKER");
    // A task has the rules of Docker's names, which track connections.
    let path = hops(&document, "swarm:overlay");
    let ends = [path.first(), path.last()].map(|hop| hop.map(String::as_str));
    assert_eq!(ends, [Some("client-0:nf_conntrack"), Some("server-0:nf_conntrack")]);
    assert_eq!(path.len(), 5, "{path:?}");
    let stated = &list(&document["environment"], "engines")[0];
    assert_eq!(text(stated, "swarm"), "active");
    for kind in ["service", "secret", "config"] {
        assert_eq!(engine.docker(&[kind, "ls", "--quiet"]), "", "{kind}");
    }
}

pub(crate) fn nftables_excludes_a_swarm() {
    let engine = Engine29::<Nftables>::shared();
    let refusal = engine.docker_error(&INIT);
    assert!(refusal.contains("nftables is incompatible with swarm mode"), "{refusal}");
    let asked = ["--network", "swarm:overlay", "--same-node", "--blocks", "1", "--json"];
    let document = engine.tare().run(&short_run(&asked)).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    let (reason, remedy) = (text(skipped, "reason"), text(skipped, "remedy"));
    assert!(reason.contains("nftables") && reason.lines().count() == 1, "{skipped}");
    assert!(remedy.contains("--firewall-backend=iptables"), "{skipped}");
}
