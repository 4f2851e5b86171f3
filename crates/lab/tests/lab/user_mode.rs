//! Networks of rootless containers: traffic passes the process that gives a network its name, and no other one.

use crate::container_programs::start;
use crate::daemons::output_with_programs;
use crate::harness::Case;
use crate::leftovers::{is_running, process_tree, start_holder};
use crate::nodes::raise_any;
use crate::paths::{device_traffic, sender_of_datagram};
use crate::scripts::run_in_private_namespaces;
use std::process::ExitCode;
use tare_dev::{NetworkConfiguration, ScratchDirectory, eventually};
use tare_lab::networks;
use tare_network::{
    ClientRoute, Error, Family, HopKind, MtuSource, NetworkRegistry, NetworkSpec, ProcessExit,
    Shape, Topology,
};

/// Networks with the first letters of the process that carries their published port (of pasta: `passt.avx2` on a CPU
/// that has AVX2), and the device of the server that it serves.
const PUBLISHED: [(&str, &str, &str); 5] = [
    ("pasta", "pas", "tap0"),
    ("pasta+splice", "pas", "lo"),
    ("slirp4netns", "slirp4netns", "tap0"),
    ("rootlesskit", "rootlesskit", "lo"),
    ("rootlesskit-slirp", "slirp4netns", "tap0"),
];

/// Networks with a client behind a stack.
const OUTBOUND: [&str; 6] = [
    "pasta/host",
    "pasta/pasta",
    "slirp4netns/host",
    "slirp4netns/slirp4netns",
    "rootlesskit/host",
    "rootlesskit/rootlesskit",
];

/// Networks that carry IPv6.
const IPV6: [&str; 3] = ["pasta", "pasta/host", "pasta/pasta"];

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let published = PUBLISHED.map(|(name, ..)| name);
    let of = |name| Case::of_network("rootless_carries_tcp_over_ipv4", name, carries_ipv4);
    cases.extend(published.into_iter().chain(OUTBOUND).map(of));
    let of = |name| Case::of_network("rootless_carries_tcp_over_ipv6", name, carries_ipv6);
    cases.extend(IPV6.map(of));
    for (name, process, device) in PUBLISHED {
        let body = move |name: &str| the_stack_carries_it(name, process, device);
        cases.push(Case::of_network("the_stack_carries_it", name, body));
    }
    let of = |name| Case::of_network("the_shown_commands_build_it", name, shown_commands_build_it);
    cases.extend(published.map(of));
    let tried_again = "a_start_that_fails_once_is_tried_again";
    cases.push(Case::of_network(tried_again, "rootlesskit", is_tried_again));
    let of = |name| Case::of_network("shown_commands_try_again", name, shown_commands_try_again);
    cases.extend(["rootlesskit", "rootlesskit-slirp"].map(of));
    let of = |name| Case::of_network("sigkill_leaves_nothing", name, sigkill_leaves_nothing);
    cases.extend(["pasta", "slirp4netns", "rootlesskit"].map(of));
    let of = |name| Case::of_network("a_dropped_network_is_gone", name, a_dropped_network_is_gone);
    cases.extend(["pasta", "slirp4netns", "rootlesskit"].map(of));
    let with_both = |name: &str, body: fn()| Case::new(name, body).on("pasta").on("slirp4netns");
    cases.extend([
        Case::new("taps_have_the_engines_mtu", taps_have_the_engines_mtu).on("pasta"),
        Case::new("ipv6_is_refused_by_name", ipv6_is_refused_by_name).on("slirp4netns"),
        Case::new("a_program_is_taken_by_its_path", a_program_is_taken_by_its_path).on("pasta"),
        with_both("a_false_pasta_is_refused", a_false_pasta_is_refused),
        with_both("a_renamed_program_is_refused", a_renamed_program_is_refused),
    ]);
    cases
}

fn shape(family: Family) -> Shape {
    Shape { servers: 2, clients: 3, family, ..Shape::default() }
}

fn carries_ipv4(name: &str) {
    carries_tcp(name, Family::Ipv4);
}

fn carries_ipv6(name: &str) {
    carries_tcp(name, Family::Ipv6);
}

fn carries_tcp(name: &str, family: Family) {
    let topology = raise_any(&crate::cases::enter(), name, &shape(family));
    assert_eq!(topology.routes.len(), 6, "a route for each client and port");
    topology.routes.iter().for_each(|route| converse(&topology, route));
}

/// Sends requests over a route, and checks that all of them come back.
fn converse(topology: &Topology, route: &ClientRoute) {
    let server = topology.servers[route.server].as_ref();
    let client = topology.clients[route.client].as_ref();
    let (mut serving, line) = start(server, &["echo", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let (mut dialling, line) = start(client, &["converse", &route.dial.to_string()]);
    assert_eq!(line, SENT.to_string(), "all bytes came back");
    assert_eq!(dialling.wait().unwrap(), ProcessExit::Code(0));
    assert_eq!(serving.wait().unwrap(), ProcessExit::Code(0));
}

/// Bytes that a conversation sends in each direction.
const SENT: u64 = 100_000;

/// Returns the bytes that a device of the first server receives and sends during a conversation.
fn bytes_of_conversation(topology: &Topology, device: &str) -> [u64; 2] {
    let server = topology.servers[0].as_ref();
    let before = device_traffic(server, device);
    converse(topology, &topology.routes[0]);
    let after = device_traffic(server, device);
    [after.received - before.received, after.sent - before.sent]
}

/// Returns the CPU time of the daemons whose names begin so, seconds.
fn cpu_time(topology: &Topology, process: &str) -> f64 {
    let times = topology.daemons().expect("it has daemons").cpu_times();
    times
        .iter()
        .filter(|(name, _)| name.starts_with(process))
        .map(|(_, time)| time.as_secs_f64())
        .sum()
}

fn the_stack_carries_it(name: &str, process: &str, device: &str) {
    let topology = raise_any(&crate::cases::enter(), name, &Shape::default());
    let forwarder = topology.hops.iter().find(|hop| hop.kind == HopKind::Forwarder);
    let carrier = name.split('+').next().unwrap_or(name);
    let carrier = if carrier == "rootlesskit-slirp" { "slirp4netns" } else { carrier };
    assert_eq!(forwarder.map(|hop| hop.name.as_str()), Some(carrier), "{:?}", topology.hops);
    assert!(topology.hops.iter().any(|hop| hop.place == "server-0" && hop.name == device));
    let before = cpu_time(&topology, process);
    let [received, sent] = bytes_of_conversation(&topology, device);
    assert!(received >= SENT && sent >= SENT, "{device} carried {received} and {sent} bytes");
    assert!(cpu_time(&topology, process) > before, "{process} has worked");
    if device == "lo" {
        let [received, _] = bytes_of_conversation(&topology, "tap0");
        assert!(received < SENT / 10, "no payload passes the tap device: {received} bytes");
    }
    let _ = sender_of_datagram(&topology);
}

fn taps_have_the_engines_mtu() {
    let sandbox = crate::cases::enter();
    let mtu = |name: &str, shape: &Shape| {
        let topology = raise_any(&sandbox, name, shape);
        let tap = topology.hops.into_iter().find(|hop| hop.name == "tap0").expect("it has one");
        tap.mtu
    };
    let by_user = Shape { mtu: 1500, mtu_by: MtuSource::User, ..Shape::default() };
    assert_eq!(mtu("pasta", &Shape::default()), Some(65_520));
    assert_eq!(mtu("pasta", &by_user), Some(1500));
    assert_eq!(mtu("pasta+mtu=9000", &Shape::default()), Some(9000));
}

/// Returns the error of a network that cannot be set up.
fn refusal(name: &str, shape: &Shape) -> Error {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(Some(crate::cases::enter())));
    let network = registry.find(&spelled).expect("a known network");
    let refused = network.set_up(shape, &crate::cases::site(&spelled));
    refused.expect_err("it is refused")
}

fn ipv6_is_refused_by_name() {
    let error = refusal("slirp4netns", &Shape { family: Family::Ipv6, ..Shape::default() });
    assert_eq!(error.why, "slirp4netns reaches containers over IPv4 only");
    assert_eq!(error.remedy, "use --family ipv4, or pasta");
}

/// Prints the reason why a network cannot be set up.
pub(crate) fn refuse(name: &str) -> ExitCode {
    println!("{}", refusal(name, &Shape::default()));
    ExitCode::SUCCESS
}

/// Returns the error of `pasta` with the programs of a directory before all others on the PATH.
fn refusal_with(scratch: &ScratchDirectory) -> String {
    output_with_programs(scratch, &["refuse-network", "pasta"])
}

/// A program called `pasta` does what pasta does, by slirp4netns: the mistake of a published table.
fn a_false_pasta_is_refused() {
    let this = std::env::current_exe().expect("this program has a path");
    let slirp = tare_sandbox::program::find("slirp4netns").expect("slirp4netns is installed");
    let script = format!(
        r#"#!/bin/sh
[ "$1" = --version ] && echo "pasta 2026_01_20" && exit
while [ $# -gt 1 ]; do
  case $1 in
    --pid) pid_file=$2 ;;
    --tcp-ports) ports="$ports ${{2#*/}}"; host=${{2%/*}} ;;
  esac
  shift
done
(
  until [ -S "$pid_file.sock" ]; do sleep 0.05; done
  for port in $ports; do
    for transport in tcp udp; do
      {this} internal publish "$pid_file.sock" "{{\"execute\":\"add_hostfwd\",\"arguments\":{{\"proto\":\"$transport\",\"host_addr\":\"$host\",\"host_port\":$port,\"guest_port\":$port}}}}"
    done
  done
  echo 1 >"$pid_file"
) &
exec {slirp} --configure --mtu 65520 --api-socket "$pid_file.sock" --netns-type path "$1" tap0
"#,
        this = this.display(),
        slirp = slirp.display(),
    );
    let scratch = ScratchDirectory::new();
    scratch.write_program("pasta", &script);
    let told = refusal_with(&scratch);
    assert!(told.starts_with("cannot verify that pasta "), "{told}");
    assert!(told.contains(&format!("its process runs {}, not ", slirp.display())), "{told}");
}

/// Another build of a program is weighed beside the installed one, by its path.
fn a_program_is_taken_by_its_path() {
    let scratch = ScratchDirectory::new();
    let installed = tare_sandbox::program::find("pasta").expect("pasta is installed");
    let copy = scratch.path("pasta");
    std::fs::copy(installed, &copy).expect("it can be copied");
    let name = format!("pasta:{}", copy.display());
    let topology = raise_any(&crate::cases::enter(), &name, &Shape::default());
    let forwarder = topology.hops.iter().find(|hop| hop.kind == HopKind::Forwarder);
    let detail = forwarder.and_then(|hop| hop.detail.clone()).unwrap_or_default();
    assert!(detail.contains(&copy.display().to_string()), "{detail}");
    converse(&topology, &topology.routes[0]);
    let missing = format!("pasta:{}", scratch.path("nothing").display());
    let registry = NetworkRegistry::new(networks(None));
    let spelled: NetworkSpec = missing.parse().expect("a good name");
    let network = registry.find(&spelled).expect("a known network");
    let needs = network.requirements(&crate::cases::site(&spelled));
    let reasons: Vec<String> = needs.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.ends_with("cannot be run")));
}

/// slirp4netns itself stands on the PATH as `pasta`.
fn a_renamed_program_is_refused() {
    let slirp = tare_sandbox::program::find("slirp4netns").expect("slirp4netns is installed");
    let scratch = ScratchDirectory::new();
    std::fs::copy(slirp, scratch.path("pasta")).expect("it can be copied");
    let told = refusal_with(&scratch);
    let words = "/pasta is not pasta: its version is `slirp4netns version";
    assert!(told.contains(words), "{told}");
}

/// Raises a network, prints `up`, and waits to be killed.
pub(crate) fn hold(name: &str) -> ExitCode {
    let _topology = raise_any(&crate::cases::enter(), name, &Shape::default());
    println!("up");
    loop {
        std::thread::park();
    }
}

fn sigkill_leaves_nothing(name: &str) {
    let before = NetworkConfiguration::current();
    let mut holder = start_holder(&["hold-network", name]);
    let family = process_tree(holder.id());
    assert!(family.len() > 2, "the stack is seen: {family:?}");
    holder.kill().expect("it can be killed");
    holder.wait().expect("it ends");
    eventually("all processes end", || !family.iter().any(|pid| is_running(*pid)));
    assert_eq!(NetworkConfiguration::current(), before);
}

fn a_dropped_network_is_gone(name: &str) {
    let sandbox = crate::cases::enter();
    let without = process_tree(std::process::id()).len();
    for _ in 0..2 {
        drop(raise_any(&sandbox, name, &Shape::default()));
        eventually("the stack ends", || process_tree(std::process::id()).len() <= without);
    }
}

/// Writes an nsenter that fails once, as it does for a RootlessKit whose child executes itself at that moment.
fn write_failing_nsenter(scratch: &ScratchDirectory) {
    let installed = tare_sandbox::program::find("nsenter").expect("nsenter is installed");
    let failed = scratch.path("failed");
    let script = format!(
        "#!/bin/sh\n\
         mkdir {failed} 2>/dev/null || exec {nsenter} \"$@\"\n\
         echo \"nsenter: cannot open /proc/$2/ns/net: No such file or directory\" >&2\n\
         exit 1\n",
        failed = failed.display(),
        nsenter = installed.display(),
    );
    scratch.write_program("nsenter", &script);
}

fn is_tried_again(name: &str) {
    let scratch = ScratchDirectory::new();
    write_failing_nsenter(&scratch);
    // Programs have a /tmp of their own, unless they are there themselves.
    let installed = tare_sandbox::program::find(name).expect("it is installed");
    let copy = scratch.path(name);
    std::fs::copy(installed, &copy).expect("it can be copied");
    let by_path = format!("{name}:{}", copy.display());
    assert_eq!(output_with_programs(&scratch, &["converse-over", &by_path]), "conversed");
    assert!(scratch.path("failed").exists(), "its nsenter was not asked");
}

fn shown_commands_try_again(name: &str) {
    let scratch = ScratchDirectory::new();
    write_failing_nsenter(&scratch);
    commands_build_it(name, &format!("export PATH={}:\"$PATH\"", scratch.root().display()));
    assert!(scratch.path("failed").exists(), "its nsenter was not asked");
}

/// Sends requests over a network, and prints `conversed`.
pub(crate) fn converse_over(name: &str) -> ExitCode {
    let topology = raise_any(&crate::cases::enter(), name, &Shape::default());
    converse(&topology, &topology.routes[0]);
    println!("conversed");
    ExitCode::SUCCESS
}

fn shown_commands_build_it(name: &str) {
    commands_build_it(name, "");
}

/// The commands that `tare show` prints build, after this one, a network over whose published port bytes come back.
fn commands_build_it(name: &str, first: &str) {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(None));
    let network = registry.find(&spelled).expect("a known network");
    let site = crate::cases::site(&spelled);
    let this = std::env::current_exe().expect("this program has a path");
    let this = this.display();
    let port = site.ports[0];
    let (listen, dial) = match name {
        "pasta+splice" => ("127.0.0.1", "127.0.0.1"),
        "rootlesskit" => ("127.0.0.1", "10.20.0.1"),
        _ => ("10.0.2.100", "10.20.0.1"),
    };
    let script = format!(
        "set -e\nmount -t tmpfs tmpfs /run\n{first}\n{}\n\
         ip netns exec server-0 {this} echo {listen}:{port} >/run/serve &\n\
         until grep -q listening /run/serve; do sleep 0.05; done\n\
         ip netns exec node-0 {this} converse {dial}:{port}\n",
        network.commands(&Shape::default(), &site).join("\n"),
    );
    let done = run_in_private_namespaces(&script);
    let said = String::from_utf8_lossy(&done.stdout);
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("100000"), "{name}:\n{script}\n{said}{complaints}");
}
