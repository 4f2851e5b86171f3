//! The serving side of a tool: its server program, from when it listens to the end of the trial.

use super::call::Call;
use super::data::Copy;
use super::listening::{Protocol, listens};
use super::offspring::Offspring;
use super::program::Program;
use crate::placement::{Cores, Role};
use crate::{Error, Report, Server, Task};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tare_record::{Nanos, Parameters};

/// How often is looked whether a server listens.
const TICK: Duration = Duration::from_millis(5);

/// How long a server may take to listen, unless it says otherwise.
pub(crate) const STARTS: Duration = Duration::from_secs(8);

/// How a server is started, and when it is ready.
pub(crate) struct Serve<'t> {
    /// Its program.
    pub(crate) program: &'static Program,
    /// How it is called, but for its cores.
    pub(crate) call: Call,
    /// Where it listens, all of it.
    pub(crate) listens: Vec<(SocketAddr, Protocol)>,
    /// What tells that it answers, where it listens before it does.
    pub(crate) answers: Box<dyn Fn() -> bool>,
    /// How long it may take to listen.
    pub(crate) within: Duration,
    /// How it is asked to end, and how long it may take for that.
    pub(crate) ends: (Signal, Duration),
    /// Whether it does its work in children of its own.
    pub(crate) forks: bool,
    /// What the server's side was told.
    task: &'t Task,
    /// What is its own as long as it runs.
    kept: Option<Copy>,
}

impl<'t> Serve<'t> {
    /// A server that listens on the first address of its task by TCP, and need not tidy up when it ends.
    pub(crate) fn new(program: &'static Program, call: Call, task: &'t Task) -> Self {
        let listens = task.addresses.first().map(|&at| (at, Protocol::Tcp)).into_iter().collect();
        Self {
            program,
            call,
            listens,
            answers: Box::new(|| true),
            within: STARTS,
            ends: (Signal::KILL, Duration::ZERO),
            forks: false,
            task,
            kept: None,
        }
    }

    /// The same, with data that are its own as long as it runs.
    pub(crate) fn keeping(self, data: Copy) -> Self {
        Self { kept: Some(data), ..self }
    }

    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    /// When it ends before, with its last words, or takes too long.
    pub(crate) fn start(self) -> Result<Serving, Error> {
        let cores = Cores::of(&self.task.cpus, Role::Server);
        let server = Offspring::start(&self.call.on(cores.list().to_vec()))?;
        let until = Instant::now() + self.within;
        let all_listen = || self.listens.iter().all(|&(at, protocol)| listens(at, protocol));
        let ready = || all_listen() && (self.answers)();
        while !ready() {
            if server.ended_within(TICK) {
                return Err(server.ended_early());
            }
            if Instant::now() >= until {
                let (_, said) = server.stop(Signal::KILL, Duration::ZERO)?;
                return Err(Error::Job(format!(
                    "{} did not listen within {:?}{}",
                    self.program.name,
                    self.within,
                    said.last_words()
                )));
            }
        }
        let mut parameters = Parameters::new();
        if let Some(version) = self.program.version() {
            parameters.insert("server_version".to_owned(), version.into());
        }
        parameters.insert(Role::Server.cores().to_owned(), cores.list().into());
        Ok(Serving {
            before: server.cpu(),
            server,
            ends: self.ends,
            forks: self.forks,
            parameters,
            _kept: self.kept,
        })
    }
}

/// A server that listens. Dropping it ends it.
pub(crate) struct Serving {
    server: Offspring,
    /// The CPU time that it took to start.
    before: Duration,
    ends: (Signal, Duration),
    forks: bool,
    parameters: Parameters,
    /// Given back when the server has ended: fields are dropped in order.
    _kept: Option<Copy>,
}

impl Server for Serving {
    fn finish(self: Box<Self>) -> Result<Report, Error> {
        if self.server.ended_within(Duration::ZERO) {
            return Err(self.server.ended_early());
        }
        // What is on its way is the client's to wait for: its program has ended.
        let taken = self.server.cpu();
        let (signal, grace) = self.ends;
        let (_, said) = self.server.stop(signal, grace)?;
        // Children's time comes with the end; a server without any takes some to end, which nobody asked for.
        let taken = if self.forks { said.cpu } else { taken };
        Ok(Report {
            cpu: Nanos::from(taken.saturating_sub(self.before)),
            parameters: self.parameters,
            ..Report::default()
        })
    }
}

/// A serving side that tare starts nothing for: somebody else's server is there already.
pub(crate) struct Elsewhere;

impl Server for Elsewhere {
    fn finish(self: Box<Self>) -> Result<Report, Error> {
        Ok(Report::default())
    }
}
