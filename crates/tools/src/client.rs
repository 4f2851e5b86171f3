//! Client side of a tool: its client program, run once in a trial or once in every slice of it.

use crate::child_process::{ChildProcess, ProgramOutput};
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::slice_reports::SliceReports;
use std::time::Duration;
use tare_record::{EndCounts, Interval, Nanos, Parameters, Series};
use tare_traffic::placement::{SideCores, TrafficRole};
use tare_traffic::{Client, Error, SideReport, TrialTask, clock};

/// Time that a client program may take in addition to its duration: to connect, to start threads, to print its result.
const CLIENT_GRACE: Duration = Duration::from_secs(8);

/// Parser of a client program's output.
pub(crate) type OutputParser = Box<dyn Fn(&ProgramOutput) -> Result<ToolReport, String> + Send>;

/// Client program, ready to start.
pub(crate) struct ToolClient {
    command: ToolCommand,
    parse: OutputParser,
    /// Time for which one run of the program generates traffic.
    duration: Duration,
    task: TrialTask,
    parameters: Parameters,
    cores: SideCores,
    /// Slices so far. `None` if the trial runs in one piece.
    slices: Option<ClientSlices>,
}

/// Slices of a client program so far.
struct ClientSlices {
    reports: SliceReports,
    /// CPU time of those that count.
    cpu: Duration,
    /// Beginning of the first one that counts, by this side's clock.
    epoch: Option<Nanos>,
}

impl ToolClient {
    /// Creates a client from a program, the command of one run, the parser of its output, and the task with the duration
    /// of one run.
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
        let slices = task.slices.map(|plan| ClientSlices {
            reports: SliceReports::new(plan),
            cpu: Duration::ZERO,
            epoch: None,
        });
        let (command, parse, task) = (call, read, task.clone());
        Self { command, parse, duration: lasts, task, parameters, cores, slices }
    }

    /// Runs the program once. Returns its result and its CPU time.
    fn run_program(&self) -> Result<(ToolReport, Duration), Error> {
        let said =
            ChildProcess::start(&self.command)?.finish(self.duration + CLIENT_GRACE, &|| false)?;
        let report = (self.parse)(&said).map_err(|why| {
            Error::Job(format!("{}: {why}{}", self.command.name(), said.error_summary()))
        })?;
        Ok((report, said.cpu))
    }

    /// Returns the report of this side, from the result of the trial.
    fn into_side_report(
        self,
        report: ToolReport,
        cpu: Duration,
        epoch: Option<Nanos>,
    ) -> SideReport {
        let Self { task, mut parameters, cores, .. } = self;
        parameters.extend(report.parameters);
        parameters.insert(TrafficRole::Client.cores_parameter().to_owned(), cores.list().into());
        SideReport {
            series: vec![Series {
                client: task.client,
                intervals: report.intervals,
                stated: report.stated,
            }],
            ends: EndCounts::default(),
            parameters,
            findings: report.findings,
            cpu: Nanos::from(cpu),
            epoch,
            ..SideReport::default()
        }
    }
}

impl Client for ToolClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let epoch = clock::now();
        let (mut report, cpu) = self.run_program()?;
        if report.intervals.is_empty() {
            report.intervals.push(Interval {
                length: Nanos::from(self.duration),
                bytes: report.bytes,
                operations: report.operations,
                ..Interval::default()
            });
        }
        Ok(self.into_side_report(report, cpu, Some(epoch)))
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        let epoch = clock::now();
        let (report, cpu) = self.run_program()?;
        let slices = self.slices.as_mut().ok_or_else(Error::not_in_slices)?;
        if slices.reports.add(report) {
            slices.cpu += cpu;
            slices.epoch.get_or_insert(epoch);
        }
        // The program ends once it has all answers: nothing is on its way to the server.
        Ok(0)
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let ClientSlices { reports, cpu, epoch } =
            self.slices.take().ok_or_else(Error::not_in_slices)?;
        Ok(self.into_side_report(reports.into_report(), cpu, epoch))
    }
}
