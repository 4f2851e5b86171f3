//! `mysql`: point selects by sysbench against a real MariaDB or MySQL server.
//!
//! The server is private to tare, with data that are made once, or an existing one. It runs as the user who runs tare,
//! which in the lab is at most root of a user namespace.

mod tables;

use crate::adapters::sysbench;
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::datasets::dataset::{Dataset as _, STEP_TIMEOUT};
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{
    EXISTING_SERVER, dialled_address, listen_address, unsupported, whole_seconds,
};
use crate::server::ToolServerSpec;
use crate::tool::{Tool, ToolDescription};
use rustix::process::Signal;
use std::time::Duration;
use tables::MysqlTables;
use tare_record::{Metric, Parameters};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{address, optional_size};
use tare_traffic::{
    Error, ExistingServer, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo,
};

const SERVER: ExternalProgram =
    ExternalProgram::new("mariadbd", "sudo apt-get install mariadb-server", &["--version"]);
const INSTALL: ExternalProgram = ExternalProgram::new(
    "mariadb-install-db",
    "sudo apt-get install mariadb-server",
    &["--version"],
);
const CLIENT: ExternalProgram =
    ExternalProgram::new("sysbench", "sudo apt-get install sysbench", &["--version"]);

/// Name of the database and of its user.
const DATABASE: &str = "sbtest";
/// Environment variables with the user and password of an existing server.
const USER: &str = "TARE_MYSQL_USER";
const PASSWORD: &str = "TARE_MYSQL_PASSWORD";

/// Time that a server may take to end: it writes its data to disk.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// The `mysql` tool.
#[derive(Clone, Debug)]
pub(crate) struct Mysql;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threads",
        summary: "threads of sysbench in each client process, each with a connection [as many as flows]",
        kind: ParameterKind::Count { least: 1, most: 4096 },
        default: None,
    },
    Parameter {
        name: "tables",
        summary: "number of tables",
        kind: ParameterKind::Count { least: 1, most: 1000 },
        default: Some("4"),
    },
    Parameter {
        name: "rows",
        summary: "rows of each table",
        kind: ParameterKind::Count { least: 1, most: 1_000_000_000 },
        default: Some("10000"),
    },
    Parameter {
        name: EXISTING_SERVER,
        summary: "address of an existing server, with such tables in its database sbtest; user and password in TARE_MYSQL_USER and TARE_MYSQL_PASSWORD",
        kind: ParameterKind::Address,
        default: None,
    },
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "mysql",
        summary: "point selects of sysbench from a real MariaDB server",
        stands_for: "sysbench oltp_point_select (select.lua of sysbench 0.5): its own programs are run",
        source: "https://github.com/akopytov/sysbench",
    },
    metrics: &[
        Metric::Tps,
        Metric::Errors,
        Metric::LatencyMean,
        Metric::LatencyP95,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
        Metric::CpuBusy,
        Metric::SoftirqCore,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &CLIENT,
    servers: &[&SERVER, &INSTALL],
};

impl Tool for Mysql {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        if asked.shape.flows > 1 && optional_size(asked.parameters, "threads").is_some() {
            return unsupported(
                "mysql",
                "the flows are the threads of sysbench: use --flows or --threads, not both",
            );
        }
        Ok(())
    }

    fn prepare(
        &self,
        asked: &WorkloadRequest<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        if address(asked.parameters, EXISTING_SERVER).is_some() {
            return Ok(());
        }
        MysqlTables::from_parameters(asked.parameters)?.prepare(asked, say, cancelled)
    }

    fn startup_allowance(&self, parameters: &Parameters) -> Duration {
        MysqlTables::from_parameters(parameters)
            .map_or(STEP_TIMEOUT, |tables| tables.create_timeout())
    }

    fn can_run_in_slices(&self) -> bool {
        true
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, EXISTING_SERVER).is_some() {
            return Ok(Box::new(ExistingServer));
        }
        let tables = MysqlTables::from_parameters(&task.parameters)?;
        let copy = tables.acquire_copy(&mut |_| (), &|| false)?;
        let call = tables.trial_command(&copy, listen_address(task)?, task)?;
        let socket = tables::socket(&copy);
        let mut serve = ToolServerSpec::new(&SERVER, call, task).with_dataset(copy);
        serve.start_timeout = STEP_TIMEOUT;
        if task.slices.is_some() {
            serve.is_ready = Box::new(move || tables::is_greeted(&socket));
            serve.start_timeout = tables.create_timeout();
        }
        serve.stop = (Signal::TERM, STOP_TIMEOUT);
        Ok(Box::new(serve.start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let tables = MysqlTables::from_parameters(&task.parameters)?;
        let (at, user, password) = match address(&task.parameters, EXISTING_SERVER) {
            Some(at) => {
                let variable = |name| std::env::var(name).ok();
                (
                    at,
                    variable(USER).unwrap_or_else(|| DATABASE.to_owned()),
                    variable(PASSWORD).unwrap_or_default(),
                )
            }
            None => (dialled_address(task)?, DATABASE.to_owned(), password(task)),
        };
        let program = program.with_arguments(tables.sysbench_arguments(threads(task)));
        let program = program.with_arguments(task.slices.map(|_| "--histogram=on"));
        Ok(program.with_input(sysbench::password_option(&password)?).with_arguments([
            format!("--mysql-host={}", at.ip()),
            format!("--mysql-port={}", at.port()),
            format!("--mysql-user={user}"),
            "--config-file=/dev/stdin".to_owned(),
            format!("--time={}", whole_seconds(task)),
            "--report-interval=1".to_owned(),
            "--rand-type=uniform".to_owned(),
            "--percentile=95".to_owned(),
            "run".to_owned(),
        ]))
    }

    fn parse_output(&self, task: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        let mut reading = sysbench::read(&said.output)?;
        if task.slices.is_some() && reading.latencies.is_none() && reading.operations > 0 {
            return Err("the report has no histogram of latencies".to_owned());
        }
        reading.parameters.insert("threads".to_owned(), threads(task).into());
        Ok(reading)
    }
}

/// Returns the number of threads of a client process.
fn threads(task: &TrialTask) -> usize {
    optional_size(&task.parameters, "threads").unwrap_or(task.flows as usize)
}

/// Returns the password of this trial. It is new in every trial, because others may reach the server.
fn password(task: &TrialTask) -> String {
    format!("{:016x}", task.token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::task_of;

    #[test]
    fn threads_are_flows_unless_they_are_given() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = TrialTask { flows: 3, ..task_of("mysql", at) };
        assert_eq!(threads(&task), 3);
        task.parameters.insert("threads".to_owned(), 100.into());
        assert_eq!(threads(&task), 100);
        let shape = tare_record::Shape { flows: 3, ..tare_record::Shape::default() };
        let asked = WorkloadRequest {
            parameters: &task.parameters,
            shape: &shape,
            duration: task.duration,
            networks: 1,
        };
        assert!(Mysql.validate(&asked).unwrap_err().to_string().contains("--threads"));
    }

    #[test]
    fn a_server_of_somebody_elses_is_dialled_where_it_is() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = task_of("mysql", at);
        task.parameters.insert("server".to_owned(), "192.0.2.7:3306".into());
        let call =
            Mysql.client_command(&task, ToolCommand::new("/bin/true".into(), [""; 0])).unwrap();
        let text = format!("{call:?}");
        assert!(text.contains("--mysql-host=192.0.2.7") && text.contains("--mysql-port=3306"));
        assert!(Mysql.serve(&task).is_ok(), "nothing is started for it");
    }

    #[test]
    fn a_password_is_in_no_argument() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let task = task_of("mysql", at);
        let call =
            Mysql.client_command(&task, ToolCommand::new("/bin/true".into(), [""; 0])).unwrap();
        let text = format!("{call:?}");
        assert!(text.contains("--mysql-user=") && !text.contains(&password(&task)), "{text}");
    }
}
