//! Container of a Docker Engine, behind the interface that the rest of tare uses.

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::exec::{self, ExecCommand};
use crate::image::PROGRAM;
use crate::process::{DockerProcess, TerminalInput};
use crate::terminal;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::{Command, Container, Error, INTERNAL, NetworkDaemons, Process, Stdio};

/// Role of a container in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerRole {
    /// Container of a server.
    Server,
    /// Container of a client; it gets the user's input.
    Client,
}

/// Supervisor of the programs in a network's containers, if these can be lost while they run.
pub trait ProgramSupervisor: NetworkDaemons + Send + Sync {
    /// Supervises a program that was just started.
    fn supervise(self: Arc<Self>, process: DockerProcess) -> Box<dyn Process>;
}

/// Running container, on an engine or reached by a relay.
pub(crate) struct DockerContainer {
    pub(crate) engine: Arc<Engine>,
    pub(crate) container: ContainerHandle,
    pub(crate) role: ContainerRole,
    pub(crate) address: IpAddr,
    /// Supervisor of its programs. `None` if the container ends only with the network.
    pub(crate) supervisor: Option<Arc<dyn ProgramSupervisor>>,
    /// Programs of the engine that carry the network's packets. `None` if no program does, or none that this machine
    /// shows.
    pub(crate) programs: Option<Arc<dyn NetworkDaemons>>,
}

impl DockerContainer {
    fn start(&self, words: ExecCommand) -> Result<exec::ExecSession, Error> {
        let what = format!("start {} in {}", words.command.join(" "), self.container.name);
        let words = self.container.exec_command(words);
        self.engine.request(what, exec::start(self.engine.docker(), &self.container.id, words))
    }

    /// Makes names resolve in the container, by a program that runs as root there.
    fn write_hosts(&self, hosts: &[(String, IpAddr)]) -> Result<(), Error> {
        if hosts.is_empty() {
            return Ok(());
        }
        let mut command = [PROGRAM, INTERNAL, "netns-probe"].map(str::to_owned).to_vec();
        for (name, address) in hosts {
            command.extend(["--name".to_owned(), format!("{name}={address}")]);
        }
        let exec =
            self.start(ExecCommand { command, user: Some("0"), ..ExecCommand::default() })?;
        self.engine.wait(exec::read_snapshot(exec)).map(drop).map_err(|why| {
            Error::new(format!("write the hosts file of {}", self.container.name), why)
        })
    }
}

impl Container for DockerContainer {
    fn name(&self) -> &str {
        &self.container.name
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        self.write_hosts(&command.hosts)?;
        let program =
            command.program.as_deref().map_or(PROGRAM.into(), |path| path.to_string_lossy());
        let what = format!("{program} in {}", self.container.name);
        let mut words = ExecCommand {
            command: [&[program.into_owned()][..], &command.arguments].concat(),
            environment: command
                .environment
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            ..ExecCommand::default()
        };
        match (command.stdio, self.role) {
            (Stdio::Piped, _) => {
                let process = DockerProcess::piped(&self.engine, what, self.start(words)?);
                Ok(match &self.supervisor {
                    None => Box::new(process),
                    Some(supervisor) => Arc::clone(supervisor).supervise(process),
                })
            }
            (Stdio::Inherit, ContainerRole::Server) => {
                let exec = self.start(words)?;
                Ok(Box::new(DockerProcess::inherited(
                    &self.engine,
                    what,
                    exec,
                    None,
                    TerminalInput::Ignored,
                )))
            }
            (Stdio::Inherit, ContainerRole::Client) => {
                // A relay does not carry a terminal.
                words.terminal = !self.container.is_relayed() && terminal::is_interactive();
                let raw = if words.terminal { terminal::RawTerminal::enable() } else { None };
                let exec = self.start(words)?;
                Ok(Box::new(DockerProcess::inherited(
                    &self.engine,
                    what,
                    exec,
                    raw,
                    TerminalInput::Forwarded,
                )))
            }
        }
    }

    fn daemons(&self) -> Option<&dyn NetworkDaemons> {
        let supervisor = self.supervisor.as_deref().map(|one| one as &dyn NetworkDaemons);
        supervisor.or(self.programs.as_deref())
    }
}
