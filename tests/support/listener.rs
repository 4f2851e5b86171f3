//! `tare listen` under test, its probes, and raw clients.

use super::program::{ProgramOutcome, RunningProgram, Tare, User, tied_command};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use tare_dev::{ScratchDirectory, eventually};

/// Time limit longer than anything takes on the busiest machine.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Flags of a trial that a test ends before it ends by itself.
pub const ENDLESS: &[&str] = &["--workload", "tcp-rr", "--duration", "600s"];

/// Flags of a trial as short as possible.
pub const SHORT: &[&str] = &["--workload", "tcp-rr", "--duration", "100ms", "--interval", "10ms"];

/// Token of the listeners that have one.
pub const TOKEN: &str = "a token that nobody guesses";

/// Listener on a port of its own.
pub struct TestListener {
    /// Process of the listener.
    pub running: RunningProgram,
    /// Address and port of the listener.
    pub address: SocketAddr,
}

impl TestListener {
    /// Starts a listener on a free port.
    pub fn start(tare: &Tare, arguments: &[&str]) -> Self {
        let running = tare.start(&[&["listen", "--port", "0"], arguments].concat());
        Self::from_process(running)
    }

    /// Waits until a process listens, and reads its address.
    pub fn from_process(mut running: RunningProgram) -> Self {
        running.wait_for("listening on ");
        let said = running.awaited_output();
        let (_, rest) = said.split_once("listening on ").expect("it was waited for");
        let address = rest.split(',').next().and_then(|address| address.parse().ok());
        Self { address: address.expect("an address"), running }
    }

    /// Returns the arguments of a probe of a listener, by an address of its host.
    pub fn probe_arguments<'a>(
        port: &'a str,
        host: &'a str,
        arguments: &[&'a str],
    ) -> Vec<&'a str> {
        [&["probe", host, "--port", port], arguments].concat()
    }

    /// Returns the port of the listener.
    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Probes the listener once.
    pub fn run_probe(&self, tare: &Tare, arguments: &[&str]) -> ProgramOutcome {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.run(&Self::probe_arguments(&port, &host, arguments))
    }

    /// Starts a probe of the listener.
    pub fn start_probe(&self, tare: &Tare, arguments: &[&str]) -> RunningProgram {
        let (port, host) = (self.port(), self.address.ip().to_string());
        tare.start(&Self::probe_arguments(&port, &host, arguments))
    }

    /// Waits until round trips of an endless trial reach a socket of the listener.
    pub fn wait_for_traffic(&self) {
        let owner = format!("pid={},", self.running.pid());
        eventually("round trips reach the listener", || {
            let shown =
                tied_command(User::Caller, "ss").arg("-tinpHO").output().expect("ss is installed");
            let sockets = String::from_utf8_lossy(&shown.stdout).into_owned();
            let mine = sockets.lines().filter(|line| line.contains(&owner));
            let words = mine.flat_map(str::split_whitespace);
            let segments = words.filter_map(|word| word.strip_prefix("segs_in:")?.parse().ok());
            // The control connection of a trial has a dozen.
            segments.max().filter(|&segments: &u64| segments > 100)
        });
    }

    /// Waits until the listener has taken all connections that are there. A client is connected before that, and a
    /// connection for which the queue had no room comes again later.
    pub fn wait_until_all_are_accepted(&self) {
        let port = format!(":{:04X}", self.port().parse::<u16>().expect("a port"));
        eventually("all connections are accepted", || {
            let sockets = std::fs::read_to_string("/proc/net/tcp").expect("/proc is there");
            let at_port = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            at_port.filter(|fields| fields.get(1).is_some_and(|own| own.ends_with(&port))).all(
                // Of the listening socket (0A), the second queue holds those that wait; 03: not yet there.
                |fields| match fields[3] {
                    "0A" => fields[4].ends_with(":00000000"),
                    state => state != "03",
                },
            )
        });
    }

    /// Connects to the listener, with time-outs that end a failing test.
    pub fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Returns a number of the listener's `/proc/PID/status`.
    pub fn status(&self, key: &str) -> u64 {
        let path = format!("/proc/{}/status", self.running.pid());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(key)).expect("a known key");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Waits until only the accepting thread of the listener is left.
    pub fn wait_until_alone(&self) {
        eventually("one thread is left", || match self.status("Threads:") {
            1 => Ok(()),
            threads => Err(format!("{threads} threads")),
        });
    }
}

/// Makes a scratch directory, with the program in it.
pub fn in_scratch() -> (ScratchDirectory, Tare) {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    (scratch, tare)
}

/// Sends a line, and reads the answer. Returns `None` if there is none.
pub fn ask(stream: &TcpStream, line: &str) -> Option<Value> {
    let mut stream = stream;
    stream.write_all(format!("{line}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

/// Version of the protocol that listener and probe speak.
pub const PROTOCOL: u32 = 3;

/// Returns the first message of a client with this protocol version.
pub fn hello(version: u32) -> String {
    let nonce = "0".repeat(64);
    json!({"hello": {"protocol": version, "tare": "0", "nonce": nonce}}).to_string()
}

/// Writes the token to the file `token` of this mode.
pub fn write_token(scratch: &ScratchDirectory, mode: u32) {
    let file = scratch.write_file("token", &format!("{TOKEN}\n"));
    fs::set_permissions(file, Permissions::from_mode(mode)).expect("it is ours");
}

/// Connects a client to a listener without a token, and completes the handshake.
pub fn connected_client(listening: &TestListener) -> TcpStream {
    let stream = listening.dial();
    assert!(ask(&stream, &hello(PROTOCOL)).expect("an answer")["hello"].is_object());
    let proof = json!({"prove": {"proof": null, "clock": ""}}).to_string();
    assert!(ask(&stream, &proof).expect("an answer")["welcome"].is_object());
    stream
}

/// Makes a request for a trial of 100 ms, with these members replaced or added.
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
