//! `postgres`: select-only transactions by pgbench against a real PostgreSQL server.
//!
//! PostgreSQL refuses root. Its programs run as `nobody` in a user namespace of their own, which outside of it is the
//! user who runs tare.

use crate::adapters::parse::{first_number, number_after};
use crate::adapters::progress;
use crate::child_process::{ChildProcess, ProgramOutput};
use crate::command::ToolCommand;
use crate::datasets::dataset::{Dataset, STEP_TIMEOUT, await_listening};
use crate::datasets::dataset_directory::{self, DatasetCopy, DatasetDirectory};
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{EXISTING_SERVER, dialled_address, listen_address, whole_seconds};
use crate::server::ToolServerSpec;
use crate::sys::RunAs;
use crate::tool::{Tool, ToolDescription};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_record::{Interval, Metric, Parameters};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{address, size};
use tare_traffic::{
    Error, ExistingServer, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo,
};

const INSTALLED: Option<(&str, &str)> = Some(("/usr/lib/postgresql", "bin"));
const REMEDY: &str = "sudo apt-get install postgresql";
const SERVER: ExternalProgram = ExternalProgram {
    versioned: INSTALLED,
    ..ExternalProgram::new("postgres", REMEDY, &["--version"])
};
const INSTALL: ExternalProgram = ExternalProgram {
    versioned: INSTALLED,
    ..ExternalProgram::new("initdb", REMEDY, &["--version"])
};
const CLIENT: ExternalProgram = ExternalProgram {
    versioned: INSTALLED,
    ..ExternalProgram::new("pgbench", REMEDY, &["--version"])
};

/// Name of the user and of the database, which every server has.
const NAME: &str = "postgres";
/// Environment variables with the user and password of an existing server, as PostgreSQL's own programs name them.
const USER: &str = "PGUSER";
const PASSWORD: &str = "PGPASSWORD";

/// Size of 100000 rows with their index, and of a server without tables, bytes.
const SCALE_SIZE: u64 = 16 << 20;
const BARE_SERVER_SIZE: u64 = 64 << 20;
/// Maximum time to make 100000 rows, s.
const SECONDS_PER_SCALE: u64 = 5;
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// The `postgres` tool.
#[derive(Clone, Debug)]
pub(crate) struct Postgres;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "scale",
        summary: "size of the database, in 100000 rows (-s)",
        kind: ParameterKind::Count { least: 1, most: 100_000 },
        default: Some("1"),
    },
    Parameter {
        name: EXISTING_SERVER,
        summary: "address of an existing server, with pgbench's tables in its database postgres; user and password in PGUSER and PGPASSWORD",
        kind: ParameterKind::Address,
        default: None,
    },
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "postgres",
        summary: "selects of pgbench from a real PostgreSQL server",
        stands_for: "pgbench -S: its own programs are run",
        source: "https://www.postgresql.org/docs/current/pgbench.html",
    },
    metrics: &[
        Metric::Tps,
        Metric::Errors,
        Metric::LatencyMean,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &CLIENT,
    servers: &[&SERVER, &INSTALL],
};

impl Tool for Postgres {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, _: &WorkloadRequest<'_>) -> Result<(), Error> {
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
        PgbenchTables::from_parameters(asked.parameters)?.prepare(asked, say, cancelled)
    }

    fn startup_allowance(&self, parameters: &Parameters) -> Duration {
        PgbenchTables::from_parameters(parameters)
            .map_or(STEP_TIMEOUT, PgbenchTables::create_timeout)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, EXISTING_SERVER).is_some() {
            return Ok(Box::new(ExistingServer));
        }
        let table = PgbenchTables::from_parameters(&task.parameters)?;
        let copy = table.acquire_copy(&mut |_| (), &|| false)?;
        let at = listen_address(task)?;
        let connections = (task.flows as usize).saturating_add(10);
        let call = table.server_command(&copy.directory)?.with_arguments([
            "-h".to_owned(),
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-N".to_owned(),
            connections.to_string(),
        ]);
        remove_pid_file(&copy)?;
        let directory = copy.directory.clone();
        let mut serve = ToolServerSpec::new(&SERVER, call, task).with_dataset(copy);
        serve.is_ready = Box::new(move || is_ready(&directory));
        serve.start_timeout = STEP_TIMEOUT;
        // SIGINT is PostgreSQL's fast shutdown.
        serve.stop = (Signal::INT, STOP_TIMEOUT);
        serve.forks = true;
        Ok(Box::new(serve.start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let there = address(&task.parameters, EXISTING_SERVER);
        let at = there.map_or_else(|| dialled_address(task), Ok)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let call = program.with_arguments(["-S", "-n", "-P", "1", "-h"]).with_arguments([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-c".to_owned(),
            task.flows.to_string(),
            "-j".to_owned(),
            cores.min(task.flows as usize).to_string(),
            "-T".to_owned(),
            whole_seconds(task).to_string(),
        ]);
        if there.is_some() {
            return Ok(call.with_arguments([NAME]));
        }
        let secret = PgbenchTables::from_parameters(&task.parameters)?.directory()?.password()?;
        Ok(call.with_arguments([NAME]).with_variable(USER, NAME).with_variable(PASSWORD, &secret))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output, &said.errors)
    }
}

/// Tables of pgbench at one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PgbenchTables {
    scale: u64,
}

impl PgbenchTables {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        Ok(Self { scale: size(parameters, "scale")? as u64 })
    }

    fn create_timeout(self) -> Duration {
        3 * STEP_TIMEOUT + Duration::from_secs(self.scale.saturating_mul(SECONDS_PER_SCALE))
    }

    /// Returns the command of the server in this directory, without its addresses.
    fn server_command(self, directory: &Path) -> Result<ToolCommand, Error> {
        let buffers = self.size().max(128 << 20) >> 10;
        Ok(ToolCommand::new(SERVER.require()?, ["-D".to_owned(), data_directory(directory)])
            .with_arguments([
                "-c".to_owned(),
                format!("unix_socket_directories={}", directory.display()),
                "-c".to_owned(),
                format!("shared_buffers={buffers}kB"),
            ])
            .run_as(RunAs::Nobody))
    }

    /// Makes the tables by pgbench.
    fn fill(self, directory: &Path, cancelled: &dyn Fn() -> bool) -> Result<(), Error> {
        let fill = ToolCommand::new(CLIENT.require()?, ["-i", "-q", "-s"]).with_arguments([
            self.scale.to_string(),
            "-h".to_owned(),
            directory.display().to_string(),
            "-p".to_owned(),
            "5432".to_owned(),
            "-U".to_owned(),
            NAME.to_owned(),
            NAME.to_owned(),
        ]);
        ChildProcess::start(&fill)?.finish(self.create_timeout(), cancelled).map(drop)
    }
}

impl Dataset for PgbenchTables {
    fn size(&self) -> u64 {
        self.scale.saturating_mul(SCALE_SIZE).saturating_add(BARE_SERVER_SIZE)
    }

    fn directory(&self) -> Result<DatasetDirectory, Error> {
        let version =
            SERVER.version().and_then(|version| first_number(&version)).unwrap_or_default();
        DatasetDirectory::open(&format!("postgres-{version}-{}", self.scale))
    }

    /// Makes an empty server, then its tables by pgbench, over a socket in its directory.
    fn create(
        &self,
        data: &DatasetDirectory,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        data.check_room(self.size())?;
        say(&format!(
            "making a database of scale {} (about {}) in {}; later runs use it again",
            self.scale,
            dataset_directory::format_size(self.size()),
            directory.display()
        ));
        let secret = data.password()?;
        let file = directory.join("password");
        std::fs::write(&file, &secret)
            .map_err(|error| Error::io(format!("write {}", file.display()), error))?;
        let install =
            ToolCommand::new(INSTALL.require()?, ["-D".to_owned(), data_directory(directory)])
                .with_arguments([
                    format!("--pwfile={}", file.display()),
                    format!("--username={NAME}"),
                ])
                .with_arguments(["--auth-local=trust", "--auth-host=scram-sha-256"])
                .with_arguments(["--encoding=UTF8", "--no-locale", "--no-sync"])
                .run_as(RunAs::Nobody);
        ChildProcess::start(&install)?.finish(STEP_TIMEOUT, cancelled)?;
        let hba = directory.join("data/pg_hba.conf");
        let rules = "local all all trust\nhost all all all scram-sha-256\n";
        std::fs::write(&hba, rules)
            .map_err(|error| Error::io(format!("write {}", hba.display()), error))?;
        // The server listens on the socket only. The port's number names its file.
        let server = ChildProcess::start(
            &self.server_command(directory)?.with_arguments(["-h", "", "-p", "5432"]),
        )?;
        let server = await_listening(server, SERVER.name, || is_ready(directory))?;
        self.fill(directory, cancelled)?;
        let (status, said) = server.stop(Signal::INT, self.create_timeout())?;
        if !status.success() {
            return Err(Error::Job(format!(
                "{} failed while it stopped{}",
                SERVER.name,
                said.error_summary()
            )));
        }
        Ok(())
    }
}

fn data_directory(directory: &Path) -> String {
    directory.join("data").display().to_string()
}

/// Returns the path of the PID file of a running server.
fn pid_file(directory: &Path) -> PathBuf {
    directory.join("data/postmaster.pid")
}

/// Returns whether the server in this directory answers. It listens earlier, but refuses all clients while it recovers
/// from having been killed. Its PID file states when it is ready, where `pg_ctl --wait` looks too (PostgreSQL 10 and
/// newer).
fn is_ready(directory: &Path) -> bool {
    std::fs::read_to_string(pid_file(directory)).is_ok_and(|text| has_ready_status(&text))
}

/// Returns whether the eighth line of a PID file states readiness (miscadmin.h, `LOCK_FILE_LINE_PM_STATUS`).
fn has_ready_status(mark: &str) -> bool {
    mark.lines().nth(7).is_some_and(|status| status.trim_end() == "ready")
}

/// Removes the PID file of a server that was killed: the copy is held exclusively.
fn remove_pid_file(copy: &DatasetCopy) -> Result<(), Error> {
    let mark = pid_file(&copy.directory);
    match std::fs::remove_file(&mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", mark.display()), error))
        }
        _ => Ok(()),
    }
}

/// Parses a report of pgbench, of versions from 9.6 on, and its progress reports.
fn read(report: &str, progress: &str) -> Result<ToolReport, String> {
    let missing = |what: &str| format!("the report has no {what}");
    let count = number_after(report, "transactions actually processed:")
        .ok_or_else(|| missing("number of transactions"))?;
    // Before version 14 pgbench stated two rates: with the time that connecting took, and without.
    let rates = || report.lines().filter(|line| line.starts_with("tps ="));
    let rate = rates().find(|line| !line.contains("including")).and_then(first_number);
    let rate = rate.ok_or_else(|| missing("transactions per second"))?;
    let mut reading = ToolReport { operations: count as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Tps, Some(rate));
    let milliseconds =
        number_after(report, "latency average =").or(number_after(report, "latency average:"));
    reading.add_figure(Metric::LatencyMean, milliseconds.map(|mean| mean * 1000.0));
    // Before version 15 a failed transaction ended its client.
    let failed = number_after(report, "number of failed transactions:").unwrap_or(0.0);
    let took = (rate > 0.0).then(|| count / rate).filter(|took| *took > 0.0);
    reading.add_figure(Metric::Errors, took.map(|took| failed / took));
    reading.intervals = intervals(progress);
    Ok(reading)
}

/// Parses the progress reports: `progress: 1.0 s, 24231.8 tps, lat 0.041 ms stddev 0.020, 0 failed`.
fn intervals(said: &str) -> Vec<Interval> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("progress: "));
    progress::intervals_from_rates(lines.filter_map(|line| {
        let mut parts = line.split(", ").map(first_number);
        Some((parts.next()??, parts.next()??))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V_15: &str = include_str!("../../fixtures/pgbench/15.txt");
    const V_15_PROGRESS: &str = include_str!("../../fixtures/pgbench/15-progress.txt");
    const V_11: &str = include_str!("../../fixtures/pgbench/11.txt");

    #[test]
    fn a_server_answers_when_it_says_so() {
        let mark = |status| {
            format!("4711\n/data\n1700000000\n5432\n/run\n10.0.0.2\n  5243019 17\n{status}\n")
        };
        assert!(has_ready_status(&mark("ready   ")));
        for early in ["", "4711\n/data\n", &mark("starting"), &mark("stopping")] {
            assert!(!has_ready_status(early), "{early}");
        }
    }

    #[test]
    fn a_report_is_read_without_the_time_to_connect() {
        let reading = read(V_15, V_15_PROGRESS).unwrap();
        assert!(V_15.contains(&format!("tps = {}", reading.stated[&Metric::Tps])));
        assert_eq!(reading.stated[&Metric::Errors], 0.0);
        assert!(reading.stated[&Metric::LatencyMean] > 0.0);
        assert_eq!(reading.intervals.len(), V_15_PROGRESS.lines().count());
        assert!(reading.intervals.iter().all(|one| one.operations > 0));
        let old = read(V_11, "").unwrap();
        assert_eq!(old.stated[&Metric::Tps], 20_121.5);
        assert_eq!(old.stated[&Metric::LatencyMean], 49.0);
        assert_eq!(old.operations, 40_203);
    }

    #[test]
    fn a_report_without_a_rate_is_none() {
        assert!(read("", "").is_err());
        assert!(read("transactions actually processed: 7", "").unwrap_err().contains("per second"));
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..1000) {
            let _ = (read(&text, &text), intervals(&format!("progress: {text}")));
            let cut = V_15.char_indices().nth(cut).map_or(V_15.len(), |(at, _)| at);
            let _ = read(&V_15[..cut], &text);
        }
    }
}
