//! Tests of `tare listen` with untrusted clients: without the token, with another protocol, with nonsense or silence,
//! or killed. The listener continues to serve, and its memory has not grown.

use proptest::prelude::*;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use support::listener::{
    PATIENCE, PROTOCOL, SHORT, TOKEN, TestListener, ask, connected_client, hello, in_scratch,
    request, write_token,
};
use support::{schema, text};

/// Flags of an endless trial with all three flows that the listener allows.
const FULL: &[&str] = &["--workload", "tcp-stream", "--flows", "3", "--duration", "600s"];

#[test]
fn without_a_token_nobody_else_may_reach_a_listener() {
    let (scratch, tare) = in_scratch();
    for bind in ["0.0.0.0", "::", "10.99.0.1", "fd99::1"] {
        tare.run(&["listen", "--bind", bind]).assert_error(2, &[bind, "--token-file", "loopback"]);
    }
    tare.run(&["listen", "--token", ""]).assert_error(2, &["token is empty"]);
    tare.run(&["listen", "--token-file", "nosuch"]).assert_error(2, &["nosuch", "No such file"]);
    tare.run(&["listen", "--max-rate", "5kpps"]).assert_error(2, &["--max-rate", "bits"]);
    write_token(&scratch, 0o600);
    let listening = TestListener::start(&tare, &["--bind", "0.0.0.0", "--token-file", "token"]);
    let port = listening.port();
    let flags = [SHORT, &["--token", TOKEN]].concat();
    tare.run(&TestListener::probe_arguments(&port, "127.0.0.1", &flags)).expect(0);
    tare.run(&["listen", "--port", &port]).assert_error(1, &[&port, "in use"]);
}

#[test]
fn only_who_knows_the_token_is_served() {
    let (_scratch, tare) = in_scratch();
    let mut listening = TestListener::start(&tare, &["--token", TOKEN]);
    listening.run_probe(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    listening
        .run_probe(&tare, &[SHORT, &["--token", "another"]].concat())
        .assert_error(1, &["does not know the token"]);
    listening.run_probe(&tare, SHORT).assert_error(1, &["requires a token", "TARE_TOKEN"]);
    listening.running.wait_for("does not know the token");
    assert!(!listening.running.awaited_output().contains(TOKEN));
    let open = TestListener::start(&tare, &[]);
    let flags = [SHORT, &["--token", TOKEN]].concat();
    open.run_probe(&tare, &flags).assert_error(1, &["requires no token"]);
}

#[test]
fn a_listener_that_does_not_know_the_token_is_found_out() {
    let (_scratch, tare) = in_scratch();
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = impostor.local_addr().unwrap().port().to_string();
    let bits = "1".repeat(64);
    let caps = json!({"duration": 1_000_000_000_000u64, "rate": null, "clients": 1, "flows": 9, "memory": 1u64 << 40});
    let answers = [
        json!({"hello": {"protocol": PROTOCOL, "tare": "0", "nonce": bits, "token": true}}),
        json!({"welcome": {"proof": bits, "one_clock": true, "caps": caps}}),
    ];
    let flags = [SHORT, &["--token", TOKEN]].concat();
    let probe = tare.start(&TestListener::probe_arguments(&port, "127.0.0.1", &flags));
    answer(&impostor, &answers);
    probe.wait().assert_error(1, &["did not prove that it knows the token"]);
}

/// Answers one client with these lines, whatever it sends.
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
    let listening = TestListener::start(&tare, &[]);
    let refused = ask(&listening.dial(), &hello(999)).expect("an answer");
    assert!(text(&refused, "refused").contains("version 999"), "{refused}");

    let later = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = later.local_addr().unwrap().port().to_string();
    let probe = tare.start(&TestListener::probe_arguments(&port, "127.0.0.1", SHORT));
    let greeting =
        json!({"protocol": 999, "tare": "9", "nonce": "1".repeat(64), "token": false, "more": 1});
    answer(&later, &[json!({ "hello": greeting })]);
    probe.wait().assert_error(1, &["version 999", "same tare"]);
}

#[test]
fn where_nothing_listens_or_something_else_one_line_says_so() {
    let (_scratch, tare) = in_scratch();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let probe = tare.start(&TestListener::probe_arguments(&port, "127.0.0.1", SHORT));
    let (mut stream, _) = other.accept().unwrap();
    stream.write_all(b"SSH-2.0-OpenSSH\r\n").unwrap();
    probe.wait().assert_error(1, &["not a tare listener"]);
    drop((stream, other));
    // Bound, so that no other program gets the port, but not listening.
    let bound = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&bound, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let bound_to = SocketAddr::try_from(getsockname(&bound).unwrap()).unwrap();
    let port = bound_to.port().to_string();
    let nobody = tare.run(&TestListener::probe_arguments(&port, "127.0.0.1", SHORT));
    nobody.assert_error(1, &["Connection refused", "tare listen"]);
    tare.run(&["probe", "nosuch.invalid"]).assert_error(1, &["nosuch.invalid", "name a host"]);
    tare.run(&["probe", "localhost", "--workload", "nosuch"])
        .assert_error(2, &["unknown workload"]);
    tare.run(&["probe", "localhost", "--blocks", "0"]).assert_error(2, &["`0` for blocks"]);
}

#[test]
fn a_killed_client_gives_back_all_that_it_had() {
    let (_scratch, tare) = in_scratch();
    // Resources that a killed client kept would be missing for the next one.
    let mut listening = TestListener::start(&tare, &["--max-clients", "1", "--max-flows", "3"]);
    let mut before = 0;
    for round in 0..6 {
        let probe = listening.start_probe(&tare, FULL);
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
    listening.run_probe(&tare, SHORT).expect(0);
}

/// Data that a proxy between a probe and its listener has recorded.
#[derive(Default)]
struct RecordedTraffic {
    asked: Vec<u8>,
    answered: Vec<u8>,
}

/// Forwards one connection to a listener, and records both directions.
fn record_traffic(
    proxy: TcpListener,
    listener: SocketAddr,
) -> std::thread::JoinHandle<RecordedTraffic> {
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
        RecordedTraffic { asked: asking.join().unwrap(), answered }
    })
}

#[test]
fn the_token_never_crosses_the_wire_and_a_replay_is_worth_nothing() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--token", TOKEN]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port().to_string();
    let overheard = record_traffic(proxy, listening.address);
    let flags = [SHORT, &["--token", TOKEN]].concat();
    tare.run(&TestListener::probe_arguments(&port, "127.0.0.1", &flags)).expect(0);
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

/// Invalid message, or a message at the wrong time.
#[derive(Clone, Debug)]
enum Attack {
    Bytes(Vec<u8>),
    /// Truncated message of the handshake or of a trial.
    Cut(usize, usize),
    /// Message with a changed byte.
    Changed(usize, usize, u8),
    /// Line without an end.
    Endless(u32),
    /// Open connection without any data.
    Silence,
    /// Messages in any order.
    Order(Vec<usize>),
}

fn messages() -> Vec<String> {
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    vec![
        hello(PROTOCOL),
        proof,
        request(json!({})),
        request(json!({"flows": 9})),
        "\"finish\"".to_owned(),
    ]
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
    /// Runs the attack on one connection, and returns it to be held open. A connection closed by the listener is no
    /// failure.
    fn run(&self, listening: &TestListener, invited: bool) -> TcpStream {
        let mut stream = if invited { connected_client(listening) } else { listening.dial() };
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
    let listening = TestListener::start(&tare, &["--max-clients", "16"]);
    listening.run_probe(&tare, SHORT).expect(0);
    let held: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let storm = |cases: u32| {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let result = runner.run(&(attack(), any::<bool>()), |(attack, invited)| {
            let mut held = held.lock().unwrap();
            // Connected clients have slots of their own, of which some must be left for the proof below.
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
    listening.run_probe(&tare, SHORT).expect(0);
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--token", TOKEN]);
    let served = || {
        listening.run_probe(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    };
    served();
    let before = listening.status("VmRSS:");
    let crowd: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = listening.dial();
            // Half of the clients are slow rather than silent.
            if number % 2 == 0 {
                let _ = stream.write_all(b"{\"hel");
            }
            stream
        })
        .collect();
    listening.wait_until_all_are_accepted();
    served();
    assert!(listening.status("Threads:") <= 1 + 2 * 64 + 16, "{}", listening.status("Threads:"));
    let grown = listening.status("VmRSS:").saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB for 300 connections");
    // Connections that were not closed in favour of others are closed when their time is over.
    for stream in &crowd {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = String::new();
        let _ = BufReader::new(stream).read_to_string(&mut said);
        assert!(said.is_empty() || said.contains("too slow"), "{said}");
    }
    listening.wait_until_alone();
    served();
}
