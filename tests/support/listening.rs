//! `tare listen` under test, its probes, and what raw clients say to it.

use super::program::{Outcome, Running, Tare, User, tied};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tare_dev::{Scratch, eventually};

/// Longer than anything takes on the busiest machine.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// A trial that a test ends before it ends by itself.
pub const ENDLESS: &[&str] = &["--workload", "tcp-rr", "--duration", "600s"];

/// A trial as short as it may be.
pub const SHORT: &[&str] = &["--workload", "tcp-rr", "--duration", "100ms", "--interval", "10ms"];

/// Token of the listeners that have one.
pub const TOKEN: &str = "a token that nobody guesses";

/// A listener on a port of its own.
pub struct Listening {
    /// The listener's process.
    pub running: Running,
    /// The address and port that it listens on.
    pub address: SocketAddr,
}

impl Listening {
    /// Starts a listener on a free port.
    pub fn start(tare: &Tare, arguments: &[&str]) -> Self {
        let running = tare.start(&[&["listen", "--port", "0"], arguments].concat());
        Self::of(running)
    }

    /// Waits until a process listens.
    pub fn of(mut running: Running) -> Self {
        running.wait_for("listening on ");
        let said = running.said();
        let (_, rest) = said.split_once("listening on ").expect("it was waited for");
        let address = rest.split(',').next().and_then(|address| address.parse().ok());
        Self { address: address.expect("an address"), running }
    }

    /// The arguments of a probe of it, by an address of its host.
    pub fn probe<'a>(port: &'a str, host: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["probe", host, "--port", port], arguments].concat()
    }

    /// Port that it listens on.
    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Probes it once.
    pub fn serves(&self, tare: &Tare, arguments: &[&str]) -> Outcome {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.run(&Self::probe(&port, &host, arguments))
    }

    /// Begins to probe it.
    pub fn begin(&self, tare: &Tare, arguments: &[&str]) -> Running {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.start(&Self::probe(&port, &host, arguments))
    }

    /// Waits until the round trips of a trial that does not end by itself reach a socket of the listener's.
    pub fn wait_for_traffic(&self) {
        let owner = format!("pid={},", self.running.pid());
        eventually("round trips reach the listener", || {
            let shown = tied(User::Caller, "ss").arg("-tinpHO").output().expect("ss is installed");
            let sockets = String::from_utf8_lossy(&shown.stdout).into_owned();
            let mine = sockets.lines().filter(|line| line.contains(&owner));
            let words = mine.flat_map(str::split_whitespace);
            let segments = words.filter_map(|word| word.strip_prefix("segs_in:")?.parse().ok());
            // The connection on which a trial is agreed upon has a dozen.
            segments.max().filter(|&segments: &u64| segments > 100)
        });
    }

    /// Connects to it, with time-outs that a failing test ends by.
    pub fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A number of its `/proc/PID/status`.
    pub fn status(&self, key: &str) -> u64 {
        let path = format!("/proc/{}/status", self.running.pid());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(key)).expect("a known key");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Waits until nothing is left of its connections but the thread that accepts.
    pub fn wait_until_alone(&self) {
        eventually("one thread is left", || match self.status("Threads:") {
            1 => Ok(()),
            threads => Err(format!("{threads} threads")),
        });
    }
}

/// The program in a scratch directory.
pub fn in_scratch() -> (Scratch, Tare) {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    (scratch, tare)
}

/// Says a line, and reads the answer; nothing where there is none.
pub fn ask(stream: &TcpStream, line: &str) -> Option<Value> {
    let mut stream = stream;
    stream.write_all(format!("{line}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

/// First message of a client of this protocol version.
pub fn hello(version: u32) -> String {
    let nonce = "0".repeat(64);
    json!({"hello": {"protocol": version, "tare": "0", "nonce": nonce}}).to_string()
}

/// A client of a listener without a token, after the handshake.
pub fn guest(listening: &Listening) -> TcpStream {
    let stream = listening.dial();
    assert!(ask(&stream, &hello(1)).expect("an answer")["hello"].is_object());
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    assert!(ask(&stream, &proof).expect("an answer")["welcome"].is_object());
    stream
}

/// Request for a trial of 100 ms, with these members replaced or added.
pub fn request(more: Value) -> String {
    let mut request = json!({
        "workload": "tcp-rr", "parameters": {}, "flows": 1, "cpus": "free",
        "duration": 100_000_000, "interval": 10_000_000,
    });
    for (key, value) in more.as_object().expect("members") {
        request[key] = value.clone();
    }
    json!({ "serve": request }).to_string()
}
