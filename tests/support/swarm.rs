//! Machines of the tests' own, each with a Docker Engine, joined by an underlay; and a Swarm of them. All of it is in
//! namespaces. It ends with the test, also when that is killed, or with the test runner where tests share it.

use super::engine::Engine;
use super::program::{Outcome, Running, Tare, User, tied};
use super::shared::{Resource, SharedGuard};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use tare_dev::eventually;

/// Bridge in a namespace of its own, into which machines are plugged. A process holds the namespace.
pub struct Underlay {
    /// Process that holds the namespace, where the test has started it.
    holder: Option<Child>,
    process: u32,
}

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
        let process = child.id();
        Self { holder: Some(child), process }
    }

    /// Gives the machine whose first process this is an `eth0` on the bridge.
    pub fn plug(&self, number: u8, process: u32) {
        self.run(&format!(
            "ip link add wire{number} type veth peer name eth0 netns {process}; \
             ip link set wire{number} master br0 up"
        ));
    }

    /// What a shell line in its namespace says.
    #[track_caller]
    pub fn said(&self, line: &str) -> String {
        let output = self.shell(line).output().expect("nsenter is there");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Takes a machine's uplink away, as when a cable is pulled.
    pub fn unplug(&self, number: u8) {
        self.run(&format!("ip link set wire{number} down"));
    }

    #[track_caller]
    fn run(&self, line: &str) {
        let status = self.shell(line).status().expect("nsenter is there");
        assert!(status.success(), "{line}");
    }

    fn shell(&self, line: &str) -> Command {
        let pid = self.process.to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("nsenter");
        command.args(["--target", &pid, "--net", "--", "sh", "-euc", line]);
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command
    }
}

impl Drop for Underlay {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// Engines on one underlay: 192.0.2.1, 192.0.2.2 …, called node-1, node-2 …
pub struct Machines {
    engines: Vec<Engine>,
    underlay: Underlay,
}

impl Machines {
    /// Machines whose engines answer.
    pub fn new(count: u8) -> Self {
        let machines = Self::plugged(count, &[]);
        machines.wait_until_they_answer();
        machines
    }

    /// Machines whose engines have flags of dockerd's and may not answer yet.
    pub fn plugged(count: u8, flags: &[&str]) -> Self {
        let underlay = Underlay::new();
        let engines: Vec<Engine> =
            (1..=count).map(|number| Engine::plugged(&underlay, number, "", flags)).collect();
        Self { engines, underlay }
    }

    /// Waits until all engines answer.
    #[track_caller]
    pub fn wait_until_they_answer(&self) {
        self.engines.iter().for_each(Engine::wait_until_it_answers);
    }

    /// One of them, counted from 0.
    pub fn engine(&self, index: usize) -> &Engine {
        &self.engines[index]
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.engines.len()
    }

    /// What joins them.
    pub fn underlay(&self) -> &Underlay {
        &self.underlay
    }
}

/// Machines whose engines are a Swarm; the first one is its manager.
pub struct Swarm {
    machines: Machines,
}

impl Swarm {
    /// Swarm of three nodes that the tests of this run share.
    #[track_caller]
    pub fn shared() -> SharedGuard<Self> {
        SharedGuard::take()
    }

    /// A fresh one of so many nodes.
    pub fn of(nodes: u8) -> Self {
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

    /// One of its engines, counted from 0.
    pub fn engine(&self, index: usize) -> &Engine {
        self.machines.engine(index)
    }

    /// What joins its nodes.
    pub fn underlay(&self) -> &Underlay {
        self.machines.underlay()
    }

    /// The flags that name the engines of its workers.
    pub fn workers(&self) -> Vec<String> {
        let host = |index| [String::from("--engine"), self.engine(index).host()];
        (1..self.machines.count()).flat_map(host).collect()
    }

    /// The program under test, which speaks to the manager.
    pub fn tare(&self) -> Tare {
        self.engine(0).tare()
    }

    /// Runs the program to its end, with the workers' engines named.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.start_tare(arguments).wait()
    }

    /// Starts the program, with the workers' engines named.
    pub fn start_tare(&self, arguments: &[&str]) -> Running {
        let workers = self.workers();
        let flags: Vec<&str> = workers.iter().map(String::as_str).collect();
        self.tare().start(&[arguments, &flags].concat())
    }

    /// Machines of the Swarm.
    pub fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Waits until something is so.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        eventually(what, || is_so(self));
    }
}

impl Resource for Swarm {
    const KIND: &str = "swarm";

    fn start() -> Self {
        Self::of(3)
    }

    fn handle(&self) -> Value {
        let engines: Vec<Value> = self.machines.engines.iter().map(Resource::handle).collect();
        json!({"engines": engines, "underlay": self.machines.underlay.process})
    }

    fn join(handle: &Value) -> Self {
        let number = handle["underlay"].as_u64().and_then(|number| u32::try_from(number).ok());
        let underlay = Underlay { holder: None, process: number.expect("a handle of a Swarm") };
        let engines = handle["engines"].as_array().expect("a handle of a Swarm");
        let engines = engines.iter().map(Engine::join).collect();
        Self { machines: Machines { engines, underlay } }
    }

    /// Services, secrets and configurations of the Swarm; containers, networks, images and volumes of every node.
    fn everything(&self) -> Vec<String> {
        let manager = self.engine(0);
        let names = |kind: &str| {
            manager.docker(&[kind, "ls", "--format", &format!("{kind} {{{{.Name}}}}")])
        };
        let of_swarm = ["service", "secret", "config"].map(names).into_iter();
        of_swarm.chain(self.machines.engines.iter().flat_map(of_node)).collect()
    }
}

/// Containers, networks, images and volumes of a node.
fn of_node(engine: &Engine) -> [String; 4] {
    let networks = engine.docker(&["network", "ls", "--format", "network {{.Name}} {{.Driver}}"]);
    let mut networks: Vec<&str> = networks.lines().collect();
    // Docker makes this one when the first container needs it, and keeps it.
    networks.retain(|name| !name.starts_with("network docker_gwbridge"));
    networks.sort_unstable();
    [
        engine.docker(&["ps", "--all", "--format", "container {{.Names}}"]),
        engine.docker(&["image", "ls", "--all", "--format", "image {{.Repository}}:{{.Tag}}"]),
        networks.join("\n"),
        engine.docker(&["volume", "ls", "--format", "volume {{.Name}}"]),
    ]
}
