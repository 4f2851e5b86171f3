//! Client side of a tool: its client program, run once, and the parsing of its output.

use crate::child_process::{ChildProcess, ProgramOutput};
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use std::collections::BTreeMap;
use std::time::Duration;
use tare_record::{EndCounts, Finding, Interval, Metric, Nanos, Parameters, Series};
use tare_traffic::placement::{SideCores, TrafficRole};
use tare_traffic::{Client, Error, SideReport, TrialTask, clock};

/// Time that a client program may take in addition to its duration: to connect, to start threads, to print its result.
const CLIENT_GRACE: Duration = Duration::from_secs(8);

/// Result that was parsed from a tool's output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolReport {
    /// Figures of the tool, each in its metric's unit.
    pub(crate) stated: BTreeMap<Metric, f64>,
    /// Interval records. Empty if the tool states only totals.
    pub(crate) intervals: Vec<Interval>,
    /// Total payload bytes. 0 if the tool does not count them.
    pub(crate) bytes: u64,
    /// Total transactions. 0 if the tool does not count them.
    pub(crate) operations: u64,
    /// Further parameters that the tool reports as in force.
    pub(crate) parameters: Parameters,
    /// Findings about the trial.
    pub(crate) findings: Vec<Finding>,
}

impl ToolReport {
    /// Adds a figure, if there is one and it is finite.
    pub(crate) fn add_figure(&mut self, metric: Metric, figure: Option<f64>) {
        if let Some(figure) = figure.filter(|figure| figure.is_finite()) {
            self.stated.insert(metric, figure);
        }
    }
}

/// Parser of a client program's output.
pub(crate) type OutputParser = Box<dyn FnOnce(&ProgramOutput) -> Result<ToolReport, String> + Send>;

/// Client program, ready to start.
pub(crate) struct ToolClient {
    command: ToolCommand,
    parse: OutputParser,
    /// Time for which the program generates traffic.
    duration: Duration,
    task: TrialTask,
    parameters: Parameters,
    cores: SideCores,
}

impl ToolClient {
    /// Creates a client from a program, its command, the parser of its output, and the task with its duration.
    pub(crate) fn new(
        program: &'static ExternalProgram,
        call: ToolCommand,
        read: OutputParser,
        (task, lasts): (&TrialTask, Duration),
    ) -> Self {
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        let mut parameters = task.parameters.clone();
        if let Some(version) = program.version() {
            parameters.insert("client_version".to_owned(), version.into());
        }
        let call = call.on_cores(cores.list().to_vec());
        Self { command: call, parse: read, duration: lasts, task: task.clone(), parameters, cores }
    }
}

impl Client for ToolClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let Self { command: call, parse: read, duration: lasts, task, mut parameters, cores } =
            *self;
        let epoch = clock::now();
        let said = ChildProcess::start(&call)?.finish(lasts + CLIENT_GRACE, &|| false)?;
        let reading = read(&said)
            .map_err(|why| Error::Job(format!("{}: {why}{}", call.name(), said.error_summary())))?;
        let intervals = match reading.intervals {
            none if none.is_empty() => vec![Interval {
                length: Nanos::from(lasts),
                bytes: reading.bytes,
                operations: reading.operations,
                ..Interval::default()
            }],
            intervals => intervals,
        };
        parameters.extend(reading.parameters);
        parameters.insert(TrafficRole::Client.cores_parameter().to_owned(), cores.list().into());
        Ok(SideReport {
            series: vec![Series { client: task.client, intervals, stated: reading.stated }],
            ends: EndCounts::default(),
            parameters,
            findings: reading.findings,
            cpu: Nanos::from(said.cpu),
            epoch: Some(epoch),
            ..SideReport::default()
        })
    }
}
