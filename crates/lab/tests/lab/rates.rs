//! Tests of `+rate=`: the rate of a limited network in each direction, and the places of its queues.

use crate::cases::{enter, path, raise};
use crate::harness::Case;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Instant;
use tare_dev::eventually;
use tare_network::{Command, Container, Process, Shape, Topology};

/// Length of a transfer, bytes: many times the burst of the queues.
const AMOUNT: usize = 12_000_000;

/// Opens one end of a connection: it listens, and prints so, or it dials.
fn open(end: &str, address: &str) -> TcpStream {
    if end == "dial" {
        return TcpStream::connect(address).expect("the other end answers");
    }
    let listener = TcpListener::bind(address).expect("it listens");
    println!("listening");
    listener.accept().expect("the other end comes").0
}

/// Sends one transfer.
pub(crate) fn pour(end: &str, address: &str) -> ExitCode {
    open(end, address).write_all(&vec![0; AMOUNT]).expect("the other end takes it");
    ExitCode::SUCCESS
}

/// Receives one transfer, and prints its rate in Mbit/s.
pub(crate) fn swallow(end: &str, address: &str) -> ExitCode {
    let mut stream = open(end, address);
    let mut bytes = vec![0; 1 << 16];
    let mut received = stream.read(&mut bytes).expect("the other end sends");
    let begin = Instant::now();
    let before = received;
    loop {
        match stream.read(&mut bytes).expect("the other end sends") {
            0 => break,
            more => received += more,
        }
    }
    assert_eq!(received, AMOUNT);
    println!("{}", (received - before) as f64 * 8.0 / begin.elapsed().as_secs_f64() / 1e6);
    ExitCode::SUCCESS
}

/// Number of datagrams of a flood, and the size of each, bytes: as many fragments as fit into the largest.
pub(crate) const FLOOD: (usize, usize) = (200, 60_000);

/// Sends a flood of datagrams, one after the other, to an address that nothing need listen on.
pub(crate) fn flood(address: &str) -> ExitCode {
    let (count, size) = FLOOD;
    let socket = UdpSocket::bind("0.0.0.0:0").expect("there is a free port");
    for _ in 0..count {
        socket.send_to(&vec![0; size], address).expect("the device takes it");
    }
    println!("sent");
    ExitCode::SUCCESS
}

/// Has the first client flood its server.
pub(crate) fn send_flood(topology: &Topology) {
    let (client, route) = (topology.clients[0].as_ref(), topology.routes[0]);
    let (_flooding, mut said) = start(client, &["flood", &route.dial.to_string()]);
    assert_eq!(said(), "sent");
}

/// Starts a program of this file in a container, and returns it with a reader of its output, line by line.
fn start(
    container: &dyn Container,
    words: &[&str],
) -> (Box<dyn Process>, impl FnMut() -> String + use<>) {
    let mut process = container.spawn(&Command::tare(words.iter().copied())).expect("it starts");
    let mut output = BufReader::new(process.take_output().expect("its output is piped"));
    let line = move || {
        let mut line = String::new();
        output.read_line(&mut line).expect("it prints");
        line.trim_end().to_owned()
    };
    (process, line)
}

/// Runs a transfer between the first client and its server in the given parts, and returns its rate, Mbit/s.
fn transfer(topology: &Topology, at_server: &str, at_client: &str) -> f64 {
    let (server, client) = (topology.servers[0].as_ref(), topology.clients[0].as_ref());
    let route = topology.routes[0];
    let (listen, dial) = (route.listen.to_string(), route.dial.to_string());
    let (_serving, mut served) = start(server, &[at_server, "listen", &listen]);
    assert_eq!(served(), "listening");
    let (_dialling, mut dialled) = start(client, &[at_client, "dial", &dial]);
    let said = if at_client == "swallow" { dialled() } else { served() };
    said.parse().expect("a number")
}

/// Returns, for each queue with a rate, how many bytes it has passed since the last call, headers included, and how often
/// it held a packet back. A queue without an increase is missing.
fn queue_gains(topology: &mut Topology) -> Vec<(u64, u64)> {
    let watch = topology.watch.as_mut().expect("the lab counts");
    let mut queues = Vec::new();
    for counts in watch.read_gains() {
        let limited = counts.queues.iter().filter(|(name, _)| name.ends_with("/tbf"));
        queues.extend(limited.map(|(_, gains)| {
            let gain = |counter: &str| gains.get(counter).copied().unwrap_or_default();
            (gain("bytes"), gain("overlimits"))
        }));
    }
    queues
}

/// Checks that a path of 100 Mbit/s passes no more than a token bucket of that rate does, and holds back what exceeds
/// it. A sender that paces itself (BBR), or that other work slows down, may not exceed it in a single transfer.
pub(crate) fn assert_limited(topology: &mut Topology, parts: [&str; 2]) {
    eventually("a queue holds something back", || held_back(topology, parts) > 0);
}

/// Runs a transfer, checks that it stays within the bucket's bound, and returns how often a queue held a packet back.
/// The time is measured around the transfer, so that other work on the machine can only make it longer.
fn held_back(topology: &mut Topology, [at_server, at_client]: [&str; 2]) -> u64 {
    // Burst of all limited networks here, bytes: 100 Mbit/s for 4 ms, and a packet of the largest size that offloads
    // make.
    const BURST: f64 = 50_000.0 + 65_536.0;
    const BYTES_PER_SECOND: f64 = 100e6 / 8.0;
    queue_gains(topology);
    let begin = Instant::now();
    transfer(topology, at_server, at_client);
    let took = begin.elapsed().as_secs_f64();
    let (bytes, held_back) = queue_gains(topology).into_iter().max().expect("there are queues");
    assert!(bytes >= AMOUNT as u64, "all of it passed one of the queues: {bytes} bytes");
    let most = BYTES_PER_SECOND * took + BURST;
    assert!(bytes as f64 <= most, "{bytes} bytes in {took} s, and no more than {most} may pass");
    held_back
}

/// Checks that a path carries from `least` to 100 Mbit/s of payload, in one of at most five transfers.
pub(crate) fn assert_used(topology: &Topology, [at_server, at_client]: [&str; 2], least: f64) {
    let mut rates = Vec::new();
    let used = (0..5).any(|_| {
        rates.push(transfer(topology, at_server, at_client));
        rates.last().is_some_and(|rate| (least..=100.0).contains(rate))
    });
    assert!(used, "none between {least} and 100 Mbit/s: {rates:?}");
}

/// Networks limited to a rate.
const LIMITED: [&str; 3] =
    ["bridge+rate=100mbit", "veth+plain+rate=100mbit", "published+rate=100mbit"];

/// Parts of server and client, in each direction.
const DIRECTIONS: [[&str; 2]; 2] = [["swallow", "pour"], ["pour", "swallow"]];

pub(crate) fn all() -> Vec<Case> {
    let limited = |name| Case::of_network("a_rate_limits_both_directions", name, limits_both);
    let used = |name| Case::of_network("measures::a_rate_is_reached", name, is_reached_in_both);
    let hops = Case::new("a_rate_shows_among_the_hops", among_the_hops);
    LIMITED.into_iter().map(limited).chain(LIMITED.into_iter().map(used)).chain([hops]).collect()
}

fn limits_both(name: &str) {
    let mut topology = raise(&enter(), name, &Shape::default());
    DIRECTIONS.into_iter().for_each(|parts| assert_limited(&mut topology, parts));
}

fn is_reached_in_both(name: &str) {
    let topology = raise(&enter(), name, &Shape::default());
    DIRECTIONS.into_iter().for_each(|parts| assert_used(&topology, parts, 90.0));
}

fn among_the_hops() {
    let topology = raise(&enter(), "bridge+plain+rate=1gbit", &Shape::default());
    let expected = [
        "client-0:eth0/tbf Queue",
        "client-0:eth0 Veth",
        "node-0:veth-c0 Veth",
        "node-0:docker0 Bridge",
        "node-0:veth-s0/tbf Queue",
        "node-0:veth-s0 Veth",
        "server-0:eth0 Veth",
    ];
    assert_eq!(path(&topology), expected);
    let detail = topology.hops[0].detail.as_deref();
    assert_eq!(detail, Some("rate 1gbit burst 500000 limit 6750000"));
}
