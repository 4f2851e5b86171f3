//! Trait of an external tool, and the adapter that makes it a workload.

use crate::child_process::ProgramOutput;
use crate::client::{ToolClient, ToolReport};
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::request::{EXISTING_SERVER, whole_seconds};
use std::time::Duration;
use tare_network::UnmetRequirement;
use tare_record::{Metric, Parameters};
use tare_traffic::{
    Client, Error, Parameter, Server, TrialTask, Workload, WorkloadInfo, WorkloadRequest,
};

/// External tool. To add one takes a file in `adapters/` and a line in [`crate::workloads`].
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
