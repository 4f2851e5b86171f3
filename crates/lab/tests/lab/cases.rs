//! Test cases of every network, and of the lab itself.

use crate::container_programs::{start, start_command};
use crate::ebpf_redirect;
use crate::harness::Case;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use tare_lab::networks;
use tare_network::{
    Command, Container, Family, HopKind, NetworkParameters, NetworkRegistry, NetworkSpec,
    ProcessExit, Requirement, RequirementProbe, Shape, Topology,
};
use tare_sandbox::{EnterOptions, KernelProbe, Sandbox};

/// Networks that every kernel these tests run on supports, as users spell them.
const COMMON_NETWORKS: [&str; 31] = [
    "native",
    "loopback",
    "host",
    "shared",
    "veth",
    "veth+plain",
    "bridge",
    "bridge+plain",
    "bridge-plain",
    "ptp",
    "published",
    "veth+rate=100mbit",
    "bridge+rate=1gbit",
    "published+rate=40gbit",
    "published-proxy",
    "link",
    "link-icc",
    "bridge+firewall=iptables",
    "bridge+firewall=nftables",
    "published+firewall=nftables",
    "published+idle=3+ports=2",
    "link+firewall=nftables",
    "link-icc+firewall=nftables",
    "pipework",
    "pipework+plain",
    "pipework-macvlan",
    "macvlan",
    "macvlan-nat",
    "bridge+without=gro+without=gso+without=tso+without=checksum",
    "macvlan+without=gso",
    "host+without=tso",
];

/// Networks that need kernel modules which some kernels lack; the virtual machine's has them (`make test-system
/// PARTS=vm`).
const MODULE_NETWORKS: [&str; 6] =
    ["ipvlan-l2", "ipvlan-l3", "vlan", "vrf", "netkit", "netkit+plain"];

/// Returns all networks, as users spell them.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    COMMON_NETWORKS.into_iter().chain(MODULE_NETWORKS).chain(ebpf_redirect::networks())
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("host_passes_the_loopback_device", host_passes_the_loopback_device),
        Case::new("mtu_is_read_back", mtu_is_read_back),
        Case::new("the_caller_stays_where_it_was", the_caller_stays_where_it_was),
        Case::new("names_resolve_inside", names_resolve_inside),
        Case::new("programs_end_as_they_should", programs_end_as_they_should),
        Case::new("dropped_programs_are_gone", dropped_programs_are_gone),
        Case::new("bad_shapes_are_refused", bad_shapes_are_refused),
        Case::new("a_refusal_says_why_and_what_to_do", a_refusal_says_why_and_what_to_do),
        Case::new("without_a_lab_nothing_is_raised", without_a_lab_nothing_is_raised),
        Case::new("what_is_missing_is_the_kernels", what_is_missing_is_the_kernels),
    ];
    for (name, family) in [
        ("every_network_carries_tcp_over_ipv4", Family::Ipv4),
        ("every_network_carries_tcp_over_ipv6", Family::Ipv6),
    ] {
        let of =
            |network| Case::of_network(name, network, move |network| carries_tcp(network, family));
        cases.extend(names().map(of));
    }
    let of = |name| Case::of_network("ten_containers_answer", name, ten_containers_answer);
    cases.extend(["bridge-plain", "bridge", "veth"].into_iter().map(of));
    cases
}

/// Returns a port that is not in use on this machine: `native` has no namespace of its own.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// Returns a site with two ports for workloads.
pub(crate) fn site(spelled: &NetworkSpec) -> NetworkParameters {
    NetworkParameters::from_spec(spelled, vec![free_port(), free_port()])
}

pub(crate) fn enter() -> Arc<Sandbox> {
    enter_with(EnterOptions::default())
}

pub(crate) fn enter_with(options: EnterOptions) -> Arc<Sandbox> {
    Sandbox::enter(options).expect("the lab can be entered")
}

pub(crate) fn raise(sandbox: &Arc<Sandbox>, name: &str, shape: &Shape) -> Topology {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))));
    let network = registry.find(&spelled).expect("a known network");
    let raised = network.set_up(shape, &site(&spelled));
    raised.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn carries_tcp(name: &str, family: Family) {
    let one_address = name == "native" && family == Family::Ipv6;
    let servers = if one_address { 1 } else { 2 };
    let shape = Shape { servers, clients: 3, family, ..Shape::default() };
    let topology = raise(&enter(), name, &shape);
    assert_eq!(topology.routes.len(), 6, "a route for each client and port");
    assert!(!topology.hops.is_empty(), "it names its hops");
    for route in &topology.routes {
        assert_eq!(route.server, route.client % servers as usize);
        let server = topology.servers[route.server].as_ref();
        let client = topology.clients[route.client].as_ref();
        let (mut serving, line) = start(server, &["serve", &route.listen.to_string()]);
        assert_eq!(line, "listening");
        let (mut dialling, line) = start(client, &["dial", &route.dial.to_string()]);
        assert_eq!(line, "100000", "all bytes came back");
        assert_eq!(dialling.wait().unwrap(), ProcessExit::Code(0));
        assert_eq!(serving.wait().unwrap(), ProcessExit::Code(0));
    }
}

/// Returns the hops as `place:name kind`, in order.
pub(crate) fn path(topology: &Topology) -> Vec<String> {
    topology.hops.iter().map(|hop| format!("{hop} {:?}", hop.kind)).collect()
}

fn host_passes_the_loopback_device() {
    let topology = raise(&enter(), "host", &Shape::default());
    assert_eq!(path(&topology), ["node-0:lo Loopback"]);
    assert_eq!(topology.hops[0].mtu, Some(65_536), "a loopback device keeps its own MTU");
}

fn mtu_is_read_back() {
    let shape = Shape { mtu: 9000, ..Shape::default() };
    let topology = raise(&enter(), "bridge-plain", &shape);
    let mtus: Vec<_> = topology.hops.iter().map(|hop| hop.mtu).collect();
    assert_eq!(mtus, [Some(9000); 5]);
    assert!(topology.hops.iter().all(|hop| hop.kind != HopKind::Loopback));
}

/// Raising a network returns when every client has connected with its server. A network can be raised again after it is
/// gone.
fn ten_containers_answer(name: &str) {
    let sandbox = enter();
    let shape = Shape { servers: 5, clients: 5, ..Shape::default() };
    for _ in 0..3 {
        let topology = raise(&sandbox, name, &shape);
        assert_eq!((topology.servers.len(), topology.clients.len()), (5, 5));
        assert_eq!(topology.routes.len(), 5 * 2, "each client goes to one server, on both ports");
    }
}

/// Runs a program in a container to its end, and returns its output.
pub(crate) fn output(container: &dyn Container, program: &Path, arguments: &[&str]) -> String {
    let command = Command {
        program: Some(program.to_owned()),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        ..Command::default()
    };
    let mut process = container.spawn(&command).expect("it starts");
    let mut text = String::new();
    let mut stream = process.take_output().expect("its output is piped");
    stream.read_to_string(&mut text).expect("it prints text");
    assert_eq!(process.wait().expect("it ends"), ProcessExit::Code(0), "{}", program.display());
    text
}

fn the_caller_stays_where_it_was() {
    let mine = || fs::metadata("/proc/thread-self/ns/net").expect("it has one").ino();
    let before = mine();
    let sandbox = enter();
    let inode = |topology: &Topology| -> u64 {
        let stat = Path::new("/usr/bin/stat");
        let arguments = ["--dereference", "--format=%i", "/proc/self/ns/net"];
        let text = output(topology.servers[0].as_ref(), stat, &arguments);
        text.trim().parse().expect("an inode's number")
    };
    assert_eq!(inode(&raise(&sandbox, "native", &Shape::default())), before);
    assert_ne!(inode(&raise(&sandbox, "loopback", &Shape::default())), before);
    assert_eq!(mine(), before);
}

fn names_resolve_inside() {
    let sandbox = enter();
    let topology = raise(&sandbox, "bridge-plain", &Shape::default());
    let server = topology.servers[0].address();
    let command = Command {
        program: Some("sh".into()),
        arguments: vec![
            "-c".to_owned(),
            "getent ahosts server; ls /sys/class/net; echo pid $$; ls -d /tmp/hosts".to_owned(),
        ],
        hosts: vec![("server".to_owned(), server)],
        ..Command::default()
    };
    let mut process = topology.clients[0].spawn(&command).expect("it starts");
    let mut text = String::new();
    process.take_output().expect("piped").read_to_string(&mut text).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let resolved = lines[0].split_whitespace().next();
    assert_eq!(resolved, Some(server.to_string().as_str()));
    assert!(lines.contains(&"eth0"), "/sys is the container's own: {text}");
    assert!(!lines.contains(&"/tmp/hosts"), "nothing is left on a disk");
    let ours = Command { program: None, arguments: vec!["idle".to_owned()], ..command };
    let (_idle, number) = start_command(topology.clients[0].as_ref(), &ours);
    assert!(number.parse::<u32>().unwrap() < 100, "it runs in the lab's PID namespace: {number}");
    assert!(!fs::read_to_string("/etc/hosts").unwrap_or_default().contains(&server.to_string()));
}

fn programs_end_as_they_should() {
    let sandbox = enter();
    let topology = raise(&sandbox, "loopback", &Shape::default());
    let container = topology.clients[0].as_ref();
    let shell = |script: &str| Command {
        program: Some("sh".into()),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        environment: vec![("COLOUR".to_owned(), "7".to_owned())],
        ..Command::default()
    };
    let mut coded = container.spawn(&shell("exit $COLOUR")).unwrap();
    assert_eq!(coded.wait().unwrap(), ProcessExit::Code(7));
    assert_eq!(coded.wait().unwrap(), ProcessExit::Code(7), "asked twice");
    let mut killed = container.spawn(&shell("read nothing")).unwrap();
    killed.kill();
    assert_eq!(killed.wait().unwrap(), ProcessExit::Signal(9));
    let missing = Command { program: Some("no-such-program".into()), ..Command::default() };
    let error = container.spawn(&missing).err().expect("it cannot start");
    assert_eq!(error.what, "start no-such-program");
}

fn dropped_programs_are_gone() {
    let sandbox = enter();
    let topology = raise(&sandbox, "loopback", &Shape::default());
    let command = Command {
        program: Some("sh".into()),
        arguments: vec!["-c".to_owned(), "sleep 1000 & echo up; wait".to_owned()],
        ..Command::default()
    };
    let mut process = topology.clients[0].spawn(&command).unwrap();
    let mut stream = process.take_output().unwrap();
    let mut line = [0; 3];
    stream.read_exact(&mut line).unwrap();
    drop(process);
    // The pipe ends when the last program that holds it has ended, the shell's own child included.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!((&line, rest.len()), (b"up\n", 0));
}

fn bad_shapes_are_refused() {
    let sandbox = enter();
    let registry = NetworkRegistry::new(networks(Some(sandbox)));
    let cases = [
        ("bridge", Shape { nodes: 2, ..Shape::default() }, "one node"),
        ("veth", Shape { servers: 2, ..Shape::default() }, "no device pair"),
        (
            "host",
            Shape { servers: 251, clients: 251, ..Shape::default() },
            "fewer addresses than servers",
        ),
        ("bridge", Shape { mtu: 70_000, ..Shape::default() }, "MTU of 70000"),
        ("veth", Shape { mtu: 1279, family: Family::Ipv6, ..Shape::default() }, "MTU of 1279"),
        ("shared", Shape { clients: 0, ..Shape::default() }, "one client are required"),
        ("loopback", Shape { clients: u32::MAX, ..Shape::default() }, "containers are supported"),
        ("native", Shape { servers: 2, family: Family::Ipv6, ..Shape::default() }, "one IPv6"),
    ];
    for (name, shape, why) in cases {
        let spelled: NetworkSpec = name.parse().unwrap();
        let network = registry.find(&spelled).unwrap();
        let error = network.set_up(&shape, &site(&spelled)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(!error.remedy.is_empty(), "{name} says what to do");
        let shown = network.commands(&shape, &site(&spelled));
        assert!(shown[0].starts_with("# "), "{name} shows why: {shown:?}");
    }
}

fn without_a_lab_nothing_is_raised() {
    for network in networks(None) {
        let error = network.set_up(&Shape::default(), &NetworkParameters::default()).unwrap_err();
        assert!(error.why.contains("has not entered"), "{error}");
        assert!(!network.info().summary.is_empty());
    }
}

fn what_is_missing_is_the_kernels() {
    let listing = NetworkRegistry::new(networks(None)).availability(&KernelProbe::default());
    let of_the_kernel = ["this kernel has no", "is not loaded", "/dev/net/tun cannot be opened"];
    for one in &listing {
        // Programs that no package has are built by `make setup`.
        let is_built =
            |missing: &tare_network::UnmetRequirement| missing.remedy.contains("make setup");
        if one.missing.as_ref().is_some_and(is_built) {
            continue;
        }
        let Some(missing) = &one.missing else { continue };
        let reason = &missing.reason;
        assert!(
            of_the_kernel.iter().any(|words| reason.contains(words)),
            "{}: {reason}",
            one.about.name
        );
        assert!(!missing.remedy.is_empty());
        assert!(!COMMON_NETWORKS.contains(&one.about.name), "{}: {reason}", one.about.name);
    }
    for one in listing.iter().filter(|one| MODULE_NETWORKS.contains(&one.about.name)) {
        let Some(missing) = &one.missing else { continue };
        assert!(missing.remedy.contains("CONFIG_") || missing.remedy.contains("modprobe"));
    }
}

/// Prints why the lab cannot be entered, and the probe's reason, for a process that may not create namespaces.
pub(crate) fn refused() {
    let missing =
        KernelProbe::default().check(&Requirement::Namespaces).expect_err("they are missing");
    println!("{} | {}", missing.reason, missing.remedy);
    let error = Sandbox::enter(EnterOptions::default()).err().expect("it is refused");
    println!("{} | {}", error.why, error.remedy);
}

fn a_refusal_says_why_and_what_to_do() {
    // In its own user namespace, any process may set the limit of namespaces and give up all capabilities.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces
        exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" refused";
    let this = std::env::current_exe().expect("this program has a path");
    let done = std::process::Command::new("unshare")
        .args(["--map-root-user", "sh", "-c", script])
        .arg(this)
        .output()
        .expect("unshare runs");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let expected = "user namespaces are off (user.max_user_namespaces=0) | run tare as root";
    assert_eq!(said.lines().collect::<Vec<_>>(), [expected, expected]);
}
