//! Support of the tests in the virtual machine: the kernel's modules, and networks that are looked at during a run.

use super::engine::Engine;
use super::program::Running;
use super::{list, text};
use rustix::process::Signal;
use serde_json::Value;
use tare_dev::eventually;

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

/// Bytes of an unending trial: more than tasks need to connect, to be told what to do and to report.
pub const MANY: u64 = 8_000_000;

/// Loads what the networks need; the machine is thrown away afterwards.
pub fn load_modules() {
    let mut modprobe = std::process::Command::new("modprobe");
    let status = modprobe.arg("--all").args(MODULES).status();
    assert!(status.is_ok_and(|status| status.success()), "a kernel with all modules");
    // An engine lets its machine forward, and what it makes a namespace for inherits that: from the machine's own first
    // namespace, wherever the engine runs. A Swarm's balancers would send no answer on without it.
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a machine of our own");
}

/// Arguments of a run of networks over TCP.
pub fn asked<'a>(networks: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["run", "--network", networks, "--workload", "tcp-stream", "--duration", "5s"];
    [&asked[..], &["--json", "--out", out], more].concat()
}

/// Flags of a run that is ended by a test.
pub const ENDLESS: [&str; 2] = ["--blocks", "1000"];

/// Waits until a condition holds during a run that has measured all its networks once. Ends the run and gives its
/// document.
#[track_caller]
pub fn seen_in(mut running: Running, what: &str, mut condition: impl FnMut() -> bool) -> Value {
    // A look takes time from Docker, which gives up where attaching a container takes long: no look before all is there.
    running.wait_for("block 1 of");
    eventually(what, || {
        assert!(running.is_running(), "the run has ended");
        condition()
    });
    running.signal(Signal::INT);
    running.wait().expect(130).json()
}

/// Hops of a network in a document of an emulated machine, as `place:name`, if it has carried something.
#[track_caller]
pub fn carried(document: &Value, network: &str) -> Vec<String> {
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    let cells = list(document, "cells");
    let cell = cells.iter().find(|cell| cell["network"] == network);
    let cell = cell.unwrap_or_else(|| panic!("{network} is in {document}"));
    assert!(cell["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{cell}");
    let hops = list(cell, "hops").iter();
    hops.map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name"))).collect()
}

/// Output of a shell line in the network namespaces of all of an engine's containers, and not in that of a Swarm's mesh.
/// One may go meanwhile.
pub fn in_all_sandboxes(engine: &Engine, line: &str) -> String {
    let all = "for sandbox in /run/docker/netns/*; do [ \"${sandbox##*/}\" = ingress_sbox ] ||";
    engine.said(&format!("{all} nsenter --net=\"$sandbox\" {line} 2>/dev/null || true; done"))
}
