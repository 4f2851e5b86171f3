//! Containers for tests: the agent as a child process, in this network namespace or in one of the test's own.
#![allow(dead_code, reason = "every test binary uses some of it")]
#![allow(clippy::print_stderr, reason = "what could not be tested is said")]
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

pub(crate) mod counters;
pub(crate) mod namespaces;
pub(crate) mod rates;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use tare_network::{Command, Container, Error, Exit, Process, Route, Topology};
use tare_record::{Nanos, Parameters, Placement, Shape};
use tare_traffic::{Job, workloads};

/// The agent that `cargo test` built beside this test.
pub(crate) fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/agent")
}

/// A container in which the agent is a child of this test.
pub(crate) struct Here {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// What comes before the agent's own path: nothing, or `nsenter` and its arguments.
    pub(crate) prefix: Vec<String>,
    /// The agent's own path.
    pub(crate) agent: PathBuf,
    /// Every process id that was started.
    pub(crate) started: Arc<Mutex<Vec<u32>>>,
}

impl Here {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            address: Ipv4Addr::LOCALHOST.into(),
            prefix: Vec::new(),
            agent: agent(),
            started: Arc::default(),
        }
    }
}

impl Container for Here {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        let agent = self.agent.to_string_lossy().into_owned();
        let mut words = self.prefix.iter().cloned().chain([agent]);
        let child = std::process::Command::new(words.next().unwrap())
            .args(words)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Error::new(format!("start an agent in {}", self.name), error))?;
        self.started.lock().unwrap().push(child.id());
        Ok(Box::new(Running(child)))
    }
}

struct Running(Child);

impl Process for Running {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        self.0.stdin.take().map(|pipe| Box::new(pipe) as Box<dyn Write + Send>)
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.0.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)
    }

    fn wait(&mut self) -> Result<Exit, Error> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.0.wait().map_err(|error| Error::new("wait for an agent", error))?;
        Ok(status.code().map_or_else(|| Exit::Signal(status.signal().unwrap()), Exit::Code))
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of this machine's loopback that nobody uses now.
pub(crate) fn free_port(address: IpAddr) -> u16 {
    TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port()
}

/// A topology of these containers in which client i goes to server i mod n, each server on its own address and port.
pub(crate) fn topology(
    servers: Vec<Here>,
    clients: Vec<Here>,
    port: impl Fn(IpAddr) -> u16,
) -> Topology {
    let listens: Vec<SocketAddr> =
        servers.iter().map(|server| (server.address, port(server.address)).into()).collect();
    let routes = (0..clients.len())
        .map(|client| {
            let server = client % listens.len();
            Route { client, server, listen: listens[server], dial: listens[server] }
        })
        .collect();
    let boxed = |all: Vec<Here>| {
        all.into_iter().map(|one| Box::new(one) as Box<dyn Container>).collect::<Vec<_>>()
    };
    Topology {
        servers: boxed(servers),
        clients: boxed(clients),
        nodes: Vec::new(),
        watch: None,
        routes,
        hops: Vec::new(),
        findings: Vec::new(),
        guard: Box::new(()),
    }
}

/// So many servers and clients over this machine's loopback.
pub(crate) fn loopback(servers: usize, clients: usize) -> Topology {
    let named = |role: &str, count| (0..count).map(|n| Here::new(&format!("{role}-{n}"))).collect();
    topology(named("server", servers), named("client", clients), free_port)
}

/// A short trial over all routes of a topology.
pub(crate) fn job(workload: &str, topology: &Topology, asked: &[(&str, serde_json::Value)]) -> Job {
    let asked: Parameters =
        asked.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut ports: Vec<u16> = topology.routes.iter().map(|route| route.listen.port()).collect();
    ports.truncate(1);
    Job {
        workload: workload.to_owned(),
        parameters: workloads().find(workload).unwrap().resolve(&asked).unwrap(),
        shape: Shape {
            servers: topology.servers.len() as u32,
            clients: topology.clients.len() as u32,
            cpus: Placement::Spread,
            ..Shape::default()
        },
        ports,
        duration: Nanos(300_000_000),
        interval: Nanos(20_000_000),
    }
}
