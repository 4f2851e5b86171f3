//! Networks whose packets daemons carry: that they do, and what is left of them.

use crate::actors::start;
use crate::cases::{enter, path, raise, site};
use crate::harness::{Case, Requirement};
use crate::leftovers::{family_of, is_running};
use rustix::fs::{Access, access};
use rustix::process::{Pid, WaitOptions, set_child_subreaper, wait};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command as Program, ExitCode, Stdio};
use std::sync::Arc;
use tare_dev::{NetworkConfiguration, Scratch, eventually};
use tare_lab::{KernelProbe, Lab, networks};
use tare_network::{
    Command, Container, Error, Exit, Family, Need, Probe, Registry, Shape, Site, Spelled, Topology,
};

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("open_vswitch_names_its_hops", open_vswitch_names_its_hops).on("ovs-user"),
        Case::new("a_daemon_that_ends_is_missed", a_daemon_that_ends_is_missed).on("ovs-user"),
        Case::new("a_daemon_that_fails_is_quoted", a_daemon_that_fails_is_quoted).on("ovs-user"),
        Case::new(
            "a_daemon_that_others_wait_for_is_quoted",
            a_daemon_that_others_wait_for_is_quoted,
        )
        .on("flannel-host-gw"),
        Case::new(
            "a_daemon_that_carries_nothing_is_quoted",
            a_daemon_that_carries_nothing_is_quoted,
        )
        .on("flannel-host-gw"),
        Case::new("what_daemons_say_is_kept", what_daemons_say_is_kept).on("ovs-user"),
        Case::new("sigkill_leaves_no_daemon", sigkill_leaves_no_daemon).on("ovs-user"),
        Case::new("without_a_device_file_it_is_said_why", without_a_device_file_it_is_said_why)
            .needing(Requirement::Condition(
                || !may_switch(),
                "a user who may not open /dev/net/tun",
            )),
    ];
    for name in ["ovs-user", "ovs-bridge", "ovs"] {
        for family in [Family::Ipv4, Family::Ipv6] {
            let case = format!("open_vswitch_carries_the_packets_over_{family}");
            cases
                .push(Case::of_network(&case, name, move |name| carries_the_packets(name, family)));
        }
    }
    cases
}

fn kernel_switches() -> bool {
    KernelProbe::default().check(&Need::Kernel { module: "openvswitch" }).is_ok()
}

/// Whether this user may make the bridges of such a daemon, which are devices of /dev/net/tun.
pub(crate) fn may_switch() -> bool {
    access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_ok()
}

/// What a network that cannot be raised says: this user may lack a device file that root has.
fn refusal(lab: &Arc<Lab>, name: &str) -> Error {
    let spelled: Spelled = name.parse().unwrap();
    let registry = Registry::new(networks(Some(Arc::clone(lab))));
    let network = registry.find(&spelled).unwrap();
    network.raise(&Shape::default(), &site(&spelled)).expect_err("it may not rise")
}

fn without_a_device_file_it_is_said_why() {
    let error = refusal(&enter(), "ovs-user");
    assert!(error.why.contains("/dev/net/tun may not be used"), "{error}");
    assert!(error.remedy.contains("as root"), "{}", error.remedy);
}

/// What a program says to the end on a node.
pub(crate) fn said(node: &dyn Container, words: &[&str]) -> String {
    let program = tare_lab::program::find(words[0]).expect("it is installed");
    let command = Command {
        program: Some(program),
        arguments: words[1..].iter().map(|&word| word.to_owned()).collect(),
        ..Command::default()
    };
    let mut process = node.spawn(&command).expect("it starts");
    let mut text = String::new();
    process.take_output().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!(process.wait().expect("it ends"), Exit::Code(0), "{words:?}: {text}");
    text
}

/// How many bytes Open vSwitch itself has counted through its bridge. Its packets say little: the kernel's switch counts
/// what segmentation offload has joined as one.
fn switched(topology: &Topology) -> u64 {
    let flows = said(
        topology.nodes[0].as_ref(),
        &["ovs-ofctl", "dump-flows", "unix:/run/node-0/ovs0.mgmt"],
    );
    let rest = flows.split("n_bytes=").nth(1).expect("a flow");
    rest.split(',').next().and_then(|count| count.parse().ok()).expect("it counts")
}

/// Sends 100,000 bytes from the first client to its server and back.
pub(crate) fn exchange(topology: &Topology) {
    let route = topology.routes[0];
    let (_serving, line) =
        start(topology.servers[0].as_ref(), &["serve", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let (_dialling, line) = start(topology.clients[0].as_ref(), &["dial", &route.dial.to_string()]);
    assert_eq!(line, "100000");
}

fn carries_the_packets(name: &str, family: Family) {
    let topology = raise(&enter(), name, &Shape { family, ..Shape::default() });
    let before = switched(&topology);
    assert!(before > 0, "raising has proven the path");
    exchange(&topology);
    // The daemon adds up what its datapath has counted from time to time.
    eventually("the switch has counted both directions", || {
        switched(&topology) >= before + 200_000
    });
    let daemons = topology.daemons().expect("it has daemons");
    let used = daemons.cpu_time();
    eventually("its daemons use more time", || {
        switched(&topology);
        daemons.cpu_time() > used
    });
}

fn open_vswitch_names_its_hops() {
    let lab = enter();
    let whole = ["client-0:eth0 Veth", "node-0:veth-c0 Veth", "node-0:ovs0 Forwarder"];
    let rest = ["node-0:veth-s0 Veth", "server-0:eth0 Veth"];
    assert_eq!(path(&raise(&lab, "ovs-user", &Shape::default())), [&whole[..], &rest].concat());
    let kernel = kernel_switches();
    let expected = [
        "client-0:eth0 Veth",
        "node-0:veth-c0 Veth",
        "node-0:qbr-c0 Bridge",
        "node-0:qvb-c0 Veth",
        "node-0:qvo-c0 Veth",
        if kernel { "node-0:ovs0 Bridge" } else { "node-0:ovs0 Forwarder" },
        "node-0:qvo-s0 Veth",
        "node-0:qvb-s0 Veth",
        "node-0:qbr-s0 Bridge",
        "node-0:veth-s0 Veth",
        "server-0:eth0 Veth",
    ];
    assert_eq!(path(&raise(&lab, "ovs-bridge", &Shape::default())), expected);
}

fn a_daemon_that_ends_is_missed() {
    let lab = enter();
    let topology = raise(&lab, "ovs-user", &Shape::default());
    let daemons = topology.daemons().expect("it has daemons");
    daemons.check().expect("they run");
    assert!(daemons.words().is_some_and(|words| words.contains("ovs-vswitchd: ")));
    let exit = ["ovs-appctl", "-t", "/run/node-0/ovs-vswitchd.ctl", "exit"];
    said(topology.nodes[0].as_ref(), &exit);
    let error = eventually("the daemon is missed", || daemons.check().err());
    let told = error.to_string();
    assert!(
        told.starts_with("go on with ovs-vswitchd in node-0: it ended with exit code 0"),
        "{told}"
    );
}

fn what_daemons_say_is_kept() {
    let lab = enter();
    let scratch = Scratch::new();
    let spelled: Spelled = "ovs-user".parse().unwrap();
    let registry = Registry::new(networks(Some(lab)));
    let network = registry.find(&spelled).unwrap();
    let site = Site { logs: Some(scratch.path("logs")), ..site(&spelled) };
    for _ in 0..2 {
        network.raise(&Shape::default(), &site).expect("it rises");
    }
    let log = fs::read_to_string(scratch.path("logs/node-0-ovs-vswitchd.log")).expect("its log");
    assert_eq!(log.matches("bridge ovs0: added interface veth-c0").count(), 2, "{log}");
}

fn a_daemon_that_fails_is_quoted() {
    let script = "echo starting; echo cannot frobnicate >&2; echo bye; exit 3";
    assert_eq!(
        refusal_with("ovs-vswitchd", script, "raise-ovs"),
        "start ovs-vswitchd in node-0: it ended with exit code 3: cannot frobnicate"
    );
}

/// The words of a daemon that others wait for, on other nodes, are the error: nobody waits for their own end first.
fn a_daemon_that_others_wait_for_is_quoted() {
    let told =
        refusal_with("etcd", "echo 'cannot open the log of proposals'; exit 4", "raise-flannel");
    assert_eq!(
        told,
        "start etcd in node-0: it ended with exit code 4: cannot open the log of proposals"
    );
}

/// A daemon that says that it is ready, and lets packets go nowhere: what it says is in the error.
fn a_daemon_that_carries_nothing_is_quoted() {
    // It has the routes that are waited for, and they lead nowhere.
    let script = r#"
while [ $# -gt 0 ]; do [ "$1" = -subnet-file ] && file=$2; shift; done
echo 'error: the lease of another node cannot be trusted' >&2
for net in 10.100.0.0/16 10.101.0.0/16; do ip route add blackhole $net || true; done 2>/dev/null
echo FLANNEL_MTU=1500 >>"$file"
exec sleep 600"#;
    let told = refusal_with("flanneld", script, "raise-flannel");
    assert!(told.starts_with("reach ") || told.starts_with("connect "), "{told}");
    let words = "flanneld: error: the lease of another node cannot be trusted";
    assert!(told.contains(words), "{told}");
}

/// Why a network cannot be raised where a program of its is this script. One case has a process of its own, and one thread
/// when it sets the PATH.
fn refusal_with(program: &str, script: &str, case: &str) -> String {
    let scratch = Scratch::new();
    scratch.program(program, &format!("#!/bin/sh\n{script}\n"));
    let path =
        format!("{}:{}", scratch.root().display(), std::env::var("PATH").unwrap_or_default());
    let this = std::env::current_exe().expect("this program has a path");
    let done = Program::new(this).arg(case).env("PATH", path).output().expect("it runs");
    eprint!("{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// Prints why `flannel-host-gw` cannot be raised.
pub(crate) fn raise_flannel() -> ExitCode {
    let spelled: Spelled = "flannel-host-gw".parse().unwrap();
    let registry = Registry::new(networks(Some(enter())));
    let network = registry.find(&spelled).unwrap();
    let two = Shape { nodes: 2, ..Shape::default() };
    println!("{}", network.raise(&two, &site(&spelled)).expect_err("it may not rise"));
    ExitCode::SUCCESS
}

/// Prints why `ovs-user` cannot be raised.
pub(crate) fn raise_ovs() -> ExitCode {
    println!("{}", refusal(&enter(), "ovs-user"));
    ExitCode::SUCCESS
}

/// Raises a network with daemons, says so, and waits to be killed.
pub(crate) fn hold() -> ExitCode {
    let _topology = raise(&enter(), "ovs-user", &Shape::default());
    println!("up");
    loop {
        std::thread::park();
    }
}

fn sigkill_leaves_no_daemon() {
    let everything = || (NetworkConfiguration::here(), mounts(), sockets());
    let before = everything();
    set_child_subreaper(Pid::from_raw(1)).expect("any process may");
    let this = std::env::current_exe().expect("this program has a path");
    let mut holder =
        Program::new(this).arg("hold-daemons").stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(holder.stdout.take().expect("its output is piped"));
    output.read_line(&mut line).expect("it prints");
    assert_eq!(line, "up\n");
    let family = family_of(holder.id());
    // Itself, the keeper, ovsdb-server and ovs-vswitchd.
    assert_eq!(family.len(), 4, "all of it is seen: {family:?}");
    assert!(!PathBuf::from("/run/node-0").exists(), "its sockets are nowhere to be seen");

    holder.kill().expect("it can be killed");
    holder.wait().expect("it ends");
    eventually("all processes end", || {
        reap();
        !family.iter().any(|pid| is_running(*pid))
    });
    assert_eq!(everything(), before);
}

/// Takes the exits of processes that the holder left to this one. Some machines' first process, that of the virtual
/// machine too, takes none, and a namespace of processes lasts until all exits within have been taken.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// What is mounted, as this process sees it.
fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").expect("/proc is there")
}

/// The sockets of Open vSwitch that the machine has by a path.
fn sockets() -> Vec<String> {
    let all = fs::read_to_string("/proc/net/unix").expect("/proc is there");
    let of_ours = |line: &&str| line.contains("ovs") || line.contains("/db.sock");
    all.lines()
        .filter(of_ours)
        .filter_map(|line| line.split(' ').next_back())
        .map(str::to_owned)
        .collect()
}
