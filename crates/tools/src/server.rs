//! Server side of a tool: its server program, from its start to the end of the trial.

use crate::child_process::ChildProcess;
use crate::command::ToolCommand;
use crate::datasets::dataset_directory::DatasetCopy;
use crate::program::ExternalProgram;
use crate::socket_table::{TransportProtocol, is_listening};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tare_record::{Nanos, Parameters};
use tare_traffic::placement::{SideCores, TrafficRole};
use tare_traffic::{Error, SentBytes, Server, SideReport, TrialTask};

/// Period at which a starting server is checked for listening.
const TICK: Duration = Duration::from_millis(5);

/// Default time that a server may take to listen.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(8);

/// Description of a server: its command, and the conditions under which it is ready.
pub(crate) struct ToolServerSpec<'t> {
    /// Program of the server.
    pub(crate) program: &'static ExternalProgram,
    /// Command of the server, without its cores.
    pub(crate) command: ToolCommand,
    /// All addresses on which the server listens.
    pub(crate) listens_on: Vec<(SocketAddr, TransportProtocol)>,
    /// Check that the server answers, for servers that listen before they do.
    pub(crate) is_ready: Box<dyn Fn() -> bool>,
    /// Time that the server may take to listen.
    pub(crate) start_timeout: Duration,
    /// Signal that asks the server to end, and the time that it may take to do so.
    pub(crate) stop: (Signal, Duration),
    /// True if the server works in child processes.
    pub(crate) forks: bool,
    /// Task of the server's side.
    task: &'t TrialTask,
    /// Copy of a data set that the server holds while it runs.
    dataset: Option<DatasetCopy>,
}

impl<'t> ToolServerSpec<'t> {
    /// Describes a server that listens on the first address of its task over TCP, and needs no clean shutdown.
    pub(crate) fn new(
        program: &'static ExternalProgram,
        call: ToolCommand,
        task: &'t TrialTask,
    ) -> Self {
        let listens =
            task.addresses.first().map(|&at| (at, TransportProtocol::Tcp)).into_iter().collect();
        Self {
            program,
            command: call,
            listens_on: listens,
            is_ready: Box::new(|| true),
            start_timeout: START_TIMEOUT,
            stop: (Signal::KILL, Duration::ZERO),
            forks: false,
            task,
            dataset: None,
        }
    }

    /// Adds a copy of a data set that the server holds while it runs.
    pub(crate) fn with_dataset(self, data: DatasetCopy) -> Self {
        Self { dataset: Some(data), ..self }
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// When the server ends before it listens, with the end of its output, or takes too long.
    pub(crate) fn start(self) -> Result<ToolServer, Error> {
        let cores = SideCores::for_role(&self.task.cpus, TrafficRole::Server);
        let server = ChildProcess::start(&self.command.on_cores(cores.list().to_vec()))?;
        let until = Instant::now() + self.start_timeout;
        let all_listen =
            || self.listens_on.iter().all(|&(at, protocol)| is_listening(at, protocol));
        let ready = || all_listen() && (self.is_ready)();
        while !ready() {
            if server.ended_within(TICK) {
                return Err(server.into_early_end());
            }
            if Instant::now() >= until {
                let (_, said) = server.stop(Signal::KILL, Duration::ZERO)?;
                return Err(Error::Job(format!(
                    "{} did not listen within {:?}{}",
                    self.program.name,
                    self.start_timeout,
                    said.error_summary()
                )));
            }
        }
        let mut parameters = Parameters::new();
        if let Some(version) = self.program.version() {
            parameters.insert("server_version".to_owned(), version.into());
        }
        parameters.insert(TrafficRole::Server.cores_parameter().to_owned(), cores.list().into());
        Ok(ToolServer {
            startup_cpu: server.cpu(),
            warm_up: self.task.slices.map_or(0, |plan| plan.warm_up),
            server,
            stop: self.stop,
            forks: self.forks,
            parameters,
            _dataset: self.dataset,
        })
    }
}

/// Running server. Dropping it ends the server.
pub(crate) struct ToolServer {
    server: ChildProcess,
    /// CPU time of the start, and of the slices that do not count.
    startup_cpu: Duration,
    /// Number of slices to come that do not count.
    warm_up: u32,
    stop: (Signal, Duration),
    forks: bool,
    parameters: Parameters,
    /// Released after the server has ended: fields are dropped in order.
    _dataset: Option<DatasetCopy>,
}

impl Server for ToolServer {
    fn settle(&mut self, _sent: u64) -> Result<SentBytes, Error> {
        // Nothing is on its way: the client program has all answers when it ends.
        if self.warm_up > 0 {
            self.warm_up -= 1;
            self.startup_cpu = self.server.cpu();
        }
        Ok(SentBytes::new())
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        if self.server.ended_within(Duration::ZERO) {
            return Err(self.server.into_early_end());
        }
        // The client waits for what is in flight: its program has ended.
        let taken = self.server.cpu();
        let (signal, grace) = self.stop;
        let (_, said) = self.server.stop(signal, grace)?;
        // The CPU time of children is known at the end. A server without children takes some time to end, which is not
        // part of the trial.
        let taken = if self.forks { said.cpu } else { taken };
        Ok(SideReport {
            cpu: Nanos::from(taken.saturating_sub(self.startup_cpu)),
            parameters: self.parameters,
            ..SideReport::default()
        })
    }
}
