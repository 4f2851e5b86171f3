//! `postgres`: pgbench's select-only transactions against a real PostgreSQL server.
//!
//! PostgreSQL refuses root. Its programs are `nobody` in a user namespace of their own, which outside of it is whoever runs
//! tare.

use super::call::Call;
use super::calling::Reading;
use super::contents::{Contents, STEP, until_listening};
use super::data::{self, Copy, Data};
use super::offspring::{Offspring, Said};
use super::program::Program;
use super::progress;
use super::serving::{Elsewhere, Serve};
use super::words::{after, leading};
use super::{THERE, Tool, dials, seconds};
use crate::parameters::{address, size};
use crate::sys::As;
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_record::{Interval, Metric, Parameters};

const INSTALLED: Option<(&str, &str)> = Some(("/usr/lib/postgresql", "bin"));
const REMEDY: &str = "sudo apt-get install postgresql";
const SERVER: Program =
    Program { versioned: INSTALLED, ..Program::new("postgres", REMEDY, &["--version"]) };
const INSTALL: Program =
    Program { versioned: INSTALLED, ..Program::new("initdb", REMEDY, &["--version"]) };
const CLIENT: Program =
    Program { versioned: INSTALLED, ..Program::new("pgbench", REMEDY, &["--version"]) };

/// The user and the database, which every server has.
const NAME: &str = "postgres";
/// Who dials a server that was there already, and its password, as PostgreSQL's own programs know them.
const USER: &str = "PGUSER";
const PASSWORD: &str = "PGPASSWORD";

/// What 100000 rows take with their index, and a server without tables, bytes.
const SCALE: u64 = 16 << 20;
const BARE: u64 = 64 << 20;
/// The seconds that 100000 rows take at most to be made.
const WRITES: u64 = 5;
const ENDS: Duration = Duration::from_secs(6);

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Postgres;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "scale",
        summary: "how large the database is, in 100000 rows (-s)",
        kind: Kind::Count { least: 1, most: 100_000 },
        default: Some("1"),
    },
    Parameter {
        name: THERE,
        summary: "a server that is there already, with pgbench's tables in its database postgres; user and password in PGUSER and PGPASSWORD",
        kind: Kind::Address,
        default: None,
    },
];

impl Tool for Postgres {
    fn about(&self) -> About {
        About {
            name: "postgres",
            summary: "selects of pgbench from a real PostgreSQL server",
            stands_for: "pgbench -S: its own programs are run",
            source: "https://www.postgresql.org/docs/current/pgbench.html",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Tps,
            Metric::Errors,
            Metric::LatencyMean,
            Metric::CpuPerOp,
            Metric::CyclesPerOp,
            Metric::InstructionsPerOp,
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn client(&self) -> &'static Program {
        &CLIENT
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[&SERVER, &INSTALL]
    }

    fn fits(&self, _: &Asked<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        if address(asked.parameters, THERE).is_some() {
            return Ok(());
        }
        Table::of(asked.parameters)?.prepare(asked, say, cancelled)
    }

    fn starts_within(&self, parameters: &Parameters) -> Duration {
        Table::of(parameters).map_or(STEP, Table::made_within)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, THERE).is_some() {
            return Ok(Box::new(Elsewhere));
        }
        let table = Table::of(&task.parameters)?;
        let copy = table.copy(&mut |_| (), &|| false)?;
        let at = dials(task)?;
        let connections = (task.flows as usize).saturating_add(10);
        let call = table.server(&copy.directory)?.with([
            "-h".to_owned(),
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-N".to_owned(),
            connections.to_string(),
        ]);
        clear(&copy)?;
        let directory = copy.directory.clone();
        let mut serve = Serve::new(&SERVER, call, task).keeping(copy);
        serve.answers = Box::new(move || answers(&directory));
        serve.within = STEP;
        // Its fast shutdown.
        serve.ends = (Signal::INT, ENDS);
        serve.forks = true;
        Ok(Box::new(serve.start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let there = address(&task.parameters, THERE);
        let at = there.map_or_else(|| dials(task), Ok)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let call = program.with(["-S", "-n", "-P", "1", "-h"]).with([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-c".to_owned(),
            task.flows.to_string(),
            "-j".to_owned(),
            cores.min(task.flows as usize).to_string(),
            "-T".to_owned(),
            seconds(task).to_string(),
        ]);
        if there.is_some() {
            return Ok(call.with([NAME]));
        }
        let secret = Table::of(&task.parameters)?.data()?.secret()?;
        Ok(call.with([NAME]).variable(USER, NAME).variable(PASSWORD, &secret))
    }

    fn read(&self, _: &Task, said: &Said) -> Result<Reading, String> {
        read(&said.output, &said.errors)
    }
}

/// The table of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Table {
    scale: u64,
}

impl Table {
    fn of(parameters: &Parameters) -> Result<Self, Error> {
        Ok(Self { scale: size(parameters, "scale")? as u64 })
    }

    fn made_within(self) -> Duration {
        3 * STEP + Duration::from_secs(self.scale.saturating_mul(WRITES))
    }

    /// The server in this directory, but for how it is reached.
    fn server(self, directory: &Path) -> Result<Call, Error> {
        let buffers = self.bytes().max(128 << 20) >> 10;
        Ok(Call::new(SERVER.require()?, ["-D".to_owned(), of(directory)])
            .with([
                "-c".to_owned(),
                format!("unix_socket_directories={}", directory.display()),
                "-c".to_owned(),
                format!("shared_buffers={buffers}kB"),
            ])
            .run_as(As::Nobody))
    }

    /// Has pgbench make its tables.
    fn fill(self, directory: &Path, cancelled: &dyn Fn() -> bool) -> Result<(), Error> {
        let fill = Call::new(CLIENT.require()?, ["-i", "-q", "-s"]).with([
            self.scale.to_string(),
            "-h".to_owned(),
            directory.display().to_string(),
            "-p".to_owned(),
            "5432".to_owned(),
            "-U".to_owned(),
            NAME.to_owned(),
            NAME.to_owned(),
        ]);
        Offspring::start(&fill)?.finish(self.made_within(), cancelled).map(drop)
    }
}

impl Contents for Table {
    fn bytes(&self) -> u64 {
        self.scale.saturating_mul(SCALE).saturating_add(BARE)
    }

    fn data(&self) -> Result<Data, Error> {
        let version = SERVER.version().and_then(|version| leading(&version)).unwrap_or_default();
        Data::of(&format!("postgres-{version}-{}", self.scale))
    }

    /// An empty server, then its tables by pgbench, over a socket in its directory.
    fn make(
        &self,
        data: &Data,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        data.has_room(self.bytes())?;
        say(&format!(
            "making a database of scale {}, about {}, in {}: once",
            self.scale,
            data::size(self.bytes()),
            directory.display()
        ));
        let secret = data.secret()?;
        let file = directory.join("password");
        std::fs::write(&file, &secret)
            .map_err(|error| Error::io(format!("write {}", file.display()), error))?;
        let install = Call::new(INSTALL.require()?, ["-D".to_owned(), of(directory)])
            .with([format!("--pwfile={}", file.display()), format!("--username={NAME}")])
            .with(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .with(["--encoding=UTF8", "--no-locale", "--no-sync"])
            .run_as(As::Nobody);
        Offspring::start(&install)?.finish(STEP, cancelled)?;
        let hba = directory.join("data/pg_hba.conf");
        let rules = "local all all trust\nhost all all all scram-sha-256\n";
        std::fs::write(&hba, rules)
            .map_err(|error| Error::io(format!("write {}", hba.display()), error))?;
        // On the socket alone: its number names the file.
        let server = Offspring::start(&self.server(directory)?.with(["-h", "", "-p", "5432"]))?;
        let server = until_listening(server, SERVER.name, || answers(directory))?;
        self.fill(directory, cancelled)?;
        let (status, said) = server.stop(Signal::INT, self.made_within())?;
        if !status.success() {
            return Err(Error::Job(format!("{} ended badly{}", SERVER.name, said.last_words())));
        }
        Ok(())
    }
}

fn of(directory: &Path) -> String {
    directory.join("data").display().to_string()
}

/// Where a server that runs says so.
fn mark(directory: &Path) -> PathBuf {
    directory.join("data/postmaster.pid")
}

/// Whether the server in this directory answers: it listens before, and refuses everybody for as long as it recovers from
/// having been killed. It says so where its own `pg_ctl --wait` looks (PostgreSQL 10 and newer).
fn answers(directory: &Path) -> bool {
    std::fs::read_to_string(mark(directory)).is_ok_and(|text| tells_ready(&text))
}

/// The eighth line (miscadmin.h, `LOCK_FILE_LINE_PM_STATUS`).
fn tells_ready(mark: &str) -> bool {
    mark.lines().nth(7).is_some_and(|status| status.trim_end() == "ready")
}

/// Removes the mark of a server that was killed: nobody else has the data.
fn clear(copy: &Copy) -> Result<(), Error> {
    let mark = mark(&copy.directory);
    match std::fs::remove_file(&mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", mark.display()), error))
        }
        _ => Ok(()),
    }
}

/// Reads a report of pgbench, of versions from 9.6 on, and the progress that it tells meanwhile.
fn read(report: &str, progress: &str) -> Result<Reading, String> {
    let missing = |what: &str| format!("its report does not say {what}");
    let count = after(report, "transactions actually processed:")
        .ok_or_else(|| missing("how many transactions"))?;
    // Before version 14 it told both, with the time that connecting took and without.
    let rates = || report.lines().filter(|line| line.starts_with("tps ="));
    let rate = rates().find(|line| !line.contains("including")).and_then(leading);
    let rate = rate.ok_or_else(|| missing("how many transactions a second"))?;
    let mut reading = Reading { operations: count as u64, ..Reading::default() };
    reading.state(Metric::Tps, Some(rate));
    let milliseconds = after(report, "latency average =").or(after(report, "latency average:"));
    reading.state(Metric::LatencyMean, milliseconds.map(|mean| mean * 1000.0));
    // Before version 15 a transaction that failed ended its client.
    let failed = after(report, "number of failed transactions:").unwrap_or(0.0);
    let took = (rate > 0.0).then(|| count / rate).filter(|took| *took > 0.0);
    reading.state(Metric::Errors, took.map(|took| failed / took));
    reading.intervals = intervals(progress);
    Ok(reading)
}

/// Its progress: `progress: 1.0 s, 24231.8 tps, lat 0.041 ms stddev 0.020, 0 failed`.
fn intervals(said: &str) -> Vec<Interval> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("progress: "));
    progress::intervals(lines.filter_map(|line| {
        let mut parts = line.split(", ").map(leading);
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
        assert!(tells_ready(&mark("ready   ")));
        for early in ["", "4711\n/data\n", &mark("starting"), &mark("stopping")] {
            assert!(!tells_ready(early), "{early}");
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
        assert!(read("transactions actually processed: 7", "").unwrap_err().contains("a second"));
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
