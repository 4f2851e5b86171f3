//! External tools as workloads: databases, and the established programs for measuring networks.
//!
//! A [`Tool`] consists of two external programs. The server's agent starts one and waits until it listens. The client's
//! agent runs the other and reads its output into figures, which are kept as the tool stated them: a user who knows the
//! tool finds the figures that it would have printed. Only agents start external programs, and the programs die with
//! them.

mod cached_dataset;
mod child_process;
mod client;
mod command;
mod dataset;
mod dataset_directory;
mod dataset_lock;
mod fortio;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod http;
mod iperf;
mod iperf3;
mod mysql;
mod netperf;
mod parse;
mod postgres;
mod program;
mod progress;
mod qperf;
mod redis;
mod server;
mod socket_table;
mod sockperf;
mod sysbench;
mod wrk;

pub use cached_dataset::CachedDataset;
pub(crate) use fortio::Fortio;
pub(crate) use iperf::Iperf;
pub(crate) use iperf3::Iperf3;
pub(crate) use mysql::Mysql;
pub(crate) use netperf::{Netperf, NetperfTest};
pub(crate) use postgres::Postgres;
pub(crate) use qperf::Qperf;
pub(crate) use redis::Redis;
pub(crate) use sockperf::Sockperf;
pub(crate) use wrk::Wrk;

use crate::workload::WorkloadRequest;
use crate::{Client, Error, Parameter, Server, TrialTask, Workload, WorkloadInfo};
use child_process::ProgramOutput;
use client::{ToolClient, ToolReport};
use command::ToolCommand;
use program::ExternalProgram;
use std::time::Duration;
use tare_network::UnmetRequirement;
use tare_record::{Metric, Parameters};

/// External tool. To add one takes a file in this directory and a line in the registry.
pub(crate) trait Tool: Clone + Send + Sync + 'static {
    /// Returns the tool's name and description.
    fn info(&self) -> WorkloadInfo;

    /// Returns the metrics that the tool states.
    fn metrics(&self) -> &'static [Metric];

    /// Returns the tool's options that users can choose.
    fn parameters(&self) -> &'static [Parameter];

    /// Returns the number of ports on which its server listens.
    fn port_count(&self) -> usize {
        1
    }

    /// Returns the program that runs in the client.
    fn client(&self) -> &'static ExternalProgram;

    /// Returns the programs that run in the server. Empty if tare itself serves the tool.
    fn servers(&self) -> &'static [&'static ExternalProgram];

    /// Returns the time for which the tool generates traffic. Most tools accept whole seconds only.
    fn duration(&self, task: &TrialTask) -> Duration {
        Duration::from_secs(whole_seconds(task))
    }

    /// Checks whether the tool supports the request: some options of tare have no counterpart in it.
    ///
    /// # Errors
    /// [`Error::Job`] with the unsupported option.
    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error>;

    /// Makes the data that its servers need and that take long to make, once for all runs.
    ///
    /// # Errors
    /// When there is no room for the data, or they cannot be made.
    fn prepare(
        &self,
        _asked: &WorkloadRequest<'_>,
        _say: &mut dyn FnMut(&str),
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the time that its server may take to start, in addition to that of a workload of tare.
    fn startup_allowance(&self, _parameters: &Parameters) -> Duration {
        Duration::ZERO
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// When the server cannot be started.
    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error>;

    /// Returns the command of the client program. Runs the tool's calibration first, if it needs one.
    ///
    /// # Errors
    /// When the program is missing or the calibration fails.
    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error>;

    /// Parses the output of the client program.
    ///
    /// # Errors
    /// With the defect of the output, in words.
    fn parse_output(&self, task: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String>;
}

/// Name of the parameter with the address of an existing server.
const EXISTING_SERVER: &str = "server";

/// Adapter that makes a tool a workload.
#[derive(Debug)]
pub(crate) struct ToolWorkload<T>(pub(crate) T);

impl<T: Tool> Workload for ToolWorkload<T> {
    fn info(&self) -> WorkloadInfo {
        self.0.info()
    }

    fn metrics(&self) -> &'static [Metric] {
        self.0.metrics()
    }

    fn port_count(&self) -> usize {
        self.0.port_count()
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.0.parameters()
    }

    fn programs(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.servers().iter().map(|program| program.name).collect();
        if !names.contains(&self.0.client().name) {
            names.push(self.0.client().name);
        }
        names
    }

    fn missing(&self, asked: &Parameters) -> Option<UnmetRequirement> {
        // A client of an existing server needs no server program.
        let own = if asked.contains_key(EXISTING_SERVER) { &[][..] } else { self.0.servers() };
        let servers = own.iter().copied();
        servers.chain([self.0.client()]).find_map(ExternalProgram::missing)
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        self.0.validate(asked)
    }

    fn prepare(
        &self,
        asked: &WorkloadRequest<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.0.prepare(asked, say, cancelled)
    }

    fn startup_allowance(&self, parameters: &Parameters) -> Duration {
        self.0.startup_allowance(parameters)
    }

    fn duration(&self, task: &TrialTask) -> Duration {
        self.0.duration(task)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        self.0.serve(task)
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let program = self.0.client();
        let call = self.0.client_command(task, ToolCommand::new(program.require()?, [""; 0]))?;
        let (tool, of) = (self.0.clone(), task.clone());
        let read = Box::new(move |said: &ProgramOutput| tool.parse_output(&of, said));
        Ok(Box::new(ToolClient::new(program, call, read, (task, self.0.duration(task)))))
    }
}

/// Returns the task's duration in whole seconds, rounded up, at least 1.
fn whole_seconds(task: &TrialTask) -> u64 {
    task.duration.0.div_ceil(1_000_000_000).max(1)
}

/// Returns the address that a client dials. Fails if the task has none.
fn dialled_address(task: &TrialTask) -> Result<std::net::SocketAddr, Error> {
    let first = task.addresses.first().copied();
    first.ok_or_else(|| {
        Error::Job("the task has no address to listen on or to connect to".to_owned())
    })
}

/// Checks that each client process has its own server and one flow.
fn require_one_flow(
    tool: &str,
    why_not_shared: &str,
    asked: &WorkloadRequest<'_>,
) -> Result<(), Error> {
    if asked.shape.flows > 1 {
        return unsupported(
            tool,
            "each client process has one flow: use tcp-stream or iperf3 for more flows",
        );
    }
    require_server_per_client(tool, why_not_shared, asked)
}

/// Checks that each client process has its own server.
fn require_server_per_client(
    tool: &str,
    why_not_shared: &str,
    asked: &WorkloadRequest<'_>,
) -> Result<(), Error> {
    if asked.client_processes() > asked.shape.servers {
        let what = format!("{why_not_shared}: use as many --servers as client processes");
        return unsupported(tool, &what);
    }
    Ok(())
}

/// Returns the error that a tool does not support something, with the remedy.
fn unsupported<O>(tool: &str, what: &str) -> Result<O, Error> {
    Err(Error::Job(format!("{tool}: {what}")))
}
