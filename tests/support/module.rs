//! What tests of Docker's networks share that need modules of the kernel's: runs that are looked at while they go on.

use super::engine::Engine;
use super::program::Running;
use super::{list, text};
use serde_json::Value;
use std::time::Duration;

/// Modules that the kernel does not load by itself, or that are looked for before anything is made.
const MODULES: [&str; 9] = [
    "br_netfilter",
    "esp4",
    "ip_vs",
    "ip_vs_rr",
    "ipvlan",
    "overlay",
    "vxlan",
    "xfrm_user",
    "xt_ipvs",
];

/// More bytes than tasks need to come home, to be told what to do and to report; far fewer than trials of seconds have.
pub(crate) const MANY: u64 = 8_000_000;

/// Loads what the networks need; the machine is thrown away afterwards.
pub(crate) fn load_modules() {
    let mut modprobe = std::process::Command::new("modprobe");
    let status = modprobe.arg("--all").args(MODULES).status();
    assert!(status.is_ok_and(|status| status.success()), "a kernel with all modules");
    // An engine lets its machine forward, and what it makes a namespace for inherits that: from the machine's own first
    // namespace, wherever the engine runs. A Swarm's balancers would send no answer on without it.
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a machine of our own");
}

/// The arguments of a run of networks, whose trials last long enough to be looked at while they go on.
pub(crate) fn asked<'a>(networks: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["run", "--network", networks, "--workload", "tcp-stream", "--blocks", "1"];
    let long = ["--duration", "5s", "--json", "--out", out];
    [&asked[..], &long, more].concat()
}

/// Looks again and again while a program runs, and gives its document.
#[track_caller]
pub(crate) fn while_running(mut running: Running, mut look: impl FnMut()) -> Value {
    // Every look takes time from what is looked at, on a processor that has little. What is counted stays for longer.
    const PAUSE: Duration = Duration::from_secs(3);
    while running.is_running() {
        look();
        std::thread::sleep(PAUSE);
    }
    running.wait().expect(0).json()
}

/// The hops of a network in a document of an emulated machine, as `place:name`, if it has carried something.
#[track_caller]
pub(crate) fn carried(document: &Value, network: &str) -> Vec<String> {
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    let cells = list(document, "cells");
    let cell = cells.iter().find(|cell| cell["network"] == network);
    let cell = cell.unwrap_or_else(|| panic!("{network} is in {document}"));
    assert!(cell["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{cell}");
    let hops = list(cell, "hops").iter();
    hops.map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name"))).collect()
}

/// What a shell line says in the network namespaces of all of an engine's containers, and not in that of a Swarm's mesh.
/// One may go meanwhile.
pub(crate) fn in_all_sandboxes(engine: &Engine, line: &str) -> String {
    let all = "for sandbox in /run/docker/netns/*; do [ \"${sandbox##*/}\" = ingress_sbox ] ||";
    engine.said(&format!("{all} nsenter --net=\"$sandbox\" {line} 2>/dev/null || true; done"))
}
