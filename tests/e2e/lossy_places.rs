//! Places that are blamed for lost packets: sockets of daemons with their own buffers, and nothing beside the path. Each
//! drop is planted, and compared with the kernel's own counters.

use serde_json::Value;
use std::fs;
use support::defective_network::{SavedCounters, defective_network};
use support::journal::trials;
use support::program::Tare;
use support::relayed_network::{RELAY, RELAY_BUFFER, relay_drops, relayed_network};
use support::{ScratchDirectory, list, text};

/// Run of one block, with its result directory.
struct LossyRun {
    tare: Tare,
    document: Value,
}

impl LossyRun {
    fn with_flags(scratch: &ScratchDirectory, network: &str, flags: &[&str]) -> Self {
        let tare = Tare::in_directory(scratch.root());
        let run = ["run", "--network", network, "--blocks", "1", "--duration", "1s"];
        let how = ["--interval", "50ms", "--json", "--out", "out"];
        let document =
            tare.run_ahead_of_other_work(&[&run, flags, &how[..]].concat()).expect(0).json();
        let journal = fs::read_to_string(tare.directory().join("out/journal.jsonl"));
        crate::recompute::check(&journal.expect("a journal"), &document);
        Self { tare, document }
    }

    /// Returns the finding of this kind in a cell of a metric.
    fn finding(&self, metric: &str, kind: &str) -> &Value {
        let mut cells = list(&self.document, "cells").iter();
        let cell = cells.find(|cell| cell["metric"] == metric).expect("a cell of this metric");
        let mut findings = list(cell, "findings").iter();
        findings.find(|finding| finding["kind"] == kind).unwrap_or_else(|| panic!("{cell}"))
    }

    /// Returns the counters of a namespace in the only trial.
    fn counted(&self, place: &str) -> Value {
        let trials = trials(&self.tare.directory().join("out"));
        let [trial] = &trials[..] else { panic!("one trial: {trials:?}") };
        let mut places = list(&trial["meanwhile"]["counted"], "places").iter();
        places.find(|counts| counts["place"] == place).cloned().expect("it has counters")
    }

    fn table(&self) -> String {
        self.tare.run(&["report", "out"]).expect(0).text()
    }
}

fn packets(part: &Value) -> u64 {
    part["packets"].as_u64().expect("a count")
}

fn parts<'a>(finding: &'a Value, key: &str, cause: &str) -> Vec<&'a Value> {
    list(finding, key).iter().filter(|part| part["cause"] == cause).collect()
}

/// The daemon's buffer has 16 KiB, the workload's over a hundred times as much.
#[test]
fn a_daemons_socket_has_the_loss_and_the_size_of_its_own_buffer() {
    let scratch = ScratchDirectory::new();
    let flags = ["--workload", "udp-rate", "--rate", "2gbit", "--buffer", "1048576"];
    let run = LossyRun::with_flags(&scratch, &relayed_network(&scratch), &flags);
    let drops = relay_drops(&scratch);
    assert_eq!(drops.of_sockets, drops.of_node, "no other socket of the node drops");
    assert!(drops.of_sockets > 0, "nothing was dropped");
    let placed = run.finding("loss", "loss-placed");
    let sockets = parts(placed, "parts", "socket-buffer");
    let of_node: Vec<&&Value> = sockets.iter().filter(|part| part["place"] == "node-0").collect();
    let [relay] = of_node[..] else { panic!("one part of the node: {placed}") };
    assert_eq!((text(relay, "at"), packets(relay)), (RELAY, drops.of_sockets), "{placed}");
    let size = format!("too small: {} KiB", 2 * RELAY_BUFFER / 1024);
    assert_eq!(text(relay, "detail"), size, "{placed}");
    let line = format!("in {RELAY}'s socket buffer in node-0 ({size}");
    let table = run.table();
    assert!(table.contains(&line), "{table}");
    assert!(table.contains("udp-rate (2gbit, IPv4, MTU 1500) over "), "{table}");
}

/// A rule on the path drops three of a hundred segments of bulk. Beside the path, a queue drops whatever a program on the
/// node sends.
#[test]
fn only_drops_on_the_path_explain_retransmissions() {
    let scratch = ScratchDirectory::new();
    let flood = "import socket, time\n\
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        while True:\n one.sendto(bytes(1000), (\"10.99.0.2\", 9)); time.sleep(0.0005)\n";
    let flood = scratch.write_program("flood.py", flood);
    let network = defective_network(
        &scratch,
        &format!(
            "nft 'add table bridge lossy; \
             add chain bridge lossy forward {{ type filter hook forward priority 0; }}; \
             add rule bridge lossy forward ip length > 1000 ip protocol tcp numgen random mod 100 < 3 counter drop'; \
             ip link add off0 type veth peer name off1; ip link set off1 up; ip link set off0 up; \
             ip address add 10.99.0.1/24 dev off0; \
             ip neigh add 10.99.0.2 lladdr 02:00:00:00:00:02 dev off0; \
             tc qdisc add dev off0 root tbf rate 1mbit burst 10000 limit 5000; \
             (python3 {flood} </dev/null >/dev/null 2>&1 &)",
            flood = flood.display()
        ),
    );
    let run = LossyRun::with_flags(&scratch, &network, &["--workload", "tcp-stream"]);
    let saved = SavedCounters::read(&scratch);
    let (rule, beside) = (saved.rule("lossy", "forward"), saved.queue("off0", "tbf", "drops"));
    assert!(rule.packets > 0 && beside > 0, "{rule:?}, {beside} beside the path");
    let counted = run.counted("node-0");
    let queue = counted["queues"]["off0/tbf"]["drops"].as_u64();
    assert!(queue.is_some_and(|drops| drops > 0), "the journal has them: {counted}");
    let again = run.finding("throughput", "retransmitted");
    let [by_rule] = parts(again, "drops", "rule")[..] else { panic!("the rule drops: {again}") };
    assert_eq!((text(by_rule, "at"), packets(by_rule)), (rule.name.as_str(), rule.packets));
    let named: Vec<&str> = list(again, "drops").iter().map(|part| text(part, "at")).collect();
    assert!(named.iter().all(|at| !at.starts_with("off")), "{again}");
    assert!(run.table().contains("tcp-stream (IPv4, MTU 1500) over "), "{}", run.table());
}

/// The stand-in, as any daemon with a packet socket, receives all frames; the kernel drops its own copies of them.
#[test]
fn copies_for_a_packet_socket_are_no_loss() {
    let scratch = ScratchDirectory::new();
    let flags = ["--nodes", "2", "--workload", "udp-rate", "--rate", "10gbit"];
    let run = LossyRun::with_flags(&scratch, "weave-sleeve", &flags);
    let placed = run.finding("loss", "loss-placed");
    assert!(!placed.to_string().contains("OTHERHOST"), "{placed}");
    assert!(parts(placed, "parts", "kernel").is_empty(), "{placed}");
    let mut told = list(&run.document, "cells").iter().flat_map(|cell| list(cell, "findings"));
    let stand_in = told.find(|finding| finding["kind"] == "program-stand-in");
    let (path, table) = (run.document["cells"][0]["hops"].to_string(), run.table());
    // A kernel with dummy devices and iptables' modules runs the real router where it is installed.
    let Some(stand_in) = stand_in else { return assert!(!path.contains("stand-in"), "{path}") };
    assert!(path.contains("tare-sleeve, tare's stand-in for weaver"), "{path}");
    assert_eq!((text(stand_in, "used"), text(stand_in, "original")), ("tare-sleeve", "weaver"));
    assert!(table.contains("weave-sleeve (by tare-sleeve)"), "{table}");
    let device = "tare-sleeve/vethwe-pcap";
    let sockets = parts(placed, "parts", "socket-buffer");
    let part = sockets.iter().find(|part| text(part, "place") == "node-0");
    let part = part.unwrap_or_else(|| panic!("the stand-in's socket drops: {placed}"));
    assert_eq!(text(part, "at"), device, "{placed}");
    let socket = &run.counted("node-0")["sockets"]["tare-sleeve packet vethwe-pcap"];
    assert_eq!(socket["drops"], part["packets"], "{socket}");
    // Every datagram is placed: a packet socket's drops have no other counter, and no reason. It also drops frames that
    // are no datagrams, such as segments of the agents' connection: at most those that the device received besides.
    let received = run.counted("node-0")["devices"]["vethwe-pcap"]["rx_packets"].as_i64();
    let others = received.zip(placed["of"].as_i64()).map(|(frames, datagrams)| frames - datagrams);
    let more = placed["unplaced"].as_i64().map(|unplaced| -unplaced);
    assert!(more >= Some(0) && more <= others, "{others:?} other frames: {placed}");
}
