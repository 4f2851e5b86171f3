//! `tare listen` under test, its probes, and what raw clients say to it.

use super::program::{Outcome, Running, Tare};
use super::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longer than anything takes on the busiest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A trial that a test ends before it ends by itself.
pub(crate) const ENDLESS: &[&str] = &["--workload", "tcp-rr", "--duration", "600s"];

/// A trial as short as it may be.
pub(crate) const SHORT: &[&str] =
    &["--workload", "tcp-rr", "--duration", "100ms", "--interval", "10ms"];

pub(crate) const TOKEN: &str = "a token that nobody guesses";

/// A listener on a port of its own.
pub(crate) struct Listening {
    pub(crate) running: Running,
    pub(crate) address: SocketAddr,
}

impl Listening {
    pub(crate) fn start(tare: &Tare, arguments: &[&str]) -> Self {
        let running = tare.start(&[&["listen", "--port", "0"], arguments].concat());
        Self::of(running)
    }

    pub(crate) fn of(mut running: Running) -> Self {
        running.wait_for("listening on ");
        let said = running.said();
        let (_, rest) = said.split_once("listening on ").expect("it was waited for");
        let address = rest.split(',').next().and_then(|address| address.parse().ok());
        Self { address: address.expect("an address"), running }
    }

    /// The arguments of a probe of it, by an address of its host.
    pub(crate) fn probe<'a>(port: &'a str, host: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["probe", host, "--port", port], arguments].concat()
    }

    pub(crate) fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Probes it once.
    pub(crate) fn serves(&self, tare: &Tare, arguments: &[&str]) -> Outcome {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.run(&Self::probe(&port, &host, arguments))
    }

    /// Begins to probe it.
    pub(crate) fn begin(&self, tare: &Tare, arguments: &[&str]) -> Running {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.start(&Self::probe(&port, &host, arguments))
    }

    /// Waits until a trial of round trips has begun that does not end by itself. It is announced before its flows are
    /// connected, and an end in between is told in other words.
    pub(crate) fn wait_for_traffic(&mut self) {
        self.running.wait_for("tcp-rr, 1 flow(s)");
        std::thread::sleep(Duration::from_millis(500));
    }

    pub(crate) fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A number of its `/proc/PID/status`.
    pub(crate) fn status(&self, key: &str) -> u64 {
        let path = format!("/proc/{}/status", self.running.pid());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(key)).expect("a known key");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Waits until nothing is left of its connections but the thread that accepts.
    pub(crate) fn wait_until_alone(&self) {
        let until = Instant::now() + PATIENCE;
        while self.status("Threads:") > 1 {
            assert!(Instant::now() < until, "{} threads are left", self.status("Threads:"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn in_scratch() -> (Scratch, Tare) {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    (scratch, tare)
}

/// Says a line, and reads the answer; nothing where there is none.
pub(crate) fn ask(stream: &TcpStream, line: &str) -> Option<Value> {
    let mut stream = stream;
    stream.write_all(format!("{line}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

pub(crate) fn hello(version: u32) -> String {
    let nonce = "0".repeat(64);
    json!({"hello": {"protocol": version, "tare": "0", "nonce": nonce}}).to_string()
}

/// A client of a listener without a token, after the handshake.
pub(crate) fn guest(listening: &Listening) -> TcpStream {
    let stream = listening.dial();
    assert!(ask(&stream, &hello(1)).expect("an answer")["hello"].is_object());
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    assert!(ask(&stream, &proof).expect("an answer")["welcome"].is_object());
    stream
}

pub(crate) fn request(more: Value) -> String {
    let mut request = json!({
        "workload": "tcp-rr", "parameters": {}, "flows": 1, "cpus": "free",
        "duration": 100_000_000, "interval": 10_000_000,
    });
    for (key, value) in more.as_object().expect("members") {
        request[key] = value.clone();
    }
    json!({ "serve": request }).to_string()
}
