//! `mysql`: point selects of sysbench against a real MariaDB or MySQL server.
//!
//! The server is tare's own, private and with data that are made once, or one that is there already. It works as whoever
//! runs tare, which in the lab is root of a user namespace at most.

use super::calling::Reading;
use super::data::{self, Copy, Data};
use super::offspring::{Call, Offspring, Said};
use super::program::Program;
use super::serving::{Elsewhere, Serve};
use super::{Tool, cannot, dials, seconds, sysbench};
use crate::parameters::{address, optional_size};
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use rustix::process::Signal;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tare_record::{Metric, Parameters};

const SERVER: Program =
    Program::new("mariadbd", "sudo apt-get install mariadb-server", &["--version"]);
const INSTALL: Program =
    Program::new("mariadb-install-db", "sudo apt-get install mariadb-server", &["--version"]);
const CLIENT: Program = Program::new("sysbench", "sudo apt-get install sysbench", &["--version"]);

/// The database, and the user that sees it.
const DATABASE: &str = "sbtest";
/// The server's socket, in its data directory.
const SOCKET: &str = "s.sock";
/// Who dials a server that was there already, and its password.
const USER: &str = "TARE_MYSQL_USER";
const PASSWORD: &str = "TARE_MYSQL_PASSWORD";

/// What a row takes with its index, bytes: 100 million of them are about 24 GB.
const ROW: u64 = 240;
/// What a table takes whatever is in it, and a server without tables, bytes.
const TABLE: u64 = 11 << 20;
const BARE: u64 = 28 << 20;
/// The fewest rows a second that are written where data are made.
const WRITES: u64 = 2_000;
/// How long a server may take to end by itself: it writes down what it holds.
const ENDS: Duration = Duration::from_secs(6);
/// How long each step of making data takes at most beside writing rows.
const STEP: Duration = Duration::from_secs(60);

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Mysql;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threads",
        summary: "threads of sysbench in each client process, each with a connection [as many as flows]",
        kind: Kind::Count { least: 1, most: 4096 },
        default: None,
    },
    Parameter {
        name: "tables",
        summary: "tables",
        kind: Kind::Count { least: 1, most: 1000 },
        default: Some("4"),
    },
    Parameter {
        name: "rows",
        summary: "rows of each table",
        kind: Kind::Count { least: 1, most: 1_000_000_000 },
        default: Some("10000"),
    },
    Parameter {
        name: "server",
        summary: "a server that is there already, with such tables in its database sbtest; user and password in TARE_MYSQL_USER and TARE_MYSQL_PASSWORD",
        kind: Kind::Address,
        default: None,
    },
];

impl Tool for Mysql {
    fn about(&self) -> About {
        About {
            name: "mysql",
            summary: "point selects of sysbench from a real MariaDB server",
            stands_for: "sysbench oltp_point_select (select.lua of sysbench 0.5): its own programs are run",
            source: "https://github.com/akopytov/sysbench",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Tps,
            Metric::Errors,
            Metric::LatencyMean,
            Metric::LatencyP95,
            Metric::LatencyMax,
            Metric::CpuPerOp,
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

    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error> {
        if asked.shape.flows > 1 && optional_size(asked.parameters, "threads").is_some() {
            return cannot(
                "mysql",
                "its flows are its threads: give --flows or --threads, not both",
            );
        }
        Ok(())
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        if address(asked.parameters, "server").is_some() {
            return Ok(());
        }
        let tables = Tables::of(asked.parameters)?;
        data::fits_in_memory(tables.bytes().saturating_mul(asked.shape.servers.into()))?;
        let data = tables.data()?;
        // Held together, so that there are as many as servers.
        let mut copies = Vec::new();
        for _ in 0..asked.shape.servers {
            copies.push(data.take(|directory| tables.make(&data, directory, say, cancelled))?);
        }
        Ok(())
    }

    fn starts_within(&self, parameters: &Parameters) -> Duration {
        Tables::of(parameters).map_or(STEP, |tables| tables.made_within())
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, "server").is_some() {
            return Ok(Box::new(Elsewhere));
        }
        let tables = Tables::of(&task.parameters)?;
        let data = tables.data()?;
        let copy = data.take(|directory| tables.make(&data, directory, &mut |_| (), &|| false))?;
        let call = tables.serve(&copy, dials(task)?, task)?;
        let mut serve = Serve::new(&SERVER, call, task).keeping(copy);
        serve.within = STEP;
        serve.ends = (Signal::TERM, ENDS);
        Ok(Box::new(serve.start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let tables = Tables::of(&task.parameters)?;
        let (at, user, password) = match address(&task.parameters, "server") {
            Some(at) => {
                let variable = |name| std::env::var(name).ok();
                (
                    at,
                    variable(USER).unwrap_or_else(|| DATABASE.to_owned()),
                    variable(PASSWORD).unwrap_or_default(),
                )
            }
            None => (dials(task)?, DATABASE.to_owned(), password(task)),
        };
        Ok(program.with(tables.sysbench(threads(task))).with([
            format!("--mysql-host={}", at.ip()),
            format!("--mysql-port={}", at.port()),
            format!("--mysql-user={user}"),
            format!("--mysql-password={password}"),
            format!("--time={}", seconds(task)),
            "--report-interval=1".to_owned(),
            "--rand-type=uniform".to_owned(),
            "--percentile=95".to_owned(),
            "run".to_owned(),
        ]))
    }

    fn read(&self, task: &Task, said: &Said) -> Result<Reading, String> {
        let mut reading = sysbench::read(&said.output)?;
        reading.parameters.insert("threads".to_owned(), threads(task).into());
        Ok(reading)
    }
}

/// The threads of a client process.
fn threads(task: &Task) -> usize {
    optional_size(&task.parameters, "threads").unwrap_or(task.flows as usize)
}

/// A password of this trial's alone: it may be that others reach the server.
fn password(task: &Task) -> String {
    format!("{:016x}", task.token)
}

/// The tables of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tables {
    tables: u64,
    rows: u64,
}

impl Tables {
    fn of(parameters: &Parameters) -> Result<Self, Error> {
        let count = |name| crate::parameters::size(parameters, name).map(|count| count as u64);
        Ok(Self { tables: count("tables")?, rows: count("rows")? })
    }

    fn all_rows(self) -> u64 {
        self.tables.saturating_mul(self.rows)
    }

    /// What they take, on disk and in memory: they shall fit into the latter, for a disk is no network.
    fn bytes(self) -> u64 {
        let fixed = BARE.saturating_add(self.tables.saturating_mul(TABLE));
        self.all_rows().saturating_mul(ROW).saturating_add(fixed)
    }

    /// How long it takes to make them, at most.
    fn made_within(self) -> Duration {
        3 * STEP + Duration::from_secs(self.all_rows() / WRITES)
    }

    /// Where they are kept: another version of the server may not read them.
    fn data(self) -> Result<Data, Error> {
        let version = SERVER.version().unwrap_or_default();
        let number = version
            .split_whitespace()
            .find(|word| word.starts_with(|one: char| one.is_ascii_digit()))
            .map(|word| word.split(|one: char| !one.is_ascii_digit() && one != '.').next());
        let number = number.flatten().unwrap_or("unknown");
        Data::of(&format!("mysql-{number}-{}x{}", self.tables, self.rows))
    }

    /// The arguments of sysbench that say which tables.
    fn sysbench(self, threads: usize) -> Vec<String> {
        vec![
            "oltp_point_select".to_owned(),
            "--db-driver=mysql".to_owned(),
            format!("--mysql-db={DATABASE}"),
            format!("--tables={}", self.tables),
            format!("--table-size={}", self.rows),
            format!("--threads={threads}"),
        ]
    }

    /// The server on this directory, but for how it is reached.
    fn server(self, directory: &Path, init: &str) -> Result<Call, Error> {
        let init_file = directory.join("init.sql");
        fs::write(&init_file, init)
            .map_err(|error| Error::io(format!("write {}", init_file.display()), error))?;
        let data = directory.join("data");
        Ok(Call::new(SERVER.require()?, OPTIONS)
            .with([
                format!("--datadir={}", data.display()),
                tmpdir(directory),
                format!("--socket={SOCKET}"),
                format!("--init-file={}", init_file.display()),
                format!("--innodb-buffer-pool-size={}", self.bytes().max(128 << 20)),
            ])
            .within(data))
    }

    /// The server for a trial: its one user may read, and has the trial's password.
    fn serve(self, copy: &Copy, at: SocketAddr, task: &Task) -> Result<Call, Error> {
        let init = format!(
            "CREATE OR REPLACE USER '{DATABASE}'@'%' IDENTIFIED BY '{}';\nGRANT SELECT ON {DATABASE}.* TO '{DATABASE}'@'%';\n",
            password(task)
        );
        // A server is told the flows of all its clients; threads, where they are told apart, are of each of them.
        let threads = optional_size(&task.parameters, "threads").unwrap_or(1);
        let connections = threads.saturating_mul(task.flows as usize).saturating_add(10);
        Ok(self.server(&copy.directory, &init)?.with([
            format!("--bind-address={}", at.ip()),
            format!("--port={}", at.port()),
            format!("--max-connections={connections}"),
            format!("--back-log={}", connections.clamp(80, 65_535)),
        ]))
    }

    /// Makes the data in an empty directory: an empty server, then its tables by sysbench, over a socket in it.
    fn make(
        self,
        data: &Data,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        data.has_room(self.bytes())?;
        say(&format!(
            "making {} tables of {} rows, about {}, in {}: once",
            self.tables,
            self.rows,
            data::size(self.bytes()),
            directory.display()
        ));
        let datadir = format!("--datadir={}", directory.join("data").display());
        let tmpdir = tmpdir(directory);
        let install = Call::new(INSTALL.require()?, OPTIONS).with([
            datadir.as_str(),
            tmpdir.as_str(),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]);
        Offspring::start(&install)?.finish(STEP, cancelled)?;
        let init = format!("CREATE DATABASE {DATABASE};\n");
        let call = self.server(directory, &init)?.with(["--skip-networking"]);
        let server = Offspring::start(&call)?;
        let socket = directory.join("data").join(SOCKET);
        let until = Instant::now() + STEP;
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            if server.ended_within(Duration::from_millis(20)) {
                return Err(server.ended_early());
            }
            if Instant::now() >= until {
                return Err(Error::Job(format!("{} did not listen within {STEP:?}", SERVER.name)));
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let fill = Call::new(CLIENT.require()?, self.sysbench(threads.min(self.tables as usize)))
            .with([
                format!("--mysql-socket={}", socket.display()),
                "--mysql-user=root".to_owned(),
                "prepare".to_owned(),
            ]);
        Offspring::start(&fill)?.finish(self.made_within(), cancelled)?;
        // It writes everything down before it ends.
        let (status, said) = server.stop(Signal::TERM, self.made_within())?;
        if !status.success() {
            return Err(Error::Job(format!("{} ended badly{}", SERVER.name, said.last_words())));
        }
        Ok(())
    }
}

/// Temporary tables of two servers that are made at once have the same names.
fn tmpdir(directory: &Path) -> String {
    format!("--tmpdir={}", directory.display())
}

/// What the server and its installation are told in any case.
const OPTIONS: [&str; 6] = [
    "--no-defaults",
    // Root, where root runs it; nobody else can choose, and for them it means nothing.
    "--user=root",
    "--skip-name-resolve",
    "--innodb-log-file-size=16M",
    "--innodb-undo-tablespaces=0",
    "--innodb-flush-log-at-trx-commit=2",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_rows() {
        let published = Tables { tables: 20, rows: 5_000_000 };
        assert_eq!(data::size(published.bytes()), "24.3 GB");
        assert!(published.made_within() > Duration::from_secs(3600));
    }

    #[test]
    fn threads_are_flows_unless_they_are_given() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = Task { flows: 3, ..crate::workload::tests::task("mysql", at) };
        assert_eq!(threads(&task), 3);
        task.parameters.insert("threads".to_owned(), 100.into());
        assert_eq!(threads(&task), 100);
        let shape = tare_record::Shape { flows: 3, ..tare_record::Shape::default() };
        let asked = Asked { parameters: &task.parameters, shape: &shape, duration: task.duration };
        assert!(Mysql.fits(&asked).unwrap_err().to_string().contains("--threads"));
    }

    #[test]
    fn a_server_of_somebody_elses_is_dialled_where_it_is() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = crate::workload::tests::task("mysql", at);
        task.parameters.insert("server".to_owned(), "192.0.2.7:3306".into());
        let call = Mysql.call(&task, Call::new("/bin/true".into(), [""; 0])).unwrap();
        let text = format!("{call:?}");
        assert!(text.contains("--mysql-host=192.0.2.7") && text.contains("--mysql-port=3306"));
        assert!(Mysql.serve(&task).is_ok(), "nothing is started for it");
    }
}
