//! Tests of the congestion control of programs that choose none: that of the run in every namespace which tare makes, and
//! their own namespace's elsewhere.
//!
//! `make system-tools` installs the programs.

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::path::Path;
use support::journal::trials;
use support::machine::descendants;
use support::program::{RunningProgram, Tare, User, tied_command};
use support::{ScratchDirectory, eventually, list, schema, text};
use tare_dev::{TestNamespace, is_root};

/// Returns the words of a run of Redis over these networks.
fn run_of_redis<'a>(networks: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "-n", networks, "-w", "redis", "-d", "1s", "--metric", "transactions"];
    [&run[..], &["--json"], more].concat()
}

/// Returns the word of a file of `/proc/sys/net/ipv4` in a namespace.
fn setting(namespace: &TestNamespace, name: &str) -> String {
    namespace.output(&format!("cat /proc/sys/net/ipv4/{name}")).trim().to_owned()
}

/// Namespace in which tare is started, and congestion controls of the kernel.
struct Caller {
    namespace: TestNamespace,
    /// Default of the namespace: one that paces, if the kernel lets it have such a one.
    own: &'static str,
    /// Control that a run chooses here.
    usual: &'static str,
    /// Another one that a namespace may have as its default, if the kernel has as many.
    other: String,
}

impl Caller {
    fn new() -> Self {
        let namespace = TestNamespace::new();
        namespace.run("ip link set lo up");
        let allowed = setting(&namespace, "tcp_allowed_congestion_control");
        let has = |name: &str| allowed.split_whitespace().any(|one| one == name);
        let own = if has("bbr") { "bbr" } else { "reno" };
        namespace.run(&format!("sysctl -q -w net.ipv4.tcp_congestion_control={own}"));
        let usual = if has("cubic") { "cubic" } else { "reno" };
        let other = allowed.split_whitespace().find(|one| ![own, usual].contains(one));
        Self { namespace, own, usual, other: other.unwrap_or(usual).to_owned() }
    }
}

/// Returns the control in force at both ends of the trials over a network.
fn controls(directory: &Path, network: &str) -> Vec<String> {
    let all = trials(directory);
    let own = all.iter().filter(|trial| trial["label"] == network);
    let mut found: Vec<String> = own
        .map(|trial| {
            let parameters = &trial["parameters"];
            assert!(parameters["server_congestion"].is_null(), "one at both ends: {parameters}");
            text(parameters, "congestion").to_owned()
        })
        .collect();
    found.dedup();
    found
}

fn find<'a>(document: &'a Value, kind: &str) -> Option<&'a Value> {
    list(document, "findings").iter().find(|finding| finding["kind"] == kind)
}

#[test]
fn programs_have_the_run_s_control_in_every_namespace_that_tare_makes() {
    let Caller { namespace, own, usual, .. } = Caller::new();
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = |out: &str, networks: &str, more: &[&str]| {
        let arguments = run_of_redis(networks, &["-b", "1", "--out", out]);
        let arguments = [&arguments[..], more].concat();
        let document = tare.start_inside(&namespace, &arguments).wait().expect(0).json();
        schema::check(&document, "run.json");
        let of = |network| controls(&scratch.path(out), network);
        (of("native"), [of("host"), of("bridge-plain")].concat(), document)
    };
    let (native, others, document) = run("usual", "native,host,bridge-plain", &[]);
    assert_eq!((native, others), (vec![own.to_owned()], vec![usual.to_owned(); 2]));
    let mixed = find(&document, "mixed-congestion");
    assert_eq!(mixed.is_some(), own != usual, "{document}");
    if let Some(mixed) = mixed {
        let controls = list(mixed, "controls");
        assert_eq!(list(&controls[0], "networks"), ["native"], "{mixed}");
        assert_eq!(list(&controls[1], "networks"), ["host", "bridge-plain"], "{mixed}");
    }
    assert_eq!(find(&document, "host-congestion").is_some(), own != usual, "{document}");

    let (native, others, document) = run("system", "native,host", &["--congestion", "system"]);
    assert_eq!([native, others].concat(), [own; 2]);
    assert!(find(&document, "mixed-congestion").is_none(), "{document}");
    for cell in list(&document, "cells") {
        assert_eq!(text(&cell["parameters"], "congestion"), own);
    }

    let (_, others, document) = run("reno", "host", &["--congestion", "reno"]);
    assert_eq!(others, ["reno"]);
    assert!(find(&document, "other-default-congestion").is_none(), "{document}");

    // No namespace can have what the kernel does not know.
    let (_, others, document) = run("nosuch", "host", &["--congestion", "nosuch"]);
    assert_eq!(others, [usual]);
    let refused = find(&document, "other-default-congestion").expect("a note");
    assert_eq!((text(refused, "asked"), text(refused, "used")), ("nosuch", usual));
}

/// Returns the kernel's description of the connections in a process's network namespace.
fn connections(process: Pid) -> Vec<String> {
    let process = process.as_raw_nonzero().to_string();
    let mut command = tied_command(User::Caller, "nsenter");
    command.args(["--target", &process, "--net"]);
    command
        .args((!is_root()).then_some(["--user", "--preserve-credentials"]).into_iter().flatten());
    command.args(["ss", "-tiHO", "state", "established"]);
    let listing = RunningProgram::spawn(&mut command).wait();
    // A server that has ended in the meantime has no namespace.
    listing.text().lines().map(str::to_owned).collect()
}

#[test]
fn the_kernel_says_the_same_of_their_connections() {
    let Caller { namespace, other, .. } = Caller::new();
    let asked = other.as_str();
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let endless = ["-b", "1000", "--congestion", asked, "--out", "out"];
    let running = tare.start_inside(&namespace, &run_of_redis("bridge-plain", &endless));
    eventually("connections of Redis are seen", || {
        let servers = descendants(running.pid(), "redis-server");
        let seen: Vec<String> = servers.iter().flat_map(|one| connections(*one)).collect();
        let under = |line: &&String| line.split_whitespace().any(|word| word == asked);
        assert_eq!(seen.iter().filter(under).count(), seen.len(), "{asked}: {seen:?}");
        !seen.is_empty()
    });
    running.signal(Signal::INT);
    running.wait().expect(130);
}
