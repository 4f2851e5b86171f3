//! Where packets are lost: known drops at known hops of a network that a script wires, and what a run says of them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use rustix::thread::CapabilitySet;
use serde_json::Value;
use std::fs;
use std::path::Path;
use support::program::{Tare, User, is_root};
use support::scratch::Scratch;
use support::worse::worse;
use support::{list, text};

/// What one trial of `udp-rate` over a network says of its loss: the document's finding, and the figure itself.
fn lost(network: &str, scratch: &Scratch, flags: &[&str]) -> (Value, f64) {
    lost_by(&Tare::in_directory(scratch.root()), network, flags)
}

fn lost_by(tare: &Tare, network: &str, flags: &[&str]) -> (Value, f64) {
    let always = ["run", "--network", network, "--workload", "udp-rate", "--blocks", "1"];
    let how = ["--duration", "1s", "--interval", "50ms", "--json", "--out", "out"];
    let document = tare.run(&[&always, &how, flags].concat()).expect(0).json();
    let cells = list(&document, "cells");
    let cell = cells.iter().find(|cell| cell["metric"] == "loss").expect("a cell for loss");
    let findings = list(cell, "findings");
    let placed = findings.iter().find(|finding| finding["kind"] == "loss-placed");
    (placed.expect("the loss is placed").clone(), cell["mean"].as_f64().expect("a figure"))
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("`{key}` is a number in {value}"))
}

/// The parts and the rest are the whole; returned is the share of all datagrams that this place and cause have.
fn share(placed: &Value, place: &str, cause: &str) -> f64 {
    let parts = list(placed, "parts");
    let sum: i64 = parts.iter().map(|part| number(part, "packets")).sum();
    assert_eq!(sum + number(placed, "unplaced"), number(placed, "lost"), "{placed}");
    let mine =
        parts.iter().filter(|part| text(part, "place") == place && text(part, "cause") == cause);
    mine.map(|part| number(part, "packets")).sum::<i64>() as f64 / number(placed, "of") as f64
}

/// Whether the kernel tells this process why it drops packets: it describes itself, and lets it load programs.
fn kernel_tells() -> bool {
    let mine = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let may = mine.is_ok_and(|mine| mine.contains(CapabilitySet::BPF | CapabilitySet::PERFMON));
    is_root() && may && Path::new("/sys/kernel/btf/vmlinux").exists()
}

/// Where the kernel tells, nearly all that this cause has at the place was dropped for this reason, and else nothing is said.
fn is_told(placed: &Value, place: &str, cause: &str, reason: &str) {
    let parts = list(placed, "parts");
    let mut mine =
        parts.iter().filter(|part| text(part, "place") == place && text(part, "cause") == cause);
    let part = mine.next().unwrap_or_else(|| panic!("{place} has a part in {placed}"));
    if kernel_tells() {
        let packets = number(&part["reasons"], reason) as f64;
        assert!(packets > 0.95 * number(part, "packets") as f64, "{placed}");
    } else {
        assert_eq!(part.get("reasons"), None, "{placed}");
    }
}

/// All but a few are placed: what both ends say to one another beside the datagrams is dropped with them.
fn is_placed_whole(placed: &Value) {
    let rest = number(placed, "unplaced").abs() as f64 / number(placed, "of") as f64;
    assert!(rest < 0.005, "{placed}");
}

#[test]
fn a_rule_that_drops_at_random_has_the_loss() {
    let scratch = Scratch::new();
    let network = worse(
        &scratch,
        "nft 'add table bridge lossy; \
         add chain bridge lossy forward { type filter hook forward priority 0; }; \
         add rule bridge lossy forward meta l4proto udp numgen random mod 100 < 3 counter drop'",
    );
    let (placed, loss) = lost(&network, &scratch, &["--rate", "200mbit"]);
    let by_rule = share(&placed, "node-0", "rule");
    // Of some 20,000 datagrams; five standard deviations of a share of 3 % are 0.6 points.
    assert!((by_rule - 0.03).abs() < 0.006, "{placed}");
    assert!((loss / 100.0 - 0.03).abs() < 0.01, "{loss}: {placed}");
    assert!(text(&list(&placed, "parts")[0], "at").starts_with("lossy/forward#"), "{placed}");
    is_placed_whole(&placed);
    is_told(&placed, "node-0", "rule", "NETFILTER_DROP");
}

#[test]
fn a_rule_that_counts_nothing_is_known_to_the_kernel() {
    let scratch = Scratch::new();
    let network = worse(
        &scratch,
        "nft 'add table bridge lossy; \
         add chain bridge lossy forward { type filter hook forward priority 0; }; \
         add rule bridge lossy forward meta l4proto udp numgen random mod 100 < 3 drop'",
    );
    let (placed, _) = lost(&network, &scratch, &["--rate", "200mbit"]);
    if !kernel_tells() {
        let rest = number(&placed, "unplaced") as f64 / number(&placed, "of") as f64;
        assert!((rest - 0.03).abs() < 0.01, "{placed}");
        return;
    }
    let told = share(&placed, "node-0", "kernel");
    assert!((told - 0.03).abs() < 0.006, "{placed}");
    assert_eq!(text(&list(&placed, "parts")[0], "at"), "port1", "{placed}");
    is_told(&placed, "node-0", "kernel", "NETFILTER_DROP");
    is_placed_whole(&placed);
}

#[test]
fn a_queue_that_overflows_has_the_loss() {
    let scratch = Scratch::new();
    let network =
        worse(&scratch, "tc qdisc add dev port1 root tbf rate 20mbit burst 10000 limit 20000");
    let (placed, loss) = lost(&network, &scratch, &["--rate", "40mbit"]);
    let by_queue = share(&placed, "node-0", "queue");
    // Less than half gets through: a frame has headers, too.
    assert!(by_queue > 0.4 && by_queue < 0.6, "{placed}");
    assert!((loss / 100.0 - by_queue).abs() < 0.1, "{loss}: {placed}");
    assert_eq!(text(&list(&placed, "parts")[0], "at"), "port1/tbf");
    is_placed_whole(&placed);
    is_told(&placed, "node-0", "queue", "QDISC_DROP");
}

#[test]
fn a_socket_buffer_that_is_too_small_has_the_loss() {
    let scratch = Scratch::new();
    let network = worse(&scratch, "true");
    // A receiver that is late by the time of a few datagrams finds its buffer full, and a thousand times it is.
    let (placed, _) = lost(&network, &scratch, &["--rate", "800mbit", "--buffer", "4096"]);
    let in_socket = share(&placed, "server-0", "socket-buffer");
    let all = number(&placed, "lost") as f64 / number(&placed, "of") as f64;
    assert!(in_socket > 0.0 && in_socket > 0.95 * all, "{placed}");
    let part = &list(&placed, "parts")[0];
    assert!(text(part, "detail").starts_with("too small: "), "{placed}");
    is_told(&placed, "server-0", "socket-buffer", "SOCKET_RCVBUFF");
}

/// A node that routes, instead of bridging, and has a way to the server that takes 1,000 bytes for 3 % of the datagrams.
/// Nobody tells their sender, as where a firewall drops ICMP, so that it goes on.
const SMALLER_WAY: &str = "ip link set port1 nomaster; \
     ip address add 10.77.0.102/32 dev example0; ip address add 10.77.0.101/32 dev port1; \
     ip route add 10.77.0.1 dev port1; ip route add 10.77.0.2 dev example0; \
     ip route add 10.77.0.1 dev port1 mtu lock 1000 table 100; ip rule add fwmark 1 lookup 100; \
     echo 1 > /proc/sys/net/ipv4/ip_forward; \
     for device in port1 example0; do \
       echo 1 > /proc/sys/net/ipv4/conf/$device/proxy_arp; \
       echo 0 > /proc/sys/net/ipv4/neigh/$device/proxy_delay; \
     done; \
     nft 'add table ip smaller; \
     add chain ip smaller choose { type filter hook prerouting priority -150; }; \
     add rule ip smaller choose iifname example0 meta l4proto udp numgen random mod 100 < 3 meta mark set 1; \
     add chain ip smaller silent { type filter hook output priority 0; }; \
     add rule ip smaller silent icmp type destination-unreachable drop'";

#[test]
fn what_does_not_fit_is_lost_where_it_is_refused() {
    let scratch = Scratch::new();
    let network = worse(&scratch, SMALLER_WAY);
    let (placed, loss) = lost(&network, &scratch, &["--rate", "200mbit"]);
    let refused = share(&placed, "node-0", "too-large");
    assert!((refused - 0.03).abs() < 0.006, "{placed}");
    assert!((loss / 100.0 - 0.03).abs() < 0.01, "{loss}: {placed}");
    is_placed_whole(&placed);
    is_told(&placed, "node-0", "too-large", "PKT_TOO_BIG");
}

#[test]
fn an_ordinary_user_is_told_no_reasons_and_misses_no_place() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let (placed, _) = lost_by(&tare, "bridge", &["--rate", "800mbit", "--buffer", "4096"]);
    assert!(share(&placed, "server-0", "socket-buffer") > 0.0, "{placed}");
    let journal =
        fs::read_to_string(tare.directory().join("out/journal.jsonl")).expect("a journal");
    assert!(journal.contains("RcvbufErrors") && !journal.contains("\"reasons\""), "{placed}");
    let doctor = tare.run(&["doctor", "--json"]).expect(0).json();
    let checks = list(&doctor, "checks");
    let told = checks.iter().find(|check| check["name"] == "drop reasons").expect("a check");
    assert_eq!(told["state"], "ok");
    assert!(text(told, "detail").ends_with("run tare as root to be told"), "{told}");
}
