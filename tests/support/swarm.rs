//! Machines of the tests, each with a Docker Engine, connected by an underlay; and a Swarm of them. All are namespaces.
//! They end with the test, even if that is killed, or with the test runner if tests share them.

use super::engine::Engine;
use super::program::{ProgramOutcome, RunningProgram, Tare, User, tied_command};
use super::shared::{SharedGuard, SharedResource};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use tare_dev::eventually;

/// Bridge in its own namespace, to which machines are connected. A process holds the namespace.
pub struct Underlay {
    /// Process that holds the namespace, if the test started it.
    holder: Option<Child>,
    process: u32,
}

impl Underlay {
    fn new() -> Self {
        const BRIDGE: &str = "ip link set lo up; ip link add br0 type bridge; \
                              ip link set br0 up; echo held; exec cat";
        let mut child = tied_command(User::Caller, "unshare")
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

    /// Connects an `eth0` in the machine with this first process to the bridge.
    pub fn plug(&self, number: u8, process: u32) {
        self.run(&format!(
            "ip link add wire{number} type veth peer name eth0 netns {process}; \
             ip link set wire{number} master br0 up"
        ));
    }

    /// Returns the output of a shell line in the underlay's namespace.
    #[track_caller]
    pub fn shell_output(&self, line: &str) -> String {
        let output = self.shell(line).output().expect("nsenter is there");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Sets a machine's uplink down, like a pulled cable.
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

/// Engines on one underlay: 192.0.2.1, 192.0.2.2 …, with the names node-1, node-2 …
pub struct EngineMachines {
    engines: Vec<Engine>,
    underlay: Underlay,
}

impl EngineMachines {
    /// Makes machines, and waits until their engines answer.
    pub fn new(count: u8) -> Self {
        let machines = Self::plugged(count, &[]);
        machines.wait_until_they_answer();
        machines
    }

    /// Makes machines whose engines have flags of dockerd and may not answer yet.
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

    /// Returns one of the engines, counted from 0.
    pub fn engine(&self, index: usize) -> &Engine {
        &self.engines[index]
    }

    /// Returns the number of machines.
    fn count(&self) -> usize {
        self.engines.len()
    }

    /// Returns the underlay of the machines.
    pub fn underlay(&self) -> &Underlay {
        &self.underlay
    }
}

/// Machines whose engines form a Swarm. The first one is its manager.
pub struct Swarm {
    machines: EngineMachines,
}

impl Swarm {
    /// Takes the Swarm of three nodes that the tests of this run share.
    #[track_caller]
    pub fn shared() -> SharedGuard<Self> {
        SharedGuard::take()
    }

    /// Makes a new Swarm with this number of nodes.
    pub fn with_nodes(nodes: u8) -> Self {
        let swarm = Self { machines: EngineMachines::new(nodes) };
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
            // A worker has joined completely when it has the network of the routing mesh.
            let has_mesh = |index| {
                let names = ["network", "ls", "--format", "{{.Name}}"];
                swarm.engine(index).docker(&names).contains("ingress")
            };
            let count = swarm.machines.count();
            nodes.matches("Ready").count() == count && (0..count).all(has_mesh)
        });
        swarm
    }

    /// Returns one of the engines, counted from 0.
    pub fn engine(&self, index: usize) -> &Engine {
        self.machines.engine(index)
    }

    /// Returns the underlay of the nodes.
    pub fn underlay(&self) -> &Underlay {
        self.machines.underlay()
    }

    /// Returns the flags that name the engines of the workers.
    pub fn workers(&self) -> Vec<String> {
        let host = |index| [String::from("--engine"), self.engine(index).host()];
        (1..self.machines.count()).flat_map(host).collect()
    }

    /// Returns the program under test, connected to the manager.
    pub fn tare(&self) -> Tare {
        self.engine(0).tare()
    }

    /// Runs the program to its end, with flags for the workers' engines.
    pub fn run(&self, arguments: &[&str]) -> ProgramOutcome {
        self.start_tare(arguments).wait()
    }

    /// Starts the program, with flags for the workers' engines.
    pub fn start_tare(&self, arguments: &[&str]) -> RunningProgram {
        let workers = self.workers();
        let flags: Vec<&str> = workers.iter().map(String::as_str).collect();
        self.tare().start(&[arguments, &flags].concat())
    }

    /// Returns the machines of the Swarm.
    pub fn machines(&self) -> &EngineMachines {
        &self.machines
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        eventually(what, || is_so(self));
    }
}

impl SharedResource for Swarm {
    const KIND: &str = "swarm";

    fn start() -> Self {
        Self::with_nodes(3)
    }

    fn handle(&self) -> Value {
        let engines: Vec<Value> =
            self.machines.engines.iter().map(SharedResource::handle).collect();
        json!({"engines": engines, "underlay": self.machines.underlay.process})
    }

    fn join(handle: &Value) -> Self {
        let number = handle["underlay"].as_u64().and_then(|number| u32::try_from(number).ok());
        let underlay = Underlay { holder: None, process: number.expect("a handle of a Swarm") };
        let engines = handle["engines"].as_array().expect("a handle of a Swarm");
        let engines = engines.iter().map(Engine::join).collect();
        Self { machines: EngineMachines { engines, underlay } }
    }

    /// Lists services, secrets and configurations of the Swarm; containers, networks, images and volumes of every node.
    fn inventory(&self) -> Vec<String> {
        let manager = self.engine(0);
        let names = |kind: &str| {
            manager.docker(&[kind, "ls", "--format", &format!("{kind} {{{{.Name}}}}")])
        };
        let of_swarm = ["service", "secret", "config"].map(names).into_iter();
        of_swarm.chain(self.machines.engines.iter().flat_map(of_node)).collect()
    }
}

/// Lists containers, networks, images and volumes of a node.
fn of_node(engine: &Engine) -> [String; 4] {
    let networks = engine.docker(&["network", "ls", "--format", "network {{.Name}} {{.Driver}}"]);
    let mut networks: Vec<&str> = networks.lines().collect();
    // Docker makes this network when the first container needs it, and keeps it.
    networks.retain(|name| !name.starts_with("network docker_gwbridge"));
    networks.sort_unstable();
    [
        engine.docker(&["ps", "--all", "--format", "container {{.Names}}"]),
        engine.docker(&["image", "ls", "--all", "--format", "image {{.Repository}}:{{.Tag}}"]),
        networks.join("\n"),
        engine.docker(&["volume", "ls", "--format", "volume {{.Name}}"]),
    ]
}
