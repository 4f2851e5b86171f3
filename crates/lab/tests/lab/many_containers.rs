//! Tests with many containers, more than a bridge has ports for, and of the host's neighbour entries while they exist.

use crate::cases::{enter, raise};
use crate::container_programs::{start, start_command};
use crate::harness::Case;
use std::fs;
use tare_network::{Command, Container, ProcessExit, Shape};

/// Number of containers, seven more than a bridge has ports for.
const CONTAINERS: u32 = 1_030;

/// Number of neighbour entries of another network, which the kernel may remove when its table is full.
const OTHERS: u32 = 50;

/// Returns the first line that a shell command prints in a container.
fn first_line(container: &dyn Container, line: &str) -> String {
    let command = Command {
        program: Some("/bin/sh".into()),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        ..Command::default()
    };
    start_command(container, &command).1
}

/// Returns the number of packets received over the veth pair to the second bridge.
fn trunk_packets(node: &dyn Container) -> u64 {
    let line = first_line(node, "grep trunk1: /proc/net/dev");
    line.split_whitespace().nth(2).and_then(|field| field.parse().ok()).expect("a counter")
}

/// Returns how often the machine's neighbour table was full, and how often entries were removed for lack of room.
/// Returns `None` if this process does not see the machine's own file.
fn neighbour_table_pressure() -> Option<Vec<u64>> {
    let text = fs::read_to_string("/proc/net/stat/arp_cache").ok()?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split_whitespace().collect();
    let rows: Vec<Vec<u64>> = lines
        .map(|line| {
            line.split_whitespace().filter_map(|word| u64::from_str_radix(word, 16).ok()).collect()
        })
        .collect();
    let sum = |name: &str| {
        let at = names.iter().position(|one| *one == name)?;
        Some(rows.iter().filter_map(|row| row.get(at)).sum())
    };
    ["table_fulls", "forced_gc_runs"].into_iter().map(sum).collect()
}

pub(crate) fn all() -> Vec<Case> {
    // The neighbour table is shared by the whole machine.
    vec![Case::new(
        "alone::a_thousand_containers_come_and_go_and_nobody_is_forgotten",
        a_thousand_containers_come_and_go_and_nobody_is_forgotten,
    )]
}

fn a_thousand_containers_come_and_go_and_nobody_is_forgotten() {
    let sandbox = enter();
    let others = raise(&sandbox, "veth", &Shape::default());
    let somebody = others.clients[0].as_ref();
    let learn = format!(
        "for i in $(seq {OTHERS}); do ip neigh replace 192.0.2.$i \
         lladdr 02:00:00:00:00:01 dev eth0 nud stale; done; echo done"
    );
    assert_eq!(first_line(somebody, &learn), "done");
    let before = neighbour_table_pressure();

    // Raising has tried that every client reaches the server.
    let shape = Shape { clients: CONTAINERS - 1, ..Shape::default() };
    let topology = raise(&sandbox, "bridge-plain", &shape);
    assert_eq!((topology.servers.len(), topology.clients.len()), (1, 1_029));
    let node = topology.nodes[0].as_ref();
    let passed = trunk_packets(node);
    let route = topology.routes.last().expect("a route");
    let (mut serving, line) =
        start(topology.servers[0].as_ref(), &["serve", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let last = topology.clients[route.client].as_ref();
    let (mut dialling, line) = start(last, &["dial", &route.dial.to_string()]);
    assert_eq!(line, "100000", "all bytes came back");
    assert_eq!(dialling.wait().unwrap(), ProcessExit::Code(0));
    assert_eq!(serving.wait().unwrap(), ProcessExit::Code(0));
    assert!(trunk_packets(node) > passed + 10, "they came by way of the second bridge");

    let known = first_line(somebody, "ip neigh show dev eth0 nud stale | grep -c 192.0.2.");
    assert_eq!(known, OTHERS.to_string(), "what others knew they know still");
    assert_eq!(neighbour_table_pressure(), before, "and nothing had to make room");
    drop(topology);
    let again = raise(&sandbox, "bridge-plain", &Shape { clients: 3, ..Shape::default() });
    assert_eq!(again.clients.len(), 3);
}
