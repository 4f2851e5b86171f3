//! `+rate=`: what passes a limited network, in each direction, and where its queues are.

use crate::cases::{enter, path, raise};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Instant;
use tare_network::{Command, Container, Process, Shape, Topology};

/// What is sent in a transfer, bytes: many times what the queues' bursts let through at once.
const AMOUNT: usize = 12_000_000;

/// One end of a connection: it listens, and says so, or it dials.
fn open(end: &str, address: &str) -> TcpStream {
    if end == "dial" {
        return TcpStream::connect(address).expect("the other end answers");
    }
    let listener = TcpListener::bind(address).expect("it listens");
    println!("listening");
    listener.accept().expect("the other end comes").0
}

/// Sends.
pub(crate) fn pour(end: &str, address: &str) -> ExitCode {
    open(end, address).write_all(&vec![0; AMOUNT]).expect("the other end takes it");
    ExitCode::SUCCESS
}

/// Receives, and prints at how many Mbit/s.
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

/// A program of this file in a container, and what it prints, line by line.
fn start(
    container: &dyn Container,
    words: [&str; 3],
) -> (Box<dyn Process>, impl FnMut() -> String + use<>) {
    let mut process = container.spawn(&Command::tare(words)).expect("it starts");
    let mut output = BufReader::new(process.take_output().expect("its output is piped"));
    let line = move || {
        let mut line = String::new();
        output.read_line(&mut line).expect("it prints");
        line.trim_end().to_owned()
    };
    (process, line)
}

/// A transfer between the first client and its server, each doing its part, Mbit/s.
fn transfer(topology: &Topology, at_server: &str, at_client: &str) -> f64 {
    let (server, client) = (topology.servers[0].as_ref(), topology.clients[0].as_ref());
    let route = topology.routes[0];
    let (listen, dial) = (route.listen.to_string(), route.dial.to_string());
    let (_serving, mut served) = start(server, [at_server, "listen", &listen]);
    assert_eq!(served(), "listening");
    let (_dialling, mut dialled) = start(client, [at_client, "dial", &dial]);
    let said = if at_client == "swallow" { dialled() } else { served() };
    said.parse().expect("a number")
}

/// Sees that a path carries from so many Mbit/s to 100, in one of at most five transfers: other work that takes the processors
/// makes a transfer slower than its path, or faster, where the receiver looks at its clock too late.
pub(crate) fn is_limited(topology: &Topology, [at_server, at_client]: [&str; 2], least: f64) {
    let mut rates = Vec::new();
    let limited = (0..5).any(|_| {
        let rate = transfer(topology, at_server, at_client);
        println!("  {rate:.2} Mbit/s when the client is to {at_client}");
        rates.push(rate);
        (least..=100.0).contains(&rate)
    });
    assert!(limited, "none between {least} and 100 Mbit/s: {rates:?}");
}

pub(crate) fn both_directions() {
    let lab = enter();
    for name in ["bridge+rate=100mbit", "veth+plain+rate=100mbit", "published+rate=100mbit"] {
        println!("  {name}:");
        let topology = raise(&lab, name, &Shape::default());
        for parts in [["swallow", "pour"], ["pour", "swallow"]] {
            is_limited(&topology, parts, 90.0);
        }
    }
}

pub(crate) fn among_the_hops() {
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
