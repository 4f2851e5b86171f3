//! Machines of the test's own, each with a Docker Engine, joined by an underlay; and a Swarm of them. All of it is in
//! namespaces, and ends with the test, also when that is killed.

use super::engine::Engine;
use super::machine::patience;
use super::program::{Outcome, Running, Tare, User, tied};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a node takes to join, or to be missed, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Longer than Docker takes to take down a network's last traces on a worker.
const LEAVING: Duration = Duration::from_secs(30);

/// A bridge in a namespace of its own, into which machines are plugged. It is held by a process that ends with the test.
pub(crate) struct Underlay(Child);

impl Underlay {
    fn new() -> Self {
        const BRIDGE: &str = "ip link set lo up; ip link add br0 type bridge; \
                              ip link set br0 up; echo held; exec cat";
        let mut child = tied(User::Caller, "unshare")
            .args(["--net", "sh", "-euc", BRIDGE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it speaks");
        assert_eq!(line, "held\n", "root may make namespaces");
        Self(child)
    }

    /// Gives the machine whose first process this is an `eth0` on the bridge.
    pub(crate) fn plug(&self, number: u8, process: u32) {
        self.run(&format!(
            "ip link add wire{number} type veth peer name eth0 netns {process}; \
             ip link set wire{number} master br0 up"
        ));
    }

    /// What a shell line in its namespace says.
    #[track_caller]
    pub(crate) fn said(&self, line: &str) -> String {
        let output = self.shell(line).output().expect("nsenter is there");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Takes a machine's uplink away, as when a cable is pulled.
    pub(crate) fn unplug(&self, number: u8) {
        self.run(&format!("ip link set wire{number} down"));
    }

    #[track_caller]
    fn run(&self, line: &str) {
        let status = self.shell(line).status().expect("nsenter is there");
        assert!(status.success(), "{line}");
    }

    fn shell(&self, line: &str) -> Command {
        let pid = self.0.id().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("nsenter");
        command.args(["--target", &pid, "--net", "--", "sh", "-euc", line]);
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command
    }
}

impl Drop for Underlay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Engines on one underlay: 192.0.2.1, 192.0.2.2 …, called node-1, node-2 …
pub(crate) struct Machines {
    engines: Vec<Engine>,
    underlay: Underlay,
}

impl Machines {
    /// So many of them.
    pub(crate) fn new(count: u8) -> Self {
        Self::with("", count, &[])
    }

    /// The same with flags of dockerd's, on machines that a shell script prepares.
    pub(crate) fn with(script: &str, count: u8, flags: &[&str]) -> Self {
        let underlay = Underlay::new();
        let engines: Vec<Engine> =
            (1..=count).map(|number| Engine::plugged(&underlay, number, script, flags)).collect();
        engines.iter().for_each(Engine::wait_until_it_answers);
        Self { engines, underlay }
    }

    /// One of them, counted from 0.
    pub(crate) fn engine(&self, index: usize) -> &Engine {
        &self.engines[index]
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.engines.len()
    }

    /// What joins them.
    pub(crate) fn underlay(&self) -> &Underlay {
        &self.underlay
    }
}

/// Machines whose engines are a Swarm; the first one is its manager.
pub(crate) struct Swarm {
    machines: Machines,
}

impl Swarm {
    /// A fresh one of three nodes.
    pub(crate) fn start() -> Self {
        Self::of(3)
    }

    /// A fresh one of so many nodes.
    pub(crate) fn of(nodes: u8) -> Self {
        let swarm = Self { machines: Machines::new(nodes) };
        let manager = swarm.engine(0);
        manager.docker(&["swarm", "init", "--advertise-addr", "192.0.2.1"]);
        let token = manager.docker(&["swarm", "join-token", "--quiet", "worker"]);
        for (number, engine) in (1..=nodes).zip(&swarm.machines.engines).skip(1) {
            let own = format!("192.0.2.{number}");
            let join = ["swarm", "join", "--token", &token, "--advertise-addr", &own];
            engine.docker(&[&join[..], &["192.0.2.1:2377"]].concat());
        }
        swarm.wait_for("all nodes are ready", |swarm| {
            let nodes = swarm.engine(0).docker(&["node", "ls", "--format", "{{.Status}}"]);
            // A worker has joined wholly when it has the network of the routing mesh.
            let has_mesh = |index| {
                let names = ["network", "ls", "--format", "{{.Name}}"];
                swarm.engine(index).docker(&names).contains("ingress")
            };
            let count = swarm.machines.count();
            nodes.matches("Ready").count() == count && (0..count).all(has_mesh)
        });
        swarm
    }

    /// Waits until there is no more than there was before, and says what there is.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self, before: &[String]) {
        let deadline = Instant::now() + patience(LEAVING);
        while self.everything() != before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(self.everything(), before);
    }

    /// One of its engines, counted from 0.
    pub(crate) fn engine(&self, index: usize) -> &Engine {
        self.machines.engine(index)
    }

    /// What joins its nodes.
    pub(crate) fn underlay(&self) -> &Underlay {
        self.machines.underlay()
    }

    /// The flags that name the engines of its workers.
    pub(crate) fn workers(&self) -> Vec<String> {
        let host = |index| [String::from("--engine"), self.engine(index).host()];
        (1..self.machines.count()).flat_map(host).collect()
    }

    /// The program under test, which speaks to the manager.
    pub(crate) fn tare(&self) -> Tare {
        self.engine(0).tare()
    }

    /// Runs the program to its end, with the workers' engines named.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.start_tare(arguments).wait()
    }

    /// Starts the program, with the workers' engines named.
    pub(crate) fn start_tare(&self, arguments: &[&str]) -> Running {
        let workers = self.workers();
        let flags: Vec<&str> = workers.iter().map(String::as_str).collect();
        self.tare().start(&[arguments, &flags].concat())
    }

    /// Everything that a run could leave: of the Swarm's services, secrets and configurations, and of every engine's.
    pub(crate) fn everything(&self) -> Vec<String> {
        let manager = self.engine(0);
        let mut all: Vec<String> = ["service", "secret", "config"]
            .map(|kind| {
                format!("{kind} {}", manager.docker(&[kind, "ls", "--format", "{{.Name}}"]))
            })
            .to_vec();
        for index in 0..self.machines.count() {
            let engine = self.engine(index);
            all.push(engine.docker(&["ps", "--all", "--format", "{{.Names}}"]));
            all.push(engine.docker(&[
                "image",
                "ls",
                "--all",
                "--format",
                "{{.Repository}}:{{.Tag}}",
            ]));
            let networks = ["network", "ls", "--format", "{{.Name}} {{.Driver}}"];
            let mut networks: Vec<String> =
                engine.docker(&networks).lines().map(str::to_owned).collect();
            // Docker makes these when the first container needs them, and keeps them.
            networks.retain(|name| !name.starts_with("docker_gwbridge"));
            networks.sort();
            all.push(networks.join(", "));
        }
        all
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let limit = patience(PATIENCE);
        let deadline = Instant::now() + limit;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}: not within {limit:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
