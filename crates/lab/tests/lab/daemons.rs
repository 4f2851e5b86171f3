//! Tests of networks whose packets are carried by daemons, and that no daemon is left behind.

use crate::cases::{enter, path, raise, site};
use crate::container_programs::start;
use crate::harness::{Case, CaseRequirement};
use crate::leftovers::{is_running, process_tree, start_holder};
use rustix::fs::{Access, access};
use rustix::process::{Pid, WaitOptions, set_child_subreaper, wait};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command as Program, ExitCode};
use std::sync::Arc;
use tare_dev::{NetworkConfiguration, ScratchDirectory, eventually};
use tare_lab::networks;
use tare_network::{
    Command, Container, Error, Family, NetworkParameters, NetworkRegistry, NetworkSpec,
    ProcessExit, Shape, Topology,
};
use tare_sandbox::Sandbox;

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("open_vswitch_names_its_hops", open_vswitch_names_its_hops).on("ovs-user"),
        Case::new("the_kernels_datapath_has_a_name_of_its_own", || {
            assert_eq!(path(&raise(&enter(), "ovs-bridge", &Shape::default())), bridged("Bridge"));
        })
        .on("ovs-bridge"),
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
            .needing(CaseRequirement::Condition(
                || !may_open_tun(),
                "a user who may not open /dev/net/tun",
            )),
    ];
    let all =
        ["ovs-user", "ovs-user-bridge", "ovs-bridge", "ovs", "ovs-internal", "ovs-user-internal"];
    for name in all {
        for family in [Family::Ipv4, Family::Ipv6] {
            let case = format!("open_vswitch_carries_the_packets_over_{family}");
            cases
                .push(Case::of_network(&case, name, move |name| carries_the_packets(name, family)));
        }
    }
    cases
}

/// Returns true if this user may open /dev/net/tun, by which the daemon's bridges are created.
pub(crate) fn may_open_tun() -> bool {
    access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_ok()
}

/// Returns the error of a network that cannot be raised: this user may lack access to a device file that root has.
fn refusal(sandbox: &Arc<Sandbox>, name: &str) -> Error {
    let spelled: NetworkSpec = name.parse().unwrap();
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))));
    let network = registry.find(&spelled).unwrap();
    network.set_up(&Shape::default(), &site(&spelled)).expect_err("it may not rise")
}

fn without_a_device_file_it_is_said_why() {
    let error = refusal(&enter(), "ovs-user");
    assert!(error.why.contains("/dev/net/tun cannot be opened"), "{error}");
    assert!(error.remedy.contains("as root"), "{}", error.remedy);
}

/// Runs a program to its end on a node, and returns its output.
pub(crate) fn program_output(node: &dyn Container, words: &[&str]) -> String {
    let program = tare_sandbox::program::find(words[0]).expect("it is installed");
    let command = Command {
        program: Some(program),
        arguments: words[1..].iter().map(|&word| word.to_owned()).collect(),
        ..Command::default()
    };
    let mut process = node.spawn(&command).expect("it starts");
    let mut text = String::new();
    process.take_output().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!(process.wait().expect("it ends"), ProcessExit::Code(0), "{words:?}: {text}");
    text
}

/// Returns the bytes that Open vSwitch itself has counted through its bridge. Its packet counts are of little use: the
/// kernel's datapath counts packets joined by segmentation offload as one.
fn switched_bytes(topology: &Topology) -> u64 {
    let flows = program_output(
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
    let before = switched_bytes(&topology);
    assert!(before > 0, "raising has proven the path");
    exchange(&topology);
    // The daemon collects the counts of its datapath at intervals.
    eventually("the switch has counted both directions", || {
        switched_bytes(&topology) >= before + 200_000
    });
    let daemons = topology.daemons().expect("it has daemons");
    let used = daemons.cpu_time();
    eventually("its daemons use more time", || {
        switched_bytes(&topology);
        daemons.cpu_time() > used
    });
}

fn open_vswitch_names_its_hops() {
    let sandbox = enter();
    let whole = ["client-0:eth0 Veth", "node-0:veth-c0 Veth", "node-0:ovs0 Forwarder"];
    let rest = ["node-0:veth-s0 Veth", "server-0:eth0 Veth"];
    assert_eq!(path(&raise(&sandbox, "ovs-user", &Shape::default())), [&whole[..], &rest].concat());
    let internal = ["client-0:int-c0 Device", "node-0:ovs0 Forwarder", "server-0:int-s0 Device"];
    assert_eq!(path(&raise(&sandbox, "ovs-user-internal", &Shape::default())), internal);
    assert_eq!(path(&raise(&sandbox, "ovs-user-bridge", &Shape::default())), bridged("Forwarder"));
}

/// Returns the path over Linux bridges and Open vSwitch, which is a hop of this kind.
fn bridged(kind: &str) -> Vec<String> {
    let switch = format!("node-0:ovs0 {kind}");
    let path = [
        "client-0:eth0 Veth",
        "node-0:veth-c0 Veth",
        "node-0:qbr-c0 Bridge",
        "node-0:qvb-c0 Veth",
        "node-0:qvo-c0 Veth",
        &switch,
        "node-0:qvo-s0 Veth",
        "node-0:qvb-s0 Veth",
        "node-0:qbr-s0 Bridge",
        "node-0:veth-s0 Veth",
        "server-0:eth0 Veth",
    ];
    path.map(str::to_owned).to_vec()
}

fn a_daemon_that_ends_is_missed() {
    let sandbox = enter();
    let topology = raise(&sandbox, "ovs-user", &Shape::default());
    let daemons = topology.daemons().expect("it has daemons");
    daemons.check().expect("they run");
    assert!(daemons.last_messages().is_some_and(|words| words.contains("ovs-vswitchd: ")));
    let exit = ["ovs-appctl", "-t", "/run/node-0/ovs-vswitchd.ctl", "exit"];
    program_output(topology.nodes[0].as_ref(), &exit);
    let error = eventually("the daemon is missed", || daemons.check().err());
    let told = error.to_string();
    assert!(
        told.starts_with(
            "cannot keep ovs-vswitchd running in node-0: the program ended with exit code 0"
        ),
        "{told}"
    );
}

fn what_daemons_say_is_kept() {
    let sandbox = enter();
    let scratch = ScratchDirectory::new();
    let spelled: NetworkSpec = "ovs-user".parse().unwrap();
    let registry = NetworkRegistry::new(networks(Some(sandbox)));
    let network = registry.find(&spelled).unwrap();
    let site = NetworkParameters { logs: Some(scratch.path("logs")), ..site(&spelled) };
    for _ in 0..2 {
        network.set_up(&Shape::default(), &site).expect("it rises");
    }
    let log = fs::read_to_string(scratch.path("logs/node-0-ovs-vswitchd.log")).expect("its log");
    assert_eq!(log.matches("bridge ovs0: added interface veth-c0").count(), 2, "{log}");
}

fn a_daemon_that_fails_is_quoted() {
    let script = "echo starting; echo cannot frobnicate >&2; echo bye; exit 3";
    assert_eq!(
        refusal_with("ovs-vswitchd", script, "raise-ovs"),
        "cannot start ovs-vswitchd in node-0: the program ended with exit code 3: cannot frobnicate"
    );
}

/// The error is the log line of the daemon that others on other nodes wait for: they stop waiting before their own time
/// limit.
fn a_daemon_that_others_wait_for_is_quoted() {
    let told =
        refusal_with("etcd", "echo 'cannot open the log of proposals'; exit 4", "raise-flannel");
    assert_eq!(
        told,
        "cannot start etcd in node-0: the program ended with exit code 4: cannot open the log of \
         proposals"
    );
}

/// A daemon reports that it is ready but carries no packets: the error quotes its log.
fn a_daemon_that_carries_nothing_is_quoted() {
    // The daemon adds the expected routes, but as blackholes.
    let script = r#"
while [ $# -gt 0 ]; do [ "$1" = -subnet-file ] && file=$2; shift; done
echo 'error: the lease of another node cannot be trusted' >&2
for net in 10.100.0.0/16 10.101.0.0/16; do ip route add blackhole $net || true; done 2>/dev/null
echo FLANNEL_MTU=1500 >>"$file"
exec sleep 600"#;
    let told = refusal_with("flanneld", script, "raise-flannel");
    assert!(told.starts_with("cannot reach ") || told.starts_with("cannot connect "), "{told}");
    let words = "flanneld: error: the lease of another node cannot be trusted";
    assert!(told.contains(words), "{told}");
}

/// Returns the error of a network one of whose programs is this script. Each case has its own process, with one thread
/// when it sets the PATH.
fn refusal_with(program: &str, script: &str, case: &str) -> String {
    let scratch = ScratchDirectory::new();
    scratch.write_program(program, &format!("#!/bin/sh\n{script}\n"));
    output_with_programs(&scratch, &[case])
}

/// Runs this program with the programs of a directory before all others on the PATH, and returns what it prints.
pub(crate) fn output_with_programs(scratch: &ScratchDirectory, arguments: &[&str]) -> String {
    let path =
        format!("{}:{}", scratch.root().display(), std::env::var("PATH").unwrap_or_default());
    let this = std::env::current_exe().expect("this program has a path");
    let done = Program::new(this).args(arguments).env("PATH", path).output().expect("it runs");
    eprint!("{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// Prints why `flannel-host-gw` cannot be raised.
pub(crate) fn raise_flannel() -> ExitCode {
    let spelled: NetworkSpec = "flannel-host-gw".parse().unwrap();
    let registry = NetworkRegistry::new(networks(Some(enter())));
    let network = registry.find(&spelled).unwrap();
    let two = Shape { nodes: 2, ..Shape::default() };
    println!("{}", network.set_up(&two, &site(&spelled)).expect_err("it may not rise"));
    ExitCode::SUCCESS
}

/// Prints why `ovs-user` cannot be raised.
pub(crate) fn raise_ovs() -> ExitCode {
    println!("{}", refusal(&enter(), "ovs-user"));
    ExitCode::SUCCESS
}

fn sigkill_leaves_no_daemon() {
    let everything = || (NetworkConfiguration::current(), mounts(), sockets());
    let before = everything();
    set_child_subreaper(Pid::from_raw(1)).expect("any process may");
    let mut holder = start_holder(&["hold-network", "ovs-user"]);
    let family = process_tree(holder.id());
    // The processes are the holder itself, the lab's keeper, ovsdb-server and ovs-vswitchd.
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

/// Reaps processes that the holder left to this process. The init process of some machines, the virtual machine's too,
/// reaps none, and a PID namespace lasts until all its processes have been reaped.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// Returns the mounts that this process sees.
fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").expect("/proc is there")
}

/// Returns the paths of the machine's Unix sockets that belong to Open vSwitch.
fn sockets() -> Vec<String> {
    let all = fs::read_to_string("/proc/net/unix").expect("/proc is there");
    let of_ours = |line: &&str| line.contains("ovs") || line.contains("/db.sock");
    all.lines()
        .filter(of_ours)
        .filter_map(|line| line.split(' ').next_back())
        .map(str::to_owned)
        .collect()
}
