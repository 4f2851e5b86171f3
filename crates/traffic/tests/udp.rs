//! Datagrams from end to end, with real agents: what is known to happen on the way must be what is measured.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::namespaces::Pair;
use common::{job, loopback, topology};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use tare_record::{Datagrams, Finding, Nanos};
use tare_traffic::{Job, Outcome, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

/// One trial over a topology.
fn trial(topology: &tare_network::Topology, duration: u64, asked: &[(&str, Value)]) -> Outcome {
    flows(topology, duration, 1, asked)
}

fn flows(
    topology: &tare_network::Topology,
    duration: u64,
    flows: u32,
    asked: &[(&str, Value)],
) -> Outcome {
    let mut session = Session::open(topology).unwrap();
    let mut job = Job { duration: Nanos(duration), ..job("udp-rate", topology, asked) };
    job.shape.flows = flows;
    session.trial(&job, NEVER).unwrap()
}

/// All intervals added up.
fn sum(outcome: &Outcome) -> Datagrams {
    let all = outcome.series.iter().flat_map(|series| &series.intervals);
    all.filter_map(|interval| interval.datagrams).fold(Datagrams::default(), |sum, one| Datagrams {
        sent: sum.sent + one.sent,
        sent_bytes: sum.sent_bytes + one.sent_bytes,
        received: sum.received + one.received,
        duplicates: sum.duplicates + one.duplicates,
        reordered: sum.reordered + one.reordered,
        jitter: sum.jitter.max(one.jitter),
    })
}

const MS: u64 = 1_000_000;

#[test]
fn every_datagram_is_counted_by_both_ends_in_every_mode() {
    let modes: [&[(&str, Value)]; 6] = [
        &[],
        &[("wait", json!("spin"))],
        &[("receive", json!("drop"))],
        &[("gso", json!(true)), ("rate", json!("40kpps"))],
        &[("gso", json!(true)), ("receive", json!("drop")), ("rate", json!("40kpps"))],
        &[("size", json!(24)), ("rate", json!("1kpps"))],
    ];
    for mode in modes {
        let topology = loopback(1, 1);
        for count in [1, 3] {
            let outcome = flows(&topology, 200 * MS, count, mode);
            let sum = sum(&outcome);
            assert!(sum.sent > 0, "{mode:?}");
            assert_eq!(sum.sent, sum.received, "{mode:?}, {count} flows: {:?}", outcome.findings);
            assert_eq!((sum.duplicates, sum.reordered), (0, 0), "{mode:?}");
            assert_eq!(outcome.ends.datagrams_sent, outcome.ends.datagrams_received);
            assert_eq!(outcome.series[0].intervals.len(), 10);
            let bytes: u64 = outcome.series[0].intervals.iter().map(|one| one.bytes).sum();
            assert_eq!(bytes, sum.sent_bytes, "{mode:?}");
            let size = outcome.parameters["size"].as_u64().unwrap();
            assert_eq!(bytes, sum.sent * size);
            assert!(outcome.epoch.is_some() && outcome.agents.clients.len() == 10);
        }
    }
}

#[test]
fn what_is_offered_is_what_was_asked_for() {
    let topology = loopback(1, 1);
    for (rate, count, expected) in [("5kpps", 1, 1000), ("5kpps", 4, 1000), ("37pps", 1, 8)] {
        let outcome = flows(&topology, 200 * MS, count, &[("rate", json!(rate))]);
        let sent = outcome.ends.datagrams_sent;
        // A machine that is busy may take the sender away; what it then could not send must be said.
        let slow = outcome.findings.iter().any(|one| matches!(one, Finding::SenderTooSlow { .. }));
        assert!(sent <= expected && (slow || sent * 100 >= (expected - 1) * 99), "{rate}: {sent}");
    }
    let outcome = trial(&topology, 200 * MS, &[("rate", json!("10000gbit"))]);
    let slow = outcome.findings.iter().any(|one| matches!(one, Finding::SenderTooSlow { .. }));
    assert!(slow, "{:?}", outcome.findings);
}

#[test]
fn clients_and_processes_are_told_apart_and_added_up() {
    let topology = loopback(1, 3);
    let mut session = Session::with_processes(&topology, 2).unwrap();
    let mut job = job("udp-rate", &topology, &[("rate", json!("2kpps"))]);
    job.shape.flows = 5;
    job.shape.processes = 2;
    let outcome = session.trial(&job, NEVER).unwrap();
    let clients: Vec<u32> = outcome.series.iter().map(|series| series.client).collect();
    assert_eq!(clients, [0, 1, 2]);
    let sum = sum(&outcome);
    assert_eq!(
        (sum.sent, sum.received),
        (outcome.ends.datagrams_sent, outcome.ends.datagrams_sent)
    );
    for threads in [1, 4] {
        job.parameters.insert("threads".to_owned(), json!(threads));
        let outcome = session.trial(&job, NEVER).unwrap();
        assert_eq!(outcome.ends.datagrams_sent, outcome.ends.datagrams_received);
    }
}

#[test]
fn loss_at_random_is_measured_within_its_binomial_interval() {
    let Some(pair) = Pair::new() else { return };
    pair.in_server("nft add table ip t");
    pair.in_server("nft add chain ip t c { type filter hook prerouting priority 0 ; }");
    pair.in_server("nft add rule ip t c meta l4proto udp numgen random mod 100 < 3 counter drop");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    for count in [1, 4] {
        let outcome = flows(&topology, 1000 * MS, count, &[("rate", json!("10kpps"))]);
        let sum = sum(&outcome);
        let (sent, lost) = (sum.sent as f64, (sum.sent - sum.received) as f64);
        // 99.9 % of trials lie within 3.29 standard deviations.
        let margin = 3.29 * (sent * 0.03 * 0.97).sqrt();
        assert!(sent > 3000.0 && (lost - sent * 0.03).abs() < margin, "{lost} of {sent}");
        assert!(sum.duplicates == 0 && sum.reordered == 0);
        let dropped = |one: &Finding| matches!(one, Finding::DroppedAtSocket { .. });
        assert!(!outcome.findings.iter().any(dropped), "{:?}", outcome.findings);
    }
}

#[test]
fn a_path_of_100_mbit_per_second_loses_what_does_not_fit() {
    let Some(pair) = Pair::new() else { return };
    pair.in_client("tc qdisc add dev eth0 root tbf rate 100mbit burst 32kb latency 50ms");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let size = 1000;
    let asked = [("rate", json!("200mbit")), ("size", json!(size))];
    let outcome = trial(&topology, 3500 * MS, &asked);
    let later = outcome.series[0].intervals.iter().filter(|one| one.start.0 >= 500 * MS);
    let datagrams = later.filter_map(|one| one.datagrams);
    let (sent, received) =
        datagrams.fold((0, 0), |(sent, received), one| (sent + one.sent, received + one.received));
    // Ethernet, IPv4 and UDP headers count for the shaper too.
    let carried = 100e6 / 8.0 / (size as f64 + 42.0) * 3.0;
    assert!((received as f64 / carried - 1.0).abs() < 0.03, "{received} of {carried}");
    // On a busy machine less is offered than was asked for; what was offered is what is lost from.
    let (lost, expected) = (1.0 - received as f64 / sent as f64, 1.0 - carried / sent as f64);
    assert!(sent as f64 > 1.2 * carried, "{sent} sent");
    assert!((lost - expected).abs() < 0.03, "{lost}, not {expected}");
    // The shaper says itself how many it dropped.
    let shaper = pair.read_in_client("tc -s qdisc show dev eth0");
    let dropped = shaper.split("(dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let all = sum(&outcome);
    assert_eq!(dropped.parse(), Ok(all.sent - all.received), "{shaper}");
}

/// A forwarder between a client and a server that repeats and swaps datagrams, and says how often it did.
struct Forwarder {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    datagrams: JoinHandle<Datagrams>,
}

impl Forwarder {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let inside = UdpSocket::bind(address).unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Write);
                    });
                }
            }
        });
        let over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&over);
        let datagrams = thread::spawn(move || forward(&inside, server, &watched));
        Self { address, over, datagrams }
    }

    /// What it did to the datagrams.
    fn finish(self) -> Datagrams {
        self.over.store(true, Ordering::Release);
        self.datagrams.join().unwrap()
    }
}

/// Forwards until it is over: each 10th datagram twice, each 7th after the one that follows it.
fn forward(inside: &UdpSocket, server: SocketAddr, over: &AtomicBool) -> Datagrams {
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    outside.connect(server).unwrap();
    inside.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
    let mut done = Datagrams::default();
    let mut held: Option<Vec<u8>> = None;
    let mut bytes = [0; 2000];
    while !over.load(Ordering::Acquire) {
        let Ok(length) = inside.recv(&mut bytes) else {
            // Nothing follows: then it is not late.
            if let Some(late) = held.take() {
                outside.send(&late).unwrap();
            }
            continue;
        };
        let datagram = &bytes[..length];
        let announces = datagram[8..16] == [0xff; 8];
        if !announces {
            done.sent += 1;
        }
        if !announces && held.is_none() && done.sent % 7 == 0 {
            held = Some(datagram.to_vec());
            continue;
        }
        outside.send(datagram).unwrap();
        if let Some(late) = held.take() {
            outside.send(&late).unwrap();
            done.reordered += 1;
        }
        if !announces && done.sent % 10 == 0 {
            outside.send(datagram).unwrap();
            done.duplicates += 1;
        }
    }
    done
}

#[test]
fn repeated_and_late_datagrams_are_counted_exactly() {
    let mut topology = loopback(1, 1);
    let forwarder = Forwarder::to(topology.routes[0].listen);
    topology.routes[0].dial = forwarder.address;
    let outcome = trial(&topology, 500 * MS, &[("rate", json!("2kpps"))]);
    let (sum, done) = (sum(&outcome), forwarder.finish());
    assert!(done.duplicates > 10 && done.reordered > 10);
    assert_eq!((sum.sent, sum.received), (done.sent, done.sent));
    assert_eq!((sum.duplicates, sum.reordered), (done.duplicates, done.reordered));
    assert_eq!(outcome.ends.datagrams_received, done.sent + done.duplicates);
}

#[test]
fn where_udp_does_not_pass_it_is_said() {
    let Some(pair) = Pair::new() else { return };
    pair.in_server("nft add table ip t");
    pair.in_server("nft add chain ip t c { type filter hook prerouting priority 0 ; }");
    pair.in_server("nft add rule ip t c meta l4proto udp drop");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let error = session.trial(&job("udp-rate", &topology, &[]), NEVER).unwrap_err().to_string();
    assert!(error.contains("announce flows to 10.99.0.2:7001: no datagram came there"), "{error}");
}

/// Numbers of a protocol in /proc/net/snmp or snmp6, by name.
fn counter(text: &str, name: &str) -> u64 {
    let mut udp = text.lines().filter(|line| line.starts_with("Udp: "));
    let (names, values) = (udp.next().unwrap(), udp.next().unwrap());
    let place = names.split(' ').position(|one| one == name).unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}

#[test]
fn the_kernel_counts_the_same() {
    let Some(pair) = Pair::new() else { return };
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let asked = [("rate", json!("10kpps")), ("size", json!(1000))];
    let outcome = trial(&topology, 1000 * MS, &asked);
    let close = |one: u64, other: u64| (one as f64 / other as f64 - 1.0).abs() < 0.01;
    let sent = outcome.ends.datagrams_sent;
    assert!(sent > 3000);
    let client = pair.read_in_client("cat /proc/net/snmp");
    let server = pair.read_in_server("cat /proc/net/snmp");
    assert!(close(counter(&client, "OutDatagrams"), sent));
    assert!(close(counter(&server, "InDatagrams"), outcome.ends.datagrams_received));
    let device = pair.read_in_server("cat /proc/net/dev");
    let eth0 = device.lines().find_map(|line| line.trim().strip_prefix("eth0:")).unwrap();
    let numbers: Vec<u64> = eth0.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!(close(numbers[1], sent), "{numbers:?}");
    assert!(close(numbers[0], sent * 1042), "{numbers:?}");
}

#[test]
fn a_tiny_buffer_and_a_stalled_receiver_lose_datagrams_at_the_socket() {
    let Some(pair) = Pair::new() else { return };
    let server = pair.server();
    let started = Arc::clone(&server.started);
    let topology = topology(vec![server], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let asked = [("rate", json!("20kpps")), ("buffer", json!(4096))];
    let job = Job { duration: Nanos(800 * MS), ..job("udp-rate", &topology, &asked) };
    let pid = rustix::process::Pid::from_raw(started.lock().unwrap()[0] as i32).unwrap();
    let send = |signal| rustix::process::kill_process(pid, signal).unwrap();
    let polls = AtomicU32::new(0);
    let outcome = session.trial(&job, &|| {
        match polls.fetch_add(1, Ordering::Relaxed) {
            15 => send(rustix::process::Signal::STOP),
            25 => send(rustix::process::Signal::CONT),
            _ => {}
        }
        false
    });
    let outcome = outcome.unwrap();
    let sum = sum(&outcome);
    let dropped = outcome.findings.iter().find_map(|finding| match finding {
        Finding::DroppedAtSocket { dropped, of } => Some((*dropped, *of)),
        _ => None,
    });
    assert_eq!(dropped, Some((sum.sent - sum.received, sum.sent)), "{:?}", outcome.findings);
    assert!(sum.sent - sum.received > 100);
}

#[test]
fn datagrams_over_ipv6_are_counted_alike() {
    let Some(pair) = Pair::new() else { return };
    pair.in_client("ip -6 address add fd99::1/64 dev eth0 nodad");
    pair.in_server("ip -6 address add fd99::2/64 dev eth0 nodad");
    let (mut server, mut client) = (pair.server(), pair.client());
    server.address = "fd99::2".parse().unwrap();
    client.address = "fd99::1".parse().unwrap();
    let topology = topology(vec![server], vec![client], |_| 7001);
    for asked in [&[][..], &[("gso", json!(true)), ("rate", json!("50kpps"))]] {
        let outcome = trial(&topology, 200 * MS, asked);
        let sum = sum(&outcome);
        assert!(sum.sent > 0 && sum.sent == sum.received, "{sum:?} {:?}", outcome.findings);
    }
}

/// One search over a topology.
fn search(topology: &tare_network::Topology, duration: u64, asked: &[(&str, Value)]) -> Outcome {
    let mut session = Session::open(topology).unwrap();
    let job = Job { duration: Nanos(duration), ..job("udp-search", topology, asked) };
    session.trial(&job, NEVER).unwrap()
}

#[test]
fn a_search_finds_the_rate_of_a_shaper() {
    let Some(pair) = Pair::new() else { return };
    pair.in_client("tc qdisc add dev eth0 root tbf rate 20mbit burst 5kb latency 10ms");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let asked = [("size", json!(1000)), ("final_trial", json!(400)), ("pdr", json!("1%"))];
    let outcome = search(&topology, 12_000 * MS, &asked);
    let found = outcome.search.unwrap();
    let carried = 20e6 / 8.0 / 1042.0;
    assert_eq!((found.size, found.found.len()), (1000, 2));
    // Where a busy machine kept the sender from offering what it should, it was said by how much.
    let offered = outcome.findings.iter().find_map(|finding| match finding {
        Finding::SenderTooSlow { asked, offered } => Some(offered / asked),
        _ => None,
    });
    // In a trial of 400 ms the queue of 10 ms hides 2.5 %.
    let most = 1.06 / offered.unwrap_or(1.0);
    for bounds in &found.found {
        let share = bounds.conditional / carried;
        assert!((0.9..most).contains(&share), "{share}: {found:?} {:?}", outcome.findings);
    }
    assert!(found.found[1].conditional >= found.found[0].conditional * 0.98);
    assert!(found.probes.iter().any(|probe| probe.received < probe.sent));
    let last = found.probes.last().unwrap();
    assert!(last.began.0 + last.length.0 <= 12_000 * MS, "within the duration");
    let (sent, received) = found
        .probes
        .iter()
        .fold((0, 0), |(sent, received), probe| (sent + probe.sent, received + probe.received));
    let ends = outcome.ends;
    assert_eq!(ends.datagrams_sent, sent);
    // What the queue held at the end of a trial came too, and too late.
    assert!(received <= ends.datagrams_received && ends.datagrams_received <= sent, "{ends:?}");
}

#[test]
fn a_search_without_time_says_so_and_ends() {
    let topology = loopback(1, 1);
    let outcome = search(&topology, 300 * MS, &[]);
    let found = outcome.search.unwrap();
    assert!(!found.probes.is_empty() && found.found.len() == 2);
    let said = outcome.findings.iter().any(|finding| {
        matches!(finding, Finding::SearchUnfinished { .. } | Finding::SearchAtSendersLimit { .. })
    });
    assert_eq!(said, found.found.iter().any(|bounds| !bounds.converged), "{found:?}");
}
