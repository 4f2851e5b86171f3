//! Containers for tests: an agent as a child process, in this network namespace or in one that the test made.

use crate::{NamespacePair, NamespaceStar, TestNamespace};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use tare_network::{ClientRoute, Command, Container, Error, Process, ProcessExit, Topology};

/// Container in which an agent is a child of the test.
pub struct AgentContainer {
    /// Name of the container.
    pub name: String,
    /// Address that peers dial.
    pub address: IpAddr,
    /// Program of the agent.
    pub agent: PathBuf,
    /// Process ids of all agents that were started, the oldest first.
    pub started: Arc<Mutex<Vec<u32>>>,
    /// Words before the agent: none, or `nsenter` and its arguments.
    prefix: Vec<String>,
}

impl AgentContainer {
    /// Returns a container in this process's network namespace, on 127.0.0.1.
    #[must_use]
    pub fn new(name: &str, agent: &Path) -> Self {
        Self {
            name: name.to_owned(),
            address: Ipv4Addr::LOCALHOST.into(),
            prefix: Vec::new(),
            agent: agent.to_owned(),
            started: Arc::default(),
        }
    }

    /// Returns the same container in a namespace that has this address.
    #[must_use]
    pub fn in_namespace(self, namespace: &TestNamespace, address: IpAddr) -> Self {
        Self { address, prefix: namespace.enter_command(), ..self }
    }
}

impl Container for AgentContainer {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        let agent = self.agent.to_string_lossy().into_owned();
        let mut words = self.prefix.iter().cloned().chain([agent]);
        let child = std::process::Command::new(words.next().expect("the agent is a word"))
            .args(words)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Error::new(format!("start an agent in {}", self.name), error))?;
        self.started.lock().expect("no test thread panicked").push(child.id());
        Ok(Box::new(AgentProcess(child)))
    }
}

/// Agent that runs. Dropping it ends the agent.
struct AgentProcess(Child);

impl Process for AgentProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        self.0.stdin.take().map(|pipe| Box::new(pipe) as Box<dyn Write + Send>)
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.0.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)
    }

    fn wait(&mut self) -> Result<ProcessExit, Error> {
        let status = self.0.wait().map_err(|error| Error::new("wait for an agent", error))?;
        let signal = || ProcessExit::Signal(status.signal().expect("a code or a signal"));
        Ok(status.code().map_or_else(signal, ProcessExit::Code))
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the topology of these containers. Client i goes to server i mod n, each server on its own address and port.
#[must_use]
pub fn topology(
    servers: Vec<AgentContainer>,
    clients: Vec<AgentContainer>,
    port: impl Fn(IpAddr) -> u16,
) -> Topology {
    let listens: Vec<SocketAddr> =
        servers.iter().map(|server| (server.address, port(server.address)).into()).collect();
    let routes = (0..clients.len())
        .map(|client| {
            let server = client % listens.len();
            ClientRoute { client, server, listen: listens[server], dial: listens[server] }
        })
        .collect();
    let boxed = |all: Vec<AgentContainer>| {
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
        inspector: None,
        guard: Box::new(()),
    }
}

impl NamespacePair {
    /// Returns a container in the client's namespace in which this agent runs.
    #[must_use]
    pub fn client_container(&self, agent: &Path) -> AgentContainer {
        AgentContainer::new("client-0", agent).in_namespace(&self.client, [10, 99, 0, 1].into())
    }

    /// Returns a container in the server's namespace in which this agent runs.
    #[must_use]
    pub fn server_container(&self, agent: &Path) -> AgentContainer {
        AgentContainer::new("server-0", agent).in_namespace(&self.server, [10, 99, 0, 2].into())
    }

    /// Returns the topology of the client and the server, with this agent in each, and the server on this port.
    #[must_use]
    pub fn topology(&self, agent: &Path, port: u16) -> Topology {
        let (server, client) = (self.server_container(agent), self.client_container(agent));
        topology(vec![server], vec![client], |_| port)
    }
}

impl NamespaceStar {
    /// Returns the topology of the server and all clients, with this agent in each, and the server on this port.
    #[must_use]
    pub fn topology(&self, agent: &Path, port: u16) -> Topology {
        let server = AgentContainer::new("server-0", agent)
            .in_namespace(&self.server, [10, 99, 0, 1].into());
        let clients = (0u8..).zip(&self.clients).map(|(number, namespace)| {
            AgentContainer::new(&format!("client-{number}"), agent)
                .in_namespace(namespace, [10, 99, number, 2].into())
        });
        let mut topology = self::topology(vec![server], clients.collect(), |_| port);
        for (number, route) in (0u8..).zip(&mut topology.routes) {
            route.listen = ([10, 99, number, 1], port).into();
            route.dial = route.listen;
        }
        topology
    }
}
