//! `mysql`: point selects of sysbench against a real MariaDB or MySQL server.
//!
//! The server is tare's own, private and with data that are made once, or one that is there already. It works as whoever
//! runs tare, which in the lab is root of a user namespace at most.

mod tables;

use super::call::Call;
use super::calling::Reading;
use super::contents::{Contents as _, STEP};
use super::offspring::Said;
use super::program::Program;
use super::serving::{Elsewhere, Serve};
use super::{THERE, Tool, cannot, dials, seconds, sysbench};
use crate::parameters::{address, optional_size};
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use rustix::process::Signal;
use std::time::Duration;
use tables::Tables;
use tare_record::{Metric, Parameters};

const SERVER: Program =
    Program::new("mariadbd", "sudo apt-get install mariadb-server", &["--version"]);
const INSTALL: Program =
    Program::new("mariadb-install-db", "sudo apt-get install mariadb-server", &["--version"]);
const CLIENT: Program = Program::new("sysbench", "sudo apt-get install sysbench", &["--version"]);

/// The database, and the user that sees it.
const DATABASE: &str = "sbtest";
/// Who dials a server that was there already, and its password.
const USER: &str = "TARE_MYSQL_USER";
const PASSWORD: &str = "TARE_MYSQL_PASSWORD";

/// How long a server may take to end by itself: it writes down what it holds.
const ENDS: Duration = Duration::from_secs(6);

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
        name: THERE,
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
        if address(asked.parameters, THERE).is_some() {
            return Ok(());
        }
        Tables::of(asked.parameters)?.prepare(asked, say, cancelled)
    }

    fn starts_within(&self, parameters: &Parameters) -> Duration {
        Tables::of(parameters).map_or(STEP, |tables| tables.made_within())
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, THERE).is_some() {
            return Ok(Box::new(Elsewhere));
        }
        let tables = Tables::of(&task.parameters)?;
        let copy = tables.copy(&mut |_| (), &|| false)?;
        let call = tables.serve(&copy, dials(task)?, task)?;
        let mut serve = Serve::new(&SERVER, call, task).keeping(copy);
        serve.within = STEP;
        serve.ends = (Signal::TERM, ENDS);
        Ok(Box::new(serve.start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let tables = Tables::of(&task.parameters)?;
        let (at, user, password) = match address(&task.parameters, THERE) {
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
        let program = program.with(tables.sysbench(threads(task)));
        Ok(program.reading(sysbench::password(&password)?).with([
            format!("--mysql-host={}", at.ip()),
            format!("--mysql-port={}", at.port()),
            format!("--mysql-user={user}"),
            "--config-file=/dev/stdin".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_flows_unless_they_are_given() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = Task { flows: 3, ..crate::Task::made_up("mysql", at) };
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
        let mut task = crate::Task::made_up("mysql", at);
        task.parameters.insert("server".to_owned(), "192.0.2.7:3306".into());
        let call = Mysql.call(&task, Call::new("/bin/true".into(), [""; 0])).unwrap();
        let text = format!("{call:?}");
        assert!(text.contains("--mysql-host=192.0.2.7") && text.contains("--mysql-port=3306"));
        assert!(Mysql.serve(&task).is_ok(), "nothing is started for it");
    }

    #[test]
    fn a_password_is_in_no_argument() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let task = crate::Task::made_up("mysql", at);
        let call = Mysql.call(&task, Call::new("/bin/true".into(), [""; 0])).unwrap();
        let text = format!("{call:?}");
        assert!(text.contains("--mysql-user=") && !text.contains(&password(&task)), "{text}");
    }
}
