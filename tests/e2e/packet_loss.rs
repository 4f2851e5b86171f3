//! Loss attribution: drops at known hops of a network wired by a script, compared with the kernel's own counters.

use rustix::thread::CapabilitySet;
use serde_json::Value;
use std::fs;
use std::path::Path;
use support::ScratchDirectory;
use support::defective_network::{SavedCounters, defective_network};
use support::program::{Tare, User, is_root};
use support::{list, text};

/// Length of a UDP datagram of `udp-rate` with its header, bytes. No other packet of the two ends has this length.
const DATAGRAM: u64 = 1232 + 8;

/// Returns the finding about the loss of one trial of `udp-rate`. All figures of the run are recomputed from its
/// journal.
fn lost(network: &str, scratch: &ScratchDirectory, flags: &[&str]) -> Value {
    lost_by(&Tare::in_directory(scratch.root()), network, flags)
}

fn lost_by(tare: &Tare, network: &str, flags: &[&str]) -> Value {
    let always = ["run", "--network", network, "--workload", "udp-rate", "--blocks", "1"];
    let how = ["--duration", "1s", "--interval", "50ms", "--json", "--out", "out"];
    let document = tare.run(&[&always, &how, flags].concat()).expect(0).json();
    crate::recompute::check(&journal(tare), &document);
    let cells = list(&document, "cells");
    let cell = cells.iter().find(|cell| cell["metric"] == "loss").expect("a cell for loss");
    let findings = list(cell, "findings");
    let placed = findings.iter().find(|finding| finding["kind"] == "loss-placed");
    let placed = placed.expect("the loss is placed").clone();
    assert_sum_of_parts(&placed);
    placed
}

fn journal(tare: &Tare) -> String {
    fs::read_to_string(tare.directory().join("out/journal.jsonl")).expect("a journal")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("`{key}` is a count in {value}"))
}

/// Fails unless the parts and the unplaced rest add up to the whole loss.
fn assert_sum_of_parts(placed: &Value) {
    let parts = list(placed, "parts").iter().map(|part| number(part, "packets")).sum::<u64>();
    let unplaced = placed["unplaced"].as_i64().expect("a number");
    let lost = i64::try_from(number(placed, "lost")).expect("a small number");
    assert_eq!(i64::try_from(parts).expect("a small number") + unplaced, lost, "{placed}");
}

/// Returns the part of the loss with this place and cause.
fn part<'a>(placed: &'a Value, place: &str, cause: &str) -> &'a Value {
    let is = |part: &&Value| text(part, "place") == place && text(part, "cause") == cause;
    let mut parts = list(placed, "parts").iter().filter(is);
    let part = parts.next().unwrap_or_else(|| panic!("{place} has a part in {placed}"));
    assert_eq!(parts.next(), None, "one part: {placed}");
    part
}

/// Fails unless this place and cause have a loss of `packets`. In addition, only the receiver's socket and a core's
/// backlog may have dropped packets, on a machine that schedules the receiver or the software interrupts too seldom.
fn assert_lost_at(placed: &Value, place: &str, cause: &str, packets: u64) {
    assert!(packets > 0, "nothing was dropped: {placed}");
    assert_eq!(number(part(placed, place, cause), "packets"), packets, "{placed}");
    assert_eq!(placed["unplaced"], 0, "{placed}");
    let others = list(placed, "parts").iter().filter(|part| text(part, "cause") != cause);
    for other in others {
        assert!(["socket-buffer", "backlog"].contains(&text(other, "cause")), "{placed}");
    }
}

/// Returns true if this process can learn the kernel's drop reasons: the kernel has type information, and allows
/// loading programs.
fn kernel_gives_reasons() -> bool {
    let mine = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let may = mine.is_ok_and(|mine| mine.contains(CapabilitySet::BPF | CapabilitySet::PERFMON));
    is_root() && may && Path::new("/sys/kernel/btf/vmlinux").exists()
}

/// Fails unless every packet of the part has this reason if the kernel gives reasons, and none has a reason otherwise.
fn assert_reason(placed: &Value, place: &str, cause: &str, reason: &str) {
    let part = part(placed, place, cause);
    if kernel_gives_reasons() {
        assert_eq!(part["reasons"][reason], part["packets"], "{placed}");
    } else {
        assert_eq!(part.get("reasons"), None, "{placed}");
    }
}

#[test]
fn a_rule_that_drops_at_random_has_the_loss() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(
        &scratch,
        &format!(
            "nft 'add table bridge lossy; \
             add chain bridge lossy forward {{ type filter hook forward priority 0; }}; \
             add rule bridge lossy forward udp length {DATAGRAM} numgen random mod 100 < 3 counter drop'"
        ),
    );
    let placed = lost(&network, &scratch, &["--rate", "200mbit"]);
    let rule = SavedCounters::read(&scratch).rule("lossy", "forward");
    assert_lost_at(&placed, "node-0", "rule", rule.packets);
    assert_eq!(text(part(&placed, "node-0", "rule"), "at"), rule.name, "{placed}");
    assert_reason(&placed, "node-0", "rule", "NETFILTER_DROP");
}

/// One rule marks 3 % of the datagrams and counts them, another drops them and counts nothing.
#[test]
fn a_rule_that_counts_nothing_is_known_to_the_kernel() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(
        &scratch,
        &format!(
            "nft 'add table bridge lossy; \
             add chain bridge lossy choose {{ type filter hook prerouting priority 0; }}; \
             add rule bridge lossy choose udp length {DATAGRAM} numgen random mod 100 < 3 meta mark set 1 counter; \
             add chain bridge lossy forward {{ type filter hook forward priority 0; }}; \
             add rule bridge lossy forward meta mark 1 drop'"
        ),
    );
    let placed = lost(&network, &scratch, &["--rate", "200mbit"]);
    let marked = SavedCounters::read(&scratch).rule("lossy", "choose").packets;
    if kernel_gives_reasons() {
        assert_lost_at(&placed, "node-0", "kernel", marked);
        assert_eq!(text(part(&placed, "node-0", "kernel"), "at"), "port1", "{placed}");
        assert_reason(&placed, "node-0", "kernel", "NETFILTER_DROP");
    } else {
        assert!(marked > 0, "nothing was dropped: {placed}");
        assert_eq!(number(&placed, "unplaced"), marked, "{placed}");
    }
}

#[test]
fn a_queue_that_overflows_has_the_loss() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(
        &scratch,
        "tc qdisc add dev port1 root tbf rate 10mbit burst 10000 limit 20000",
    );
    let placed = lost(&network, &scratch, &["--rate", "40mbit"]);
    let counters = SavedCounters::read(&scratch);
    assert_lost_at(&placed, "node-0", "queue", counters.queue("port1", "tbf", "drops"));
    assert_eq!(text(part(&placed, "node-0", "queue"), "at"), "port1/tbf", "{placed}");
    assert_reason(&placed, "node-0", "queue", "QDISC_DROP");
    // Received packets have passed the queue, and a few others: those of the set-up.
    let received = number(&placed, "of") - number(&placed, "lost");
    let passed = counters.queue("port1", "tbf", "packets");
    assert!((received..received + 100).contains(&passed), "{passed}: {placed}");
}

/// Flags of a sender that no receiver can follow: it sends as fast as possible into a buffer of a few datagrams, on the
/// receiver's only core.
const FLOOD: [&str; 6] = ["--rate", "10gbit", "--buffer", "4096", "--cpus", "same"];

#[test]
fn a_socket_buffer_that_is_too_small_has_the_loss() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(&scratch, "true");
    let placed = lost(&network, &scratch, &FLOOD);
    let full = SavedCounters::read(&scratch).protocol("server-0", "Udp", "RcvbufErrors");
    assert_lost_at(&placed, "server-0", "socket-buffer", full);
    let part = part(&placed, "server-0", "socket-buffer");
    assert!(text(part, "detail").starts_with("too small: "), "{placed}");
    assert_reason(&placed, "server-0", "socket-buffer", "SOCKET_RCVBUFF");
}

/// Returns commands for a node that routes instead of bridging, with a route to the server of MTU 1,000 for 3 % of the
/// datagrams. No ICMP error reaches the sender, as behind a firewall that drops ICMP, so that it continues.
fn route_with_small_mtu() -> String {
    format!(
        "ip link set port1 nomaster; \
         ip address add 10.77.0.102/32 dev example0; ip address add 10.77.0.101/32 dev port1; \
         ip route add 10.77.0.1 dev port1; ip route add 10.77.0.2 dev example0; \
         ip route add 10.77.0.1 dev port1 mtu lock 1000 table 100; ip rule add fwmark 1 lookup 100; \
         echo 1 > /proc/sys/net/ipv4/ip_forward; \
         for device in port1 example0; do \
           echo 1 > /proc/sys/net/ipv4/conf/$device/proxy_arp; \
           echo 0 > /proc/sys/net/ipv4/neigh/$device/proxy_delay; \
         done; \
         nft 'add table ip smaller; \
         add chain ip smaller choose {{ type filter hook prerouting priority -150; }}; \
         add rule ip smaller choose iifname example0 udp length {DATAGRAM} \
             numgen random mod 100 < 3 meta mark set 1 counter; \
         add chain ip smaller silent {{ type filter hook output priority 0; }}; \
         add rule ip smaller silent icmp type destination-unreachable drop'"
    )
}

#[test]
fn what_does_not_fit_is_lost_where_it_is_refused() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(&scratch, &route_with_small_mtu());
    let placed = lost(&network, &scratch, &["--rate", "200mbit"]);
    let counters = SavedCounters::read(&scratch);
    let marked = counters.rule("smaller", "choose").packets;
    assert_eq!(counters.protocol("node-0", "Ip", "FragFails"), marked);
    assert_lost_at(&placed, "node-0", "too-large", marked);
    assert_reason(&placed, "node-0", "too-large", "PKT_TOO_BIG");
}

/// Returns the packets that the server's sockets dropped in the only trial of a journal.
fn dropped_by_sockets(journal: &str) -> u64 {
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut trials = records.filter(|record| record["record"] == "trial");
    let trial = trials.next().expect("a trial");
    let places = list(&trial["meanwhile"]["counted"], "places").iter();
    places.filter_map(|place| place["protocols"]["Udp.RcvbufErrors"].as_u64()).sum()
}

#[test]
fn an_ordinary_user_is_told_no_reasons_and_misses_no_place() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let placed = lost_by(&tare, "bridge", &FLOOD);
    let journal = journal(&tare);
    assert_lost_at(&placed, "server-0", "socket-buffer", dropped_by_sockets(&journal));
    assert!(!journal.contains("\"reasons\""), "{placed}");
    let doctor = tare.run(&["doctor", "--json", "--settings"]).expect(0).json();
    let checks = list(&doctor, "checks");
    let told = checks.iter().find(|check| check["name"] == "drop reasons").expect("a check");
    assert_eq!(told["state"], "ok");
    assert!(text(told, "detail").ends_with("to get drop reasons, run tare as root"), "{told}");
}
