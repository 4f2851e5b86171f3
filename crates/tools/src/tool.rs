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

/// Row of a tool: all that does not depend on a trial.
pub(crate) struct ToolDescription {
    /// Name and description.
    pub(crate) info: WorkloadInfo,
    /// Metrics that the tool states, and those that tare adds.
    pub(crate) metrics: &'static [Metric],
    /// Options of the tool that users can choose.
    pub(crate) parameters: &'static [Parameter],
    /// Number of ports on which its server listens.
    pub(crate) port_count: usize,
    /// Program that runs in the client.
    pub(crate) client: &'static ExternalProgram,
    /// Programs that run in the server. Empty if tare itself serves the tool.
    pub(crate) servers: &'static [&'static ExternalProgram],
}

/// External tool. To add one takes a file in `adapters/` and a line in [`crate::workloads`].
pub(crate) trait Tool: Clone + Send + Sync + 'static {
    /// Returns the row of the tool.
    fn description(&self) -> &'static ToolDescription;

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
        self.0.description().info.clone()
    }

    fn metrics(&self) -> &'static [Metric] {
        self.0.description().metrics
    }

    fn port_count(&self) -> usize {
        self.0.description().port_count
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.0.description().parameters
    }

    fn programs(&self) -> Vec<&'static str> {
        let ToolDescription { client, servers, .. } = self.0.description();
        let mut names: Vec<_> = servers.iter().map(|program| program.name).collect();
        if !names.contains(&client.name) {
            names.push(client.name);
        }
        names
    }

    fn missing(&self, asked: &Parameters) -> Option<UnmetRequirement> {
        // A client of an existing server needs no server program.
        let ToolDescription { client, servers, .. } = self.0.description();
        let own = if asked.contains_key(EXISTING_SERVER) { &[][..] } else { servers };
        own.iter().copied().chain([*client]).find_map(ExternalProgram::missing)
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
        let program = self.0.description().client;
        let call = self.0.client_command(task, ToolCommand::new(program.require()?, [""; 0]))?;
        let (tool, of) = (self.0.clone(), task.clone());
        let read = Box::new(move |said: &ProgramOutput| tool.parse_output(&of, said));
        Ok(Box::new(ToolClient::new(program, call, read, (task, self.0.duration(task)))))
    }
}
