//! `rootlesskit`: the parent of rootless Docker. It makes the container's namespace itself, has slirp4netns attach it,
//! and forwards published ports by a driver of its own, which has a socket on either side.

use super::identity;
use super::slirp4netns::{SLIRP4NETNS, Slirp4netnsStack};
use super::stack::{
    ServedDevice, StackAttachment, StackProgram, UserModeStack, add, for_each_port, refuse_ipv6,
};
use crate::plan::wiring::{Adoption, Wiring};
use crate::programs::{Program, ReadyCondition};
use std::net::SocketAddr;
use std::path::Path;
use tare_network::{Error, Requirement, UnmetRequirement, quote};
use tare_sandbox::programs::runtime_directory;

/// RootlessKit with its own port driver.
pub(super) struct RootlessKitStack;

/// The program, and the Debian package of the same name.
pub(super) const ROOTLESSKIT: StackProgram =
    StackProgram { name: "rootlesskit", package: "rootlesskit" };

/// Number of times that RootlessKit is started at most. It has nsenter(1) look up the network namespace of a child that
/// executes itself anew at that moment: its first thread may have ended, and then it has none for an instant. RootlessKit
/// ends with `cannot open /proc/PID/ns/net`.
const ATTEMPTS: u32 = 3;

/// Files that name the subordinate ids of users. RootlessKit refuses to start without an entry for its user.
const SUBORDINATE_IDS: [&str; 2] = ["/etc/subuid", "/etc/subgid"];

impl UserModeStack for RootlessKitStack {
    fn program(&self) -> StackProgram {
        ROOTLESSKIT
    }

    fn other_tap_holder(&self) -> Option<&'static str> {
        Some(SLIRP4NETNS)
    }

    fn further_requirements(&self) -> Vec<Requirement> {
        further_requirements()
    }

    fn check(&self, to: &StackAttachment) -> Result<(), Error> {
        // The driver listens on IPv6 addresses, too, and connects to the container's 127.0.0.1.
        refuse_ipv6(ROOTLESSKIT.name, to)
    }

    fn served_device(&self) -> ServedDevice {
        ServedDevice::Loopback
    }

    fn attach(&self, wiring: &mut Wiring, to: &StackAttachment) {
        attach_with_driver(wiring, to, "builtin");
    }
}

/// Returns what RootlessKit needs beside its own program.
pub(super) fn further_requirements() -> Vec<Requirement> {
    let missing = SUBORDINATE_IDS.into_iter().find(|file| !Path::new(file).exists());
    let files = missing.map(|file| {
        Requirement::Unmet(UnmetRequirement {
            reason: format!("RootlessKit reads {file}, which does not exist"),
            remedy: format!("run `sudo touch {}`", SUBORDINATE_IDS.join(" ")),
        })
    });
    let network = identity::requirements(Slirp4netnsStack.program(), None);
    network.into_iter().chain(files).collect()
}

/// Adds RootlessKit with this port driver, which makes the container's namespace and attaches it.
pub(super) fn attach_with_driver(wiring: &mut Wiring, to: &StackAttachment, driver: &str) {
    let state = to.file(ROOTLESSKIT.name, "state");
    let started = to.file(ROOTLESSKIT.name, "started");
    let script = to.file(ROOTLESSKIT.name, "sh");
    let lines = start_script(to, driver, &state, &started);
    let directory = runtime_directory(&to.node_name);
    let mapper = |file: &str| format!("#!/bin/sh\necho 0 0 1 >\"/proc/$1/{file}\"\n");
    let ready = ReadyCondition::FileWritten(started);
    let daemon = Program::daemon(to.node, "sh", [script.clone()], ready)
        .with_file(format!("{directory}/newuidmap"), mapper("uid_map"))
        .with_file(format!("{directory}/newgidmap"), mapper("gid_map"))
        .with_file(format!("{directory}/subordinate-ids"), "root:100000:65536\n")
        .with_file(script, lines)
        .executing(to.program.clone())
        .with_attempts(ATTEMPTS);
    add(wiring, to, ROOTLESSKIT.name, daemon);
    let pid_file = format!("{state}/child_pid");
    wiring.spaces[to.space.0].adopted = Some(Adoption { node: to.node, pid_file });
}

/// Returns the script that starts RootlessKit.
///
/// RootlessKit maps a range of subordinate ids by newuidmap(1) and newgidmap(1). A user namespace that has only one
/// id has no such range, and the network needs none: the mappers of the lab map that id alone.
fn start_script(to: &StackAttachment, driver: &str, state: &str, started: &str) -> String {
    let directory = runtime_directory(&to.node_name);
    let [users, groups] = SUBORDINATE_IDS;
    let ports = for_each_port(to.publication.as_ref(), |host, port| {
        let on = SocketAddr::new(host, port);
        let spell = |transport| format!("--publish={on}:{port}/{transport}");
        ["tcp", "udp"].map(spell).to_vec()
    });
    let mut words = vec![
        to.program.clone(),
        format!("--state-dir={state}"),
        format!("--net={SLIRP4NETNS}"),
        format!("--mtu={}", to.mtu),
        "--disable-host-loopback".to_owned(),
        format!("--port-driver={driver}"),
    ];
    words.extend(ports);
    words.extend(["sh", "-c"].map(str::to_owned));
    // The parent publishes ports, writes the PID and listens on its API's socket while this command starts.
    let parent_is_ready = format!("[ -s {state}/child_pid ] && [ -S {state}/api.sock ]");
    words.push(format!(
        "until {parent_is_ready}; do sleep 0.01; done; echo started >{started}; exec sleep infinity"
    ));
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let lines = [
        "set -e".to_owned(),
        format!("chmod +x {directory}/newuidmap {directory}/newgidmap"),
        format!("mount --bind {directory}/subordinate-ids {users}"),
        format!("mount --bind {directory}/subordinate-ids {groups}"),
        format!("export PATH={directory}:\"$PATH\" XDG_RUNTIME_DIR={directory}"),
        format!("exec {}", words.join(" ")),
    ];
    lines.join("\n") + "\n"
}
