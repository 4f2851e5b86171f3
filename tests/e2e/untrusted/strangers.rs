//! Tests of `tare listen` and `tare probe` with strangers who know the protocol: floods, guesses of the token,
//! connections to a trial's ports, clients that ask for more than they were admitted with, a listener that answers with
//! more than it was asked for.

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::listener::{
    PATIENCE, PROTOCOL, SHORT, TOKEN, TestListener, ask, connected_client, hello, in_scratch,
    request,
};
use support::{list, text};

/// Trial that a raw client has been admitted to.
struct RawTrial {
    /// Control connection of the client.
    control: TcpStream,
    /// Address of the workload's server.
    address: SocketAddr,
    /// Number that flows of the trial greet with.
    number: u64,
}

impl RawTrial {
    /// Connects a client to a listener, and has it serve a trial.
    fn start(listening: &TestListener, members: Value) -> Self {
        let control = connected_client(listening);
        let answer = ask(&control, &request(members)).expect("an answer");
        let ready = &answer["ready"];
        let port = list(ready, "ports")[0].as_u64().and_then(|port| u16::try_from(port).ok());
        let address = (listening.address.ip(), port.expect("a port")).into();
        Self { control, address, number: ready["trial"].as_u64().expect("a number") }
    }

    /// Returns the greeting of a flow of this client and process.
    fn greeting(&self, client: u32, process: u32) -> Vec<u8> {
        let numbers = [client, process, 0].map(u32::to_be_bytes).concat();
        [&b"tare"[..], &3u32.to_be_bytes(), &self.number.to_be_bytes(), &numbers].concat()
    }

    /// Connects to the workload's server.
    fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Opens a flow. Returns it once the server has acknowledged its greeting.
    fn open_flow(&self) -> TcpStream {
        let mut stream = self.dial();
        stream.write_all(&self.greeting(0, 0)).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [6]);
        stream
    }
}

/// Returns everything that the other end sends until it closes the connection.
fn read_to_end(mut stream: &TcpStream) -> Vec<u8> {
    let (mut all, mut chunk) = (Vec::new(), [0; 1 << 16]);
    // A reset ends the stream too.
    while let Ok(bytes @ 1..) = stream.read(&mut chunk) {
        all.extend_from_slice(&chunk[..bytes]);
    }
    all
}

/// Connects to a listener from an address of this machine.
fn dial_from(source: [u8; 4], listening: &TestListener) -> TcpStream {
    let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&stream, &SocketAddr::from((source, 0))).unwrap();
    connect(&stream, &listening.address).unwrap();
    let stream = TcpStream::from(stream);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[test]
fn strangers_who_drip_do_not_stop_a_trial() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    for workload in ["tcp-rr", "udp-rr", "dns-rr", "udp-rate", "tcp-crr"] {
        let trial = RawTrial::start(&listening, json!({ "workload": workload }));
        let strangers: Vec<TcpStream> = (0..3).map(|_| trial.dial()).collect();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // A stranger whose connection was closed cannot write any more.
                    strangers.iter().for_each(|mut stranger| drop(stranger.write(b"t")));
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let _flow = trial.open_flow();
            // The strangers are closed although they still send.
            strangers.iter().for_each(|stranger| assert_eq!(read_to_end(stranger), b""));
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_connection_without_the_trials_greeting_is_not_served() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    // The trial does not end before the connections that say nothing.
    let members = json!({"workload": "tcp-crr", "duration": 600_000_000_000u64});
    let trial = RawTrial::start(&listening, members);
    let other_client = trial.dial();
    (&other_client).write_all(&trial.greeting(1, 0)).unwrap();
    assert_eq!(read_to_end(&other_client), b"", "the trial has one client");
    let flow = trial.open_flow();
    // Measured connections: a stranger's, one of another trial, one of a later version, one of the trial.
    let mut wrong = trial.greeting(0, 0);
    wrong[15] ^= 1;
    let mut later = trial.greeting(0, 0);
    later[7] += 1;
    for (sent, answer) in [
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n".to_vec(), 0),
        ([wrong, vec![1]].concat(), 0),
        ([later, vec![1]].concat(), 0),
        ([trial.greeting(0, 0), vec![1]].concat(), 1),
    ] {
        let connection = trial.dial();
        (&connection).write_all(&sent).unwrap();
        assert_eq!(read_to_end(&connection).len(), answer);
    }
    // Those that say nothing are closed while the trial runs, some to make room for others.
    let silent: Vec<TcpStream> = (0..600).map(|_| trial.dial()).collect();
    let connection = trial.dial();
    (&connection).write_all(&[trial.greeting(0, 0), vec![1]].concat()).unwrap();
    assert_eq!(read_to_end(&connection).len(), 1);
    silent.iter().for_each(|silent| assert_eq!(read_to_end(silent), b""));
    drop(flow);
    let report = ask(&trial.control, "\"finish\"").expect("an answer");
    let ends = &report["done"]["ends"];
    assert_eq!((&ends["accepted"], &ends["answered"]), (&json!(2), &json!(2)), "{report}");
}

#[test]
fn a_flood_does_not_lock_out_clients_of_other_address_ranges() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--token", TOKEN]);
    let client = dial_from([127, 0, 0, 1], &listening);
    let mut flood: Vec<TcpStream> =
        (0..200).map(|_| dial_from([127, 0, 1, 7], &listening)).collect();
    assert!(ask(&client, &hello(PROTOCOL)).expect("it keeps its slot")["hello"].is_object());
    flood.extend((0..200).map(|_| dial_from([127, 0, 1, 9], &listening)));
    let proof = json!({"prove": {"proof": "0".repeat(64), "clock": ""}}).to_string();
    let refused = ask(&client, &proof).expect("it keeps its slot");
    assert!(text(&refused, "refused").contains("does not know the token"), "{refused}");
    listening.run_probe(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    drop(flood);
    listening.wait_until_alone();
}

#[test]
fn guesses_of_the_token_are_delayed_and_counted() {
    let (_scratch, tare) = in_scratch();
    let mut listening = TestListener::start(&tare, &["--token", TOKEN]);
    let begun = Instant::now();
    for _ in 0..4 {
        let stranger = listening.dial();
        assert!(ask(&stranger, &hello(PROTOCOL)).expect("an answer")["hello"].is_object());
        let proof = json!({"prove": {"proof": "0".repeat(64), "clock": ""}}).to_string();
        let refused = ask(&stranger, &proof).expect("an answer");
        assert!(text(&refused, "refused").contains("does not know the token"), "{refused}");
    }
    let least = Duration::from_millis(100 + 200 + 400);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    // Who knows the token gets in from the same address, and ends the delay.
    listening.run_probe(&tare, &[SHORT, &["--token", TOKEN]].concat()).expect(0);
    listening.running.wait_for("failed proof 1 of its address, 1 in all");
}

#[test]
fn a_message_out_of_turn_ends_the_connection() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let idle = connected_client(&listening);
    let answer = ask(&idle, "\"finish\"").expect("an answer");
    assert!(text(&answer, "failed").contains("expected `serve`"), "{answer}");
    assert_eq!(ask(&idle, &request(json!({}))), None);
    let trial = RawTrial::start(&listening, json!({}));
    let answer = ask(&trial.control, &request(json!({}))).expect("an answer");
    assert!(text(&answer, "failed").contains("expected `finish`"), "{answer}");
    assert_eq!(ask(&trial.control, &request(json!({}))), None);
    listening.wait_until_alone();
}

#[test]
fn a_client_that_breaks_its_pace_gets_no_more_than_the_rate() {
    const RATE: f64 = 1e6 / 8.0;
    const ANSWER: usize = 12_500;
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--max-rate", "1mbit"]);
    let parameters = json!({"open_loop": 10, "request": 1, "response": ANSWER});
    let long =
        json!({"workload": "tcp-rr", "parameters": parameters, "duration": 60_000_000_000u64});
    let trial = RawTrial::start(&listening, long);
    let begun = Instant::now();
    let flow = trial.open_flow();
    // A few thousand requests at once, without waiting for answers.
    let writer = flow.try_clone().unwrap();
    let asking = thread::spawn(move || drop((&writer).write_all(&[1; 4000])));
    let received = read_to_end(&flow).len();
    let allowed = RATE * (begun.elapsed().as_secs_f64() + 1.0) + ANSWER as f64;
    assert!(received as f64 <= allowed, "{received} bytes, {allowed} allowed");
    assert!(received >= ANSWER, "answers within the rate are sent");
    asking.join().unwrap();
    let answer = ask(&trial.control, "\"finish\"").expect("an answer");
    assert!(text(&answer, "failed").contains("more than the 1000000 bit/s"), "{answer}");
    drop((flow, trial));
    listening.wait_until_alone();
}

#[test]
fn what_a_trial_takes_is_within_the_memory_that_it_was_admitted_with() {
    const CAP: u64 = 256;
    let (_scratch, tare) = in_scratch();
    for workload in ["tcp-stream", "tcp-rr", "tcp-crr", "udp-rr", "dns-rr", "udp-rate"] {
        let listening = TestListener::start(&tare, &["--max-memory", &CAP.to_string()]);
        let before = listening.status("VmHWM:");
        let flags =
            ["--workload", workload, "--flows", "16", "--duration", "2s", "--interval", "1ms"];
        listening.run_probe(&tare, &flags).expect(0);
        let grown = listening.status("VmHWM:") - before;
        assert!(grown <= CAP << 10, "{workload}: {grown} KiB");
    }
}

#[test]
fn a_trial_beyond_the_machine_is_refused() {
    let (_scratch, tare) = in_scratch();
    let caps = ["--max-clients", "2", "--max-flows", "10000", "--max-memory", "1000000"];
    let listening = TestListener::start(&tare, &caps);
    let client = connected_client(&listening);
    for (parameters, words) in [
        (json!({"threads": 1024}), "threads are too many"),
        (json!({"threads": 1024, "wait": "spin"}), "are too many"),
    ] {
        let members = json!({"flows": 9999, "parameters": parameters});
        let answer = ask(&client, &request(members)).expect("an answer");
        assert!(text(&answer, "refused").contains(words), "{answer}");
    }
    let greedy = json!({"workload": "tcp-crr", "flows": 9999, "parameters": {"slots": 1024}});
    let answer = ask(&client, &request(greedy)).expect("an answer");
    assert!(text(&answer, "refused").contains("sockets"), "{answer}");
}

/// Change of a listener's report.
type ReportEdit = fn(&mut Value);

/// Returns a list of zeros.
fn zeros(count: usize) -> Value {
    vec![0; count].into()
}

/// Passes a client's messages to a listener and its answers back, but for the report, which `edit` replaces.
fn edit_report(proxy: &TcpListener, listening: &TestListener, edit: ReportEdit) {
    let (mut client, _) = proxy.accept().unwrap();
    let mut asked = BufReader::new(client.try_clone().unwrap());
    let mut listener = listening.dial();
    let mut answers = BufReader::new(listener.try_clone().unwrap());
    let mut line = String::new();
    while asked.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        listener.write_all(line.as_bytes()).unwrap();
        line.clear();
        answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        if answer.get("done").is_some() {
            edit(&mut answer["done"]);
        }
        // The client closes in the middle of an answer that is too long.
        let _ = client.write_all(format!("{answer}\n").as_bytes());
        line.clear();
    }
}

#[test]
fn a_probe_believes_no_report_that_it_did_not_ask_for() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port().to_string();
    let edits: [(ReportEdit, &str); 5] = [
        (|_| (), ""),
        (|report| report["parameters"]["x"] = zeros(30_000_000), "line is longer than"),
        (|report| report["parameters"]["x"] = zeros(20_000), "values"),
        (|report| report["series"] = json!([{"client": 1, "intervals": []}]), "other clients"),
        (|report| report["nosuch"] = json!(1), "unknown field"),
    ];
    for (edit, words) in edits {
        let arguments = [SHORT, &["--blocks", "1"]].concat();
        let probe = tare.start(&TestListener::probe_arguments(&port, "127.0.0.1", &arguments));
        // What is not believed is asked for once again.
        let attempts = if words.is_empty() { 1 } else { 2 };
        (0..attempts).for_each(|_| edit_report(&proxy, &listening, edit));
        let said = probe.wait();
        if words.is_empty() {
            said.expect(0);
        } else {
            said.assert_last_line(&[words, "same tare"]);
        }
    }
    listening.wait_until_alone();
}

#[test]
fn a_probe_tries_a_trial_once_again_over_another_connection() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port().to_string();
    let arguments = [SHORT, &["--blocks", "1"]].concat();
    let probe = tare.start(&TestListener::probe_arguments(&port, "127.0.0.1", &arguments));
    edit_report(&proxy, &listening, |report| report["nosuch"] = json!(1));
    edit_report(&proxy, &listening, |_| ());
    let said = probe.wait().expect(0);
    assert!(said.stderr.contains("is tried once again"), "{}", said.stderr);
    assert!(said.stderr.contains("unknown field"), "the reason is said: {}", said.stderr);
    listening.wait_until_alone();
}
