//! A container of an engine's as the rest of tare sees it.

use crate::engine::Engine;
use crate::exec::{self, Words};
use crate::image::PROGRAM;
use crate::look;
use crate::process::{DockerProcess, Typed};
use crate::swarm::{TaskProcess, Tasks};
use crate::terminal;
use crate::work::Running;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::{Command, Container, Daemons, Error, Process, Stdio};

/// Which end a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It serves.
    Server,
    /// It connects; what the user types goes to it.
    Client,
}

/// A container that runs.
pub(crate) struct DockerContainer {
    pub(crate) engine: Arc<Engine>,
    pub(crate) container: Running,
    pub(crate) role: Role,
    pub(crate) address: IpAddr,
    /// Who looks after it, where it is a task of a Swarm.
    pub(crate) tasks: Option<Arc<Tasks>>,
}

impl DockerContainer {
    fn start(&self, words: Words) -> Result<exec::Exec, Error> {
        let what = format!("start {} in {}", words.command.join(" "), self.container.name);
        let words = self.container.words(words);
        self.engine.get(what, exec::start(self.engine.docker(), &self.container.id, words))
    }

    /// Makes names resolve inside, by root's hand.
    fn name_hosts(&self, hosts: &[(String, IpAddr)]) -> Result<(), Error> {
        if hosts.is_empty() {
            return Ok(());
        }
        let mut command = vec![PROGRAM.to_owned(), "look".to_owned()];
        for (name, address) in hosts {
            command.extend(["--name".to_owned(), format!("{name}={address}")]);
        }
        let exec = self.start(Words { command, user: Some("0"), ..Words::default() })?;
        self.engine.wait(look::read(exec)).map(drop).map_err(|why| {
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
        self.name_hosts(&command.hosts)?;
        let program =
            command.program.as_deref().map_or(PROGRAM.into(), |path| path.to_string_lossy());
        let what = format!("{program} in {}", self.container.name);
        let mut words = Words {
            command: [&[program.into_owned()][..], &command.arguments].concat(),
            environment: command
                .environment
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            ..Words::default()
        };
        match (command.stdio, self.role) {
            (Stdio::Piped, _) => {
                let process = DockerProcess::piped(&self.engine, what, self.start(words)?);
                Ok(match &self.tasks {
                    None => Box::new(process),
                    Some(tasks) => Box::new(TaskProcess::of(process, tasks)),
                })
            }
            (Stdio::Inherit, Role::Server) => {
                let exec = self.start(words)?;
                Ok(Box::new(DockerProcess::shown(&self.engine, what, exec, None, Typed::Nothing)))
            }
            (Stdio::Inherit, Role::Client) => {
                // A terminal does not reach beyond its own engine.
                words.terminal = self.tasks.is_none() && terminal::is_there();
                let raw = if words.terminal { terminal::Raw::make() } else { None };
                let exec = self.start(words)?;
                Ok(Box::new(DockerProcess::shown(&self.engine, what, exec, raw, Typed::Forwarded)))
            }
        }
    }

    fn daemons(&self) -> Option<&dyn Daemons> {
        self.tasks.as_deref().map(|tasks| tasks as &dyn Daemons)
    }
}
