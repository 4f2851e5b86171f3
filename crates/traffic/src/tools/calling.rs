//! The generating side of a tool: its client program, run once, and what is read from what it says.

use super::call::Call;
use super::offspring::{Offspring, Said};
use super::program::Program;
use crate::placement::{Cores, Role};
use crate::{Client, Error, Report, Task, clock};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_record::{Ends, Finding, Interval, Metric, Nanos, Parameters, Series};

/// How much longer than it should a client program may take: to connect, to start threads, to say what it found.
const PATIENCE: Duration = Duration::from_secs(8);

/// What was read from what a tool said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Its figures, each in its metric's unit.
    pub(crate) stated: BTreeMap<Metric, f64>,
    /// What it said of short stretches; nothing where it speaks of the whole alone.
    pub(crate) intervals: Vec<Interval>,
    /// Payload bytes of the whole, where it counts them.
    pub(crate) bytes: u64,
    /// Transactions of the whole, where it counts them.
    pub(crate) operations: u64,
    /// What else it said was in force.
    pub(crate) parameters: Parameters,
    /// What is to be noticed.
    pub(crate) findings: Vec<Finding>,
}

impl Reading {
    /// With one more figure, where there is one that is a number.
    pub(crate) fn state(&mut self, metric: Metric, figure: Option<f64>) {
        if let Some(figure) = figure.filter(|figure| figure.is_finite()) {
            self.stated.insert(metric, figure);
        }
    }
}

/// Reads what a client program said.
pub(crate) type Read = Box<dyn FnOnce(&Said) -> Result<Reading, String> + Send>;

/// A client program that is there and ready to be started.
pub(crate) struct Calling {
    call: Call,
    read: Read,
    /// How long it generates.
    lasts: Duration,
    task: Task,
    parameters: Parameters,
    cores: Cores,
}

impl Calling {
    /// A program to call for so long, and the one who reads what it says.
    pub(crate) fn new(
        program: &'static Program,
        call: Call,
        read: Read,
        (task, lasts): (&Task, Duration),
    ) -> Self {
        let cores = Cores::of(&task.cpus, Role::Client);
        let mut parameters = task.parameters.clone();
        if let Some(version) = program.version() {
            parameters.insert("client_version".to_owned(), version.into());
        }
        let call = call.on(cores.list().to_vec());
        Self { call, read, lasts, task: task.clone(), parameters, cores }
    }
}

impl Client for Calling {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { call, read, lasts, task, mut parameters, cores } = *self;
        let epoch = clock::now();
        let said = Offspring::start(&call)?.finish(lasts + PATIENCE, &|| false)?;
        let reading = read(&said)
            .map_err(|why| Error::Job(format!("{}: {why}{}", call.name(), said.last_words())))?;
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
        parameters.insert(Role::Client.cores().to_owned(), cores.list().into());
        Ok(Report {
            series: vec![Series { client: task.client, intervals, stated: reading.stated }],
            ends: Ends::default(),
            parameters,
            findings: reading.findings,
            cpu: Nanos::from(said.cpu),
            epoch: Some(epoch),
            ..Report::default()
        })
    }
}
