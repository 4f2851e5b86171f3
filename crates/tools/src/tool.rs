//! Trait of an external tool, and the adapter that makes it a workload.

use crate::child_process::ProgramOutput;
use crate::client::ToolClient;
use crate::command::ToolCommand;
use crate::default_congestion::{DefaultCongestionServer, record_default};
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{EXISTING_SERVER, whole_seconds};
use std::time::Duration;
use tare_network::UnmetRequirement;
use tare_record::{Metric, Nanos, Parameters, SliceKind};
use tare_traffic::parameters::CONGESTION;
use tare_traffic::{
    Client, Error, Parameter, Server, TrialTask, Workload, WorkloadInfo, WorkloadRequest,
};

/// Shortest slice of a client program, of which longer ones are multiples: most programs accept whole seconds only.
const SLICE_UNIT: Nanos = Nanos(1_000_000_000);

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

    /// Returns true if trials can run in slices: the server lasts from slice to slice, the client program can be run
    /// for a second again and again, and the reports of its runs can be put together, which takes a histogram for
    /// percentiles. The task of a client has the duration of one slice then.
    fn can_run_in_slices(&self) -> bool {
        false
    }

    /// Returns true if its payload is carried by TCP.
    fn uses_tcp(&self, _parameters: &Parameters) -> bool {
        true
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

    fn has_default_congestion(&self, parameters: &Parameters) -> bool {
        let chooses = self.parameters().iter().any(|parameter| parameter.name == CONGESTION);
        !chooses && self.0.uses_tcp(parameters)
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        self.0.can_run_in_slices().then_some(SliceKind::Program { unit: SLICE_UNIT })
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let server = self.0.serve(task)?;
        let is_own = !task.parameters.contains_key(EXISTING_SERVER);
        let has_default = is_own && self.has_default_congestion(&task.parameters);
        Ok(if has_default { Box::new(DefaultCongestionServer::new(server)) } else { server })
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        if task.slices.is_some() && !self.0.can_run_in_slices() {
            return Err(Error::not_in_slices());
        }
        let program = self.0.description().client;
        let mut task = task_of_one_run(task);
        if self.has_default_congestion(&task.parameters) {
            record_default(&mut task.parameters);
        }
        let task = &task;
        let call = self.0.client_command(task, ToolCommand::new(program.require()?, [""; 0]))?;
        let (tool, of) = (self.0.clone(), task.clone());
        let read = Box::new(move |said: &ProgramOutput| tool.parse_output(&of, said));
        Ok(Box::new(ToolClient::new(program, call, read, (task, self.0.duration(task)))))
    }
}

/// Returns the task of one run of the client program, which in a trial in slices is one slice.
fn task_of_one_run(task: &TrialTask) -> TrialTask {
    let duration = task.slices.map_or(task.duration, |plan| plan.slice_time());
    TrialTask { duration, ..task.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::SlicePlan;
    use tare_traffic::ExistingServer;

    const SHELL: ExternalProgram = ExternalProgram::new("sh", "", &["-c", "echo 1"]);

    const DESCRIPTION: ToolDescription = ToolDescription {
        info: WorkloadInfo { name: "shell", summary: "", stands_for: "", source: "" },
        metrics: &[Metric::Tps],
        parameters: &[],
        port_count: 1,
        client: &SHELL,
        servers: &[],
    };

    /// Tool that prints for how many seconds it is asked to run.
    #[derive(Clone)]
    struct Shell {
        is_sliced: bool,
    }

    impl Tool for Shell {
        fn description(&self) -> &'static ToolDescription {
            &DESCRIPTION
        }

        fn can_run_in_slices(&self) -> bool {
            self.is_sliced
        }

        fn validate(&self, _: &WorkloadRequest<'_>) -> Result<(), Error> {
            Ok(())
        }

        fn serve(&self, _: &TrialTask) -> Result<Box<dyn Server>, Error> {
            Ok(Box::new(ExistingServer))
        }

        fn client_command(
            &self,
            task: &TrialTask,
            program: ToolCommand,
        ) -> Result<ToolCommand, Error> {
            Ok(program.with_arguments(["-c".to_owned(), format!("echo {}", whole_seconds(task))]))
        }

        fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
            let operations = said.output.trim().parse().map_err(|_| "no number".to_owned())?;
            Ok(ToolReport { operations, ..ToolReport::default() })
        }
    }

    /// Returns a task of five seconds in slices of two.
    fn sliced_task() -> TrialTask {
        let length = Nanos(2 * SLICE_UNIT.0);
        let slices = SlicePlan { rounds: 2, warm_up: 1, length, skip: Nanos(0) };
        let alone =
            TrialTask::single_flow("shell", Parameters::new(), Nanos(5 * SLICE_UNIT.0), SLICE_UNIT);
        TrialTask { slices: Some(slices), ..alone }
    }

    #[test]
    fn a_program_is_run_anew_in_every_slice_and_for_one_slice() {
        let workload = ToolWorkload(Shell { is_sliced: true });
        assert_eq!(workload.slice_kind(), Some(SliceKind::Program { unit: SLICE_UNIT }));
        let mut client = workload.connect(&sliced_task()).unwrap();
        for _ in 0..3 {
            assert_eq!(client.run_slice().unwrap(), 0);
        }
        let report = client.finish().unwrap();
        let told: Vec<u64> = report.series[0].intervals.iter().map(|one| one.operations).collect();
        assert_eq!(told, [2, 2]);
        assert!(report.epoch.is_some());
    }

    #[test]
    fn both_ends_record_the_default_congestion_control() {
        let workload = ToolWorkload(Shell { is_sliced: false });
        let task = TrialTask { slices: None, ..sliced_task() };
        let client = workload.connect(&task).unwrap().run().unwrap();
        let server = workload.serve(&task).unwrap().finish().unwrap();
        let expected = tare_traffic::default_congestion();
        assert!(expected.is_some());
        for report in [client, server] {
            let used = report.parameters.get(CONGESTION).and_then(|name| name.as_str());
            assert_eq!(used, expected.as_deref());
        }
    }

    #[test]
    fn programs_have_the_default_congestion_control_unless_they_choose_one_or_use_no_tcp() {
        for (name, parameters, expected) in [
            ("redis", &[][..], true),
            ("wrk", &[], true),
            ("netperf", &[], true),
            ("iperf3", &[], false),
            ("iperf", &[], false),
            ("iperf3-udp", &[], false),
            ("sockperf", &[], false),
            ("sockperf", &[("protocol", "tcp")], true),
        ] {
            let all = crate::workloads();
            let workload = all.iter().find(|workload| workload.info().name == name).unwrap();
            let asked = parameters.iter().map(|&(name, value)| (name.to_owned(), value.into()));
            let resolved = workload.resolve(&asked.collect()).unwrap();
            assert_eq!(workload.has_default_congestion(&resolved), expected, "{name} {resolved:?}");
        }
    }

    #[test]
    fn a_tool_that_cannot_run_in_slices_is_refused_slices() {
        let workload = ToolWorkload(Shell { is_sliced: false });
        assert_eq!(workload.slice_kind(), None);
        let refused = workload.connect(&sliced_task()).err().unwrap().to_string();
        assert!(refused.contains("--slice off"), "{refused}");
        let whole = TrialTask { slices: None, ..sliced_task() };
        assert!(workload.connect(&whole).unwrap().run_slice().is_err());
        let report = workload.connect(&whole).unwrap().run().unwrap();
        assert_eq!(report.series[0].intervals[0].operations, 5);
    }
}
