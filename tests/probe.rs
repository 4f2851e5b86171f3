//! `tare listen` and `tare probe`: figures of both ends between two processes and two namespaces, and a listener that
//! serves on whatever strangers, broken clients and killed ones do to it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::pair::Pair;
use support::program::{Outcome, Running, Tare};
use support::scratch::Scratch;
use support::{list, schema, text};

/// Longer than anything takes on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A trial that a test ends before it ends by itself.
const ENDLESS: &[&str] = &["--workload", "tcp-rr", "--duration", "600s"];

/// The same, with all that three flows can carry.
const FULL: &[&str] = &["--workload", "tcp-stream", "--flows", "3", "--duration", "600s"];

/// A trial as short as it may be.
const SHORT: &[&str] = &["--workload", "tcp-rr", "--duration", "100ms", "--interval", "10ms"];

const TOKEN: &str = "a token that nobody guesses";

/// A listener on a port of its own.
struct Listening {
    running: Running,
    address: SocketAddr,
}

impl Listening {
    fn start(tare: &Tare, arguments: &[&str]) -> Self {
        let running = tare.start(&[&["listen", "--port", "0"], arguments].concat());
        Self::of(running)
    }

    fn of(mut running: Running) -> Self {
        running.wait_for("listening on ");
        let said = running.said();
        let (_, rest) = said.split_once("listening on ").expect("it was waited for");
        let address = rest.split(',').next().and_then(|address| address.parse().ok());
        Self { address: address.expect("an address"), running }
    }

    /// The arguments of a probe of it, by an address of its host.
    fn probe<'a>(port: &'a str, host: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["probe", host, "--port", port], arguments].concat()
    }

    fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Probes it once.
    fn serves(&self, tare: &Tare, arguments: &[&str]) -> Outcome {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.run(&Self::probe(&port, &host, arguments))
    }

    /// Begins to probe it.
    fn begin(&self, tare: &Tare, arguments: &[&str]) -> Running {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.start(&Self::probe(&port, &host, arguments))
    }

    fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A number of its `/proc/PID/status`.
    fn status(&self, key: &str) -> u64 {
        let path = format!("/proc/{}/status", self.running.pid());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(key)).expect("a known key");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Waits until nothing is left of its connections but the thread that accepts.
    fn wait_until_alone(&self) {
        let until = Instant::now() + PATIENCE;
        while self.status("Threads:") > 1 {
            assert!(Instant::now() < until, "{} threads are left", self.status("Threads:"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn in_scratch() -> (Scratch, Tare) {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    (scratch, tare)
}

/// Says a line, and reads the answer; nothing where there is none.
fn ask(stream: &TcpStream, line: &str) -> Option<Value> {
    let mut stream = stream;
    stream.write_all(format!("{line}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

fn hello(version: u32) -> String {
    let nonce = "0".repeat(64);
    json!({"hello": {"protocol": version, "tare": "0", "nonce": nonce}}).to_string()
}

/// A client of a listener without a token, after the handshake.
fn guest(listening: &Listening) -> TcpStream {
    let stream = listening.dial();
    assert!(ask(&stream, &hello(1)).expect("an answer")["hello"].is_object());
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    assert!(ask(&stream, &proof).expect("an answer")["welcome"].is_object());
    stream
}

fn request(more: Value) -> String {
    let mut request = json!({
        "workload": "tcp-rr", "parameters": {}, "flows": 1, "cpus": "free",
        "duration": 100_000_000, "interval": 10_000_000,
    });
    for (key, value) in more.as_object().expect("members") {
        request[key] = value.clone();
    }
    json!({ "serve": request }).to_string()
}

#[test]
fn a_probe_says_what_both_ends_saw_in_the_document_of_a_run() {
    let (scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &[]);
    let flags = ["--blocks", "2", "--flows", "2", "--duration", "200ms", "--interval", "10ms"];
    let document = listening.serves(&tare, &[&flags[..], &["--json"]].concat()).expect(0).json();
    schema::check(&document, "run.json");
    assert_eq!((&document["study"], &document["blocks"]), (&json!("probe"), &json!(2)));
    let cells = list(&document, "cells");
    for workload in ["tcp-stream", "tcp-rr"] {
        assert!(cells.iter().any(|cell| cell["workload"] == workload), "{workload}");
    }
    for cell in cells {
        assert_eq!((&cell["network"], &cell["label"]), (&json!("probe"), &json!("127.0.0.1")));
        assert_eq!(cell["ratio"], Value::Null);
        assert_eq!(
            (&cell["shape"]["flows"], &cell["shape"]["family"]),
            (&json!(2), &json!("ipv4"))
        );
        for side in ["client_cores", "server_cores"] {
            assert!(cell["parameters"][side].is_array(), "{side}");
        }
        if cell["withheld"].is_null() {
            assert_eq!(cell["n"], 2);
            assert!(cell["ci95"].is_array(), "two trials give an interval");
        }
    }
    assert_eq!(scratch.names(), [] as [&str; 0], "nothing is kept unless it is asked for");

    let kept = listening.serves(&tare, &[&flags[..], &["--out", "out"]].concat()).expect(0);
    assert!(kept.text().contains("127.0.0.1 (probe)"), "{}", kept.text());
    assert_eq!(tare.run(&["report", "out"]).expect(0).text(), kept.text());
    let journal = std::fs::read_to_string(scratch.path("out/journal.jsonl")).unwrap();
    let records: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trials: Vec<&Value> = records.iter().filter(|one| one["record"] == "trial").collect();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let ends = &trial["ends"];
        assert_eq!(ends["sent"], ends["received"]);
        assert_eq!(ends["completed"], ends["answered"]);
        assert!(ends["sent"].as_u64() > Some(0) || ends["completed"].as_u64() > Some(0));
    }
}

#[test]
fn every_workload_can_be_probed() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &[]);
    let document = tare.run(&["list", "workloads", "--json"]).expect(0).json();
    for workload in list(&document, "workloads") {
        let name = text(workload, "name");
        let flags = ["--workload", name, "--duration", "1s", "--interval", "20ms", "--json"];
        let document = listening.serves(&tare, &flags).expect(0).json();
        schema::check(&document, "run.json");
        assert_eq!(list(&document, "failed"), [] as [Value; 0], "{name}");
        assert!(list(&document, "cells").iter().all(|cell| cell["workload"] == name), "{name}");
    }
    listening.wait_until_alone();
}

#[test]
fn the_loopback_of_ipv6_is_this_machine_too() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--bind", "::1"]);
    let port = listening.port();
    for host in ["::1", "[::1]"] {
        let flags = [SHORT, &["--json"]].concat();
        let document = tare.run(&Listening::probe(&port, host, &flags)).expect(0).json();
        assert_eq!(list(&document, "cells")[0]["shape"]["family"], "ipv6");
    }
    tare.run(&Listening::probe(&port, "::1", &["--family", "ipv4"]))
        .complains(1, &["::1", "no address in ipv4"]);
}

#[test]
fn two_machines_measure_the_way_between_them() {
    let (scratch, tare) = in_scratch();
    scratch.write("token", &format!("{TOKEN}\n"));
    let pair = Pair::new();
    for (bind, hosts) in [("0.0.0.0", &["10.99.0.2"][..]), ("::", &["10.99.0.2", "fd99::2"])] {
        let arguments = ["listen", "--bind", bind, "--token-file", "token", "--port", "0"];
        let listening = Listening::of(pair.in_server(&tare, &arguments));
        let port = listening.port();
        for host in hosts {
            let flags = [SHORT, &["--token-file", "token", "--json"]].concat();
            let probe = Listening::probe(&port, host, &flags);
            let document = pair.in_client(&tare, &probe).wait().expect(0).json();
            let cell = &list(&document, "cells")[0];
            assert_eq!((text(cell, "label"), &cell["shape"]["mtu"]), (*host, &json!(1500)));
            assert!(cell["mean"].as_f64() > Some(0.0), "{cell}");
        }
    }
}

#[test]
fn without_a_token_nobody_else_may_reach_a_listener() {
    let (scratch, tare) = in_scratch();
    for bind in ["0.0.0.0", "::", "10.99.0.1", "fd99::1"] {
        tare.run(&["listen", "--bind", bind]).complains(2, &[bind, "--token-file", "loopback"]);
    }
    tare.run(&["listen", "--token", ""]).complains(2, &["empty token"]);
    tare.run(&["listen", "--token-file", "nosuch"]).complains(2, &["nosuch", "No such file"]);
    tare.run(&["listen", "--max-rate", "5kpps"]).complains(2, &["--max-rate", "bits"]);
    scratch.write("token", TOKEN);
    let listening = Listening::start(&tare, &["--bind", "0.0.0.0", "--token-file", "token"]);
    let port = listening.port();
    let flags = [SHORT, &["--token", TOKEN]].concat();
    tare.run(&Listening::probe(&port, "127.0.0.1", &flags)).expect(0);
    tare.run(&["listen", "--port", &port]).complains(1, &[&port, "in use"]);
}

#[test]
fn only_who_knows_the_token_is_served() {
    let (_scratch, tare) = in_scratch();
    let mut listening = Listening::start(&tare, &["--token", TOKEN]);
    listening.serves(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    listening
        .serves(&tare, &[SHORT, &["--token", "another"]].concat())
        .complains(1, &["does not know the token"]);
    listening.serves(&tare, SHORT).complains(1, &["asks for a token", "TARE_TOKEN"]);
    listening.running.wait_for("does not know the token");
    assert!(!listening.running.said().contains(TOKEN));
    let open = Listening::start(&tare, &[]);
    let flags = [SHORT, &["--token", TOKEN]].concat();
    open.serves(&tare, &flags).complains(1, &["asks for no token"]);
}

#[test]
fn a_listener_that_does_not_know_the_token_is_found_out() {
    let (_scratch, tare) = in_scratch();
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = impostor.local_addr().unwrap().port().to_string();
    let bits = "1".repeat(64);
    let caps = json!({"duration": 1_000_000_000_000u64, "rate": null, "clients": 1, "flows": 9, "memory": 1u64 << 40});
    let answers = [
        json!({"hello": {"protocol": 1, "tare": "0", "nonce": bits, "token": true}}),
        json!({"welcome": {"proof": bits, "one_clock": true, "caps": caps}}),
    ];
    let flags = [SHORT, &["--token", TOKEN]].concat();
    let probe = tare.start(&Listening::probe(&port, "127.0.0.1", &flags));
    answer(&impostor, &answers);
    probe.wait().complains(1, &["does not know the token itself"]);
}

/// Answers one client with these lines, whatever it says.
fn answer(listener: &TcpListener, answers: &[Value]) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    for answer in answers {
        lines.read_line(&mut String::new()).unwrap();
        stream.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
}

#[test]
fn another_version_is_refused_by_either_side() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &[]);
    let refused = ask(&listening.dial(), &hello(999)).expect("an answer");
    assert!(text(&refused, "refused").contains("version 999"), "{refused}");

    let later = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = later.local_addr().unwrap().port().to_string();
    let probe = tare.start(&Listening::probe(&port, "127.0.0.1", SHORT));
    let greeting =
        json!({"protocol": 999, "tare": "9", "nonce": "1".repeat(64), "token": false, "more": 1});
    answer(&later, &[json!({ "hello": greeting })]);
    probe.wait().complains(1, &["version 999", "same tare"]);
}

#[test]
fn where_nothing_listens_or_something_else_one_line_says_so() {
    let (_scratch, tare) = in_scratch();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let probe = tare.start(&Listening::probe(&port, "127.0.0.1", SHORT));
    let (mut stream, _) = other.accept().unwrap();
    stream.write_all(b"SSH-2.0-OpenSSH\r\n").unwrap();
    probe.wait().complains(1, &["no tare listener"]);
    drop((stream, other));
    let nobody = tare.run(&Listening::probe(&port, "127.0.0.1", SHORT));
    nobody.complains(1, &["Connection refused", "tare listen"]);
    tare.run(&["probe", "nosuch.invalid"]).complains(1, &["nosuch.invalid", "name a host"]);
    tare.run(&["probe", "localhost", "--workload", "nosuch"]).complains(2, &["unknown workload"]);
    tare.run(&["probe", "localhost", "--blocks", "0"]).complains(2, &["blocks is 0"]);
}

#[test]
fn caps_are_told_to_the_probe_and_held_by_the_listener() {
    let (_scratch, tare) = in_scratch();
    let caps =
        ["--max-duration", "2s", "--max-flows", "4", "--max-memory", "100", "--max-clients", "2"];
    let listening = Listening::start(&tare, &caps);
    listening.serves(&tare, SHORT).expect(0);
    for (flags, words) in [
        (&["--duration", "3s", "--workload", "tcp-rr"][..], &["too long", "--max-duration"][..]),
        (&[&["--flows", "5"], SHORT].concat(), &["5 flows", "--max-flows"]),
        (&["--duration", "1s", "--buffer", "200M"], &["100 MiB", "--max-memory"]),
    ] {
        listening.serves(&tare, flags).complains(1, words);
    }
    listening.wait_until_alone();
    let stream = guest(&listening);
    for (beyond, words) in [
        (json!({"duration": 3_000_000_000u64}), "--max-duration"),
        (json!({"flows": 5}), "--max-flows"),
        (json!({"flows": 0}), "flows"),
        (json!({"workload": "tcp-stream", "parameters": {"buffer": "200M"}}), "--max-memory"),
        (json!({"interval": 0}), "intervals"),
        (json!({"workload": "nosuch"}), "unknown workload"),
        (json!({"parameters": {"nosuch": 1}}), "no parameter"),
    ] {
        let answer = ask(&stream, &request(beyond)).expect("an answer");
        assert!(text(&answer, "refused").contains(words), "{answer}");
    }
    // What others have is missing, until they give it back.
    let ready = ask(&stream, &request(json!({"flows": 3}))).expect("an answer");
    assert!(ready["ready"].is_object(), "{ready}");
    let other = guest(&listening);
    let busy = ask(&other, &request(json!({"flows": 2}))).expect("an answer");
    assert!(text(&busy, "refused").contains("try again later"), "{busy}");
    let full = listening.serves(&tare, SHORT);
    full.complains(1, &["2 clients", "--max-clients"]);
    drop((stream, other));
    listening.wait_until_alone();
    listening.serves(&tare, &[SHORT, &["--flows", "4"]].concat()).expect(0);
}

#[test]
fn where_rates_are_capped_nothing_goes_as_fast_as_it_can() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--max-rate", "10mbit"]);
    listening.serves(&tare, SHORT).complains(1, &["as fast as it can", "10000000 bit/s"]);
    let answer = ask(&guest(&listening), &request(json!({}))).expect("an answer");
    assert!(text(&answer, "refused").contains("as fast as it can"), "{answer}");
}

#[test]
fn ports_are_those_that_a_firewall_lets_through() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--ports", "40100-40199"]);
    let ready = ask(&guest(&listening), &request(json!({}))).expect("an answer");
    let ports: Vec<u64> = list(&ready["ready"], "ports").iter().filter_map(Value::as_u64).collect();
    assert!(ports.len() == 1 && (40_100..=40_199).contains(&ports[0]), "{ready}");
}

#[test]
fn any_number_of_clients_are_served_at_once() {
    let (_scratch, tare) = in_scratch();
    let mut listening = Listening::start(&tare, &[]);
    let mut long = listening.begin(&tare, &[ENDLESS, &["--blocks", "1"]].concat());
    listening.running.wait_for("tcp-rr, 1 flow(s), 600s");
    let short: Vec<Running> = (0..3).map(|_| listening.begin(&tare, SHORT)).collect();
    for running in short {
        running.wait().expect(0);
    }
    assert!(long.is_running(), "the first is served all the while");
    long.signal(Signal::INT);
    long.wait().expect(130);
    listening.wait_until_alone();
}

#[test]
fn an_interrupted_probe_reports_the_blocks_it_has() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &[]);
    let mut probe = listening.begin(&tare, &[SHORT, &["--blocks", "100000", "--json"]].concat());
    probe.wait_for("block 2 of");
    probe.signal(Signal::TERM);
    let document = probe.wait().expect(130).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert!(list(&document, "cells")[0]["n"].as_u64() >= Some(2), "{document}");
}

#[test]
fn a_listener_ends_when_asked_and_its_clients_are_told() {
    for signal in [Signal::INT, Signal::TERM] {
        let (_scratch, tare) = in_scratch();
        let mut listening = Listening::start(&tare, &[]);
        let probe = listening.begin(&tare, ENDLESS);
        listening.running.wait_for("tcp-rr, 1 flow(s)");
        listening.running.signal(signal);
        listening.running.wait().expect(0);
        let said = probe.wait().expect(1);
        assert!(
            said.stdout.is_empty() && said.stderr.contains("the listener was stopped"),
            "{said:?}"
        );
    }
}

#[test]
fn a_killed_listener_is_noticed_at_once() {
    let (_scratch, tare) = in_scratch();
    let mut listening = Listening::start(&tare, &[]);
    let probe = listening.begin(&tare, ENDLESS);
    listening.running.wait_for("tcp-rr, 1 flow(s)");
    listening.running.signal(Signal::KILL);
    let said = probe.wait().expect(1);
    assert!(said.stderr.contains("it ended, or the connection to it was lost"), "{}", said.stderr);
}

#[test]
fn a_killed_client_gives_back_all_that_it_had() {
    let (_scratch, tare) = in_scratch();
    // What a killed client would keep, the next one would miss.
    let mut listening = Listening::start(&tare, &["--max-clients", "1", "--max-flows", "3"]);
    let mut before = 0;
    for round in 0..6 {
        let probe = listening.begin(&tare, FULL);
        listening.running.wait_for_again("tcp-stream, 3 flow(s)");
        probe.signal(Signal::KILL);
        probe.wait();
        listening.wait_until_alone();
        if round == 1 {
            before = listening.status("VmRSS:");
        }
    }
    let grown = listening.status("VmRSS:").saturating_sub(before);
    assert!(grown < 4 << 10, "{grown} KiB more after every client");
    listening.serves(&tare, SHORT).expect(0);
}

/// What a proxy between a probe and its listener overheard.
#[derive(Default)]
struct Overheard {
    asked: Vec<u8>,
    answered: Vec<u8>,
}

/// Passes one connection on to a listener, and keeps what is said.
fn overhear(proxy: TcpListener, listener: SocketAddr) -> std::thread::JoinHandle<Overheard> {
    fn pass(mut from: TcpStream, mut to: TcpStream) -> Vec<u8> {
        let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
        while let Ok(bytes @ 1..) = from.read(&mut chunk) {
            kept.extend_from_slice(&chunk[..bytes]);
            if to.write_all(&chunk[..bytes]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
        kept
    }
    std::thread::spawn(move || {
        let (client, _) = proxy.accept().unwrap();
        let server = TcpStream::connect(listener).unwrap();
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let asking = std::thread::spawn(move || pass(from, to));
        let answered = pass(server, client);
        Overheard { asked: asking.join().unwrap(), answered }
    })
}

#[test]
fn the_token_never_crosses_the_wire_and_a_replay_is_worth_nothing() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--token", TOKEN]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port().to_string();
    let overheard = overhear(proxy, listening.address);
    let flags = [SHORT, &["--token", TOKEN]].concat();
    tare.run(&Listening::probe(&port, "127.0.0.1", &flags)).expect(0);
    let overheard = overheard.join().unwrap();
    let lines = |bytes: &[u8], name: &str| {
        let said = String::from_utf8(bytes.to_vec()).expect("JSON is text");
        assert!(!said.contains(TOKEN));
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        for line in &lines {
            schema::check(&serde_json::from_str(line).expect("a line is JSON"), name);
        }
        lines
    };
    let asked = lines(&overheard.asked, "protocol-ask.json");
    assert_eq!(lines(&overheard.answered, "protocol-answer.json").len(), asked.len());
    assert_eq!(asked.len(), 4, "hello, prove, serve, finish");

    let replay = listening.dial();
    assert!(ask(&replay, &asked[0]).expect("an answer")["hello"].is_object());
    let refused = ask(&replay, &asked[1]).expect("an answer");
    assert!(text(&refused, "refused").contains("does not know the token"), "{refused}");
    assert_eq!(ask(&replay, &asked[2]), None, "it is not listened to any more");
}

/// Something that is no message, or comes at the wrong time.
#[derive(Clone, Debug)]
enum Attack {
    Bytes(Vec<u8>),
    /// A message of the handshake or of a trial, cut off.
    Cut(usize, usize),
    /// A message with a byte changed.
    Changed(usize, usize, u8),
    /// A line without an end.
    Endless(u32),
    /// Nothing at all, and the connection held.
    Silence,
    /// Messages in any order.
    Order(Vec<usize>),
}

fn messages() -> Vec<String> {
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    vec![hello(1), proof, request(json!({})), request(json!({"flows": 9})), "\"finish\"".to_owned()]
}

fn attack() -> impl Strategy<Value = Attack> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Attack::Bytes),
        (0usize..5, 0usize..200).prop_map(|(which, at)| Attack::Cut(which, at)),
        (0usize..5, 0usize..200, any::<u8>())
            .prop_map(|(which, at, byte)| Attack::Changed(which, at, byte)),
        (1u32..200).prop_map(Attack::Endless),
        Just(Attack::Silence),
        prop::collection::vec(0usize..5, 0..8).prop_map(Attack::Order),
    ]
}

impl Attack {
    /// Does it on one connection, which is given back to be held. That it is cut off is no failure.
    fn run(&self, listening: &Listening, invited: bool) -> TcpStream {
        let mut stream = if invited { guest(listening) } else { listening.dial() };
        let line = |which: usize| format!("{}\n", messages()[which]).into_bytes();
        let bytes = match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Cut(which, at) => {
                let mut bytes = line(*which);
                bytes.truncate(*at);
                bytes
            }
            Self::Changed(which, at, byte) => {
                let mut bytes = line(*which);
                let at = at % bytes.len();
                bytes[at] = *byte;
                bytes
            }
            Self::Endless(kibibytes) => vec![b' '; *kibibytes as usize * 1024],
            Self::Silence => Vec::new(),
            Self::Order(order) => order.iter().flat_map(|which| line(*which)).collect(),
        };
        let _ = stream.write_all(&bytes);
        stream
    }
}

#[test]
fn whatever_strangers_and_clients_say_the_listener_serves_on() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--max-clients", "16"]);
    listening.serves(&tare, SHORT).expect(0);
    let held: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let storm = |cases: u32| {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let result = runner.run(&(attack(), any::<bool>()), |(attack, invited)| {
            let mut held = held.lock().unwrap();
            // Clients have places of their own, of which some must be left for the proof below.
            if invited && held.len() % 16 > 8 {
                held.clear();
                drop(held);
                listening.wait_until_alone();
                return Ok(());
            }
            held.push(attack.run(&listening, invited));
            Ok(())
        });
        result.unwrap();
    };
    storm(100);
    held.lock().unwrap().clear();
    listening.wait_until_alone();
    let before = listening.status("VmRSS:");
    storm(300);
    held.lock().unwrap().clear();
    listening.wait_until_alone();
    let grown = listening.status("VmRSS:").saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KiB more after 300 connections");
    listening.serves(&tare, SHORT).expect(0);
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let (_scratch, tare) = in_scratch();
    let listening = Listening::start(&tare, &["--token", TOKEN]);
    let served = || {
        listening.serves(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    };
    served();
    let before = listening.status("VmRSS:");
    let crowd: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = listening.dial();
            // Half of them are slow rather than silent.
            if number % 2 == 0 {
                let _ = stream.write_all(b"{\"hel");
            }
            stream
        })
        .collect();
    served();
    assert!(listening.status("Threads:") <= 1 + 2 * 64 + 16, "{}", listening.status("Threads:"));
    let grown = listening.status("VmRSS:").saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB for 300 connections");
    // Those who were not cut off for others are when their time is over.
    for stream in &crowd {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = String::new();
        let _ = BufReader::new(stream).read_to_string(&mut said);
        assert!(said.is_empty() || said.contains("too slow"), "{said}");
    }
    listening.wait_until_alone();
    served();
}
