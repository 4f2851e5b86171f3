//! Support of the tests in the virtual machine: kernel modules, and networks that are inspected during a run.

use super::engine::Engine;
use super::program::RunningProgram;
use super::{list, text};
use rustix::process::Signal;
use serde_json::Value;
use tare_dev::eventually;

/// Modules that the kernel does not load by itself, or that are checked for before a network is made.
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

/// Bytes of an endless trial: more than tasks need to connect, to receive commands and to report.
pub const MANY: u64 = 8_000_000;

/// Loads the modules that networks need. The machine is discarded afterwards.
pub fn load_modules() {
    let mut modprobe = std::process::Command::new("modprobe");
    let status = modprobe.arg("--all").args(MODULES).status();
    assert!(status.is_ok_and(|status| status.success()), "a kernel with all modules");
    // An engine enables forwarding on its machine, and new namespaces inherit the setting from the host's first
    // namespace, wherever the engine runs. Without it a Swarm's load balancers would not forward answers.
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a machine of our own");
}

/// Returns the arguments of a run of networks over TCP.
pub fn run_arguments<'a>(networks: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["run", "--network", networks, "--workload", "tcp-stream", "--duration", "5s"];
    [&asked[..], &["--json", "--out", out], more].concat()
}

/// Flags of a run that is ended by the test.
pub const ENDLESS: [&str; 2] = ["--blocks", "1000"];

/// Waits until a condition holds during a run that has measured all its networks once. Then ends the run and returns
/// its document.
#[track_caller]
pub fn run_until(
    mut running: RunningProgram,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Value {
    // The condition is not checked before all containers are running: a check slows Docker down, and Docker gives up if
    // attaching a container takes long.
    running.wait_for("block 1 ");
    eventually(what, || {
        assert!(running.is_running(), "the run has ended");
        condition()
    });
    running.signal(Signal::INT);
    running.wait().expect(130).json()
}

/// Returns the hops of a network in a document of an emulated machine, as `place:name`. Fails unless the network had
/// traffic.
#[track_caller]
pub fn hops_with_traffic(document: &Value, network: &str) -> Vec<String> {
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    let cells = list(document, "cells");
    let cell = cells.iter().find(|cell| cell["network"] == network);
    let cell = cell.unwrap_or_else(|| panic!("{network} is in {document}"));
    assert!(cell["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{cell}");
    let hops = list(cell, "hops").iter();
    hops.map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name"))).collect()
}

/// Returns the output of a shell line in the network namespaces of all containers of an engine, except that of a
/// Swarm's routing mesh. A namespace may vanish in the meantime.
pub fn in_all_sandboxes(engine: &Engine, line: &str) -> String {
    let all = "for sandbox in /run/docker/netns/*; do [ \"${sandbox##*/}\" = ingress_sbox ] ||";
    engine
        .shell_output(&format!("{all} nsenter --net=\"$sandbox\" {line} 2>/dev/null || true; done"))
}
