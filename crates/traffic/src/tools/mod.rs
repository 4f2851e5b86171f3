//! Foreign tools as workloads: databases, and the programs by which people have always measured networks.
//!
//! A [`Tool`] is two programs of somebody else's. The server's agent starts the one and waits until it listens; the
//! client's agent runs the other, and its output is read into figures, which are kept as the tool stated them: whoever
//! knows the tool shall find what it would have told them. Programs are started by agents alone, and die with them.

mod call;
mod calling;
mod contents;
mod data;
mod fortio;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod http;
mod iperf;
mod iperf3;
mod kept;
mod listening;
mod mysql;
mod netperf;
mod offspring;
mod postgres;
mod program;
mod progress;
mod qperf;
mod redis;
mod serving;
mod sockperf;
mod sysbench;
mod words;
mod wrk;

pub(crate) use fortio::Fortio;
pub(crate) use iperf::Iperf;
pub(crate) use iperf3::Iperf3;
pub use kept::Kept;
pub(crate) use mysql::Mysql;
pub(crate) use netperf::{Netperf, Test as NetperfTest};
pub(crate) use postgres::Postgres;
pub(crate) use qperf::Qperf;
pub(crate) use redis::Redis;
pub(crate) use sockperf::Sockperf;
pub(crate) use wrk::Wrk;

use crate::workload::Asked;
use crate::{About, Client, Error, Parameter, Server, Task, Workload};
use call::Call;
use calling::{Calling, Reading};
use offspring::Said;
use program::Program;
use std::time::Duration;
use tare_network::Missing;
use tare_record::{Metric, Parameters};

/// A foreign tool. One is a file of this directory and a line in the registry.
pub(crate) trait Tool: Clone + Send + Sync + 'static {
    /// What it is.
    fn about(&self) -> About;

    /// What it states.
    fn metrics(&self) -> &'static [Metric];

    /// Its parameters: those of its own that can be chosen.
    fn parameters(&self) -> &'static [Parameter];

    /// How many ports its server listens on.
    fn ports(&self) -> usize {
        1
    }

    /// The program that is run in the client.
    fn client(&self) -> &'static Program;

    /// The programs that are run in the server; none where tare itself serves it.
    fn servers(&self) -> &'static [&'static Program];

    /// How long it generates: most know whole seconds alone.
    fn lasts(&self, task: &Task) -> Duration {
        Duration::from_secs(seconds(task))
    }

    /// Whether it can do what was asked, where something of tare's has no counterpart in it.
    ///
    /// # Errors
    /// [`Error::Job`], with what it cannot.
    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error>;

    /// Makes what its servers will need and what takes long, once and for all runs: data.
    ///
    /// # Errors
    /// When there is no room for it, or it cannot be made.
    fn prepare(
        &self,
        _asked: &Asked<'_>,
        _say: &mut dyn FnMut(&str),
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// How much longer than a workload of tare's its server may take to start.
    fn starts_within(&self, _parameters: &Parameters) -> Duration {
        Duration::ZERO
    }

    /// Starts the server; it listens when this returns.
    ///
    /// # Errors
    /// When it cannot be started.
    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error>;

    /// How the client is called. What it has to find out by experiment before, it does here.
    ///
    /// # Errors
    /// When its program is not there, or the experiment fails.
    fn call(&self, task: &Task, program: Call) -> Result<Call, Error>;

    /// Reads what the client said.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn read(&self, task: &Task, said: &Said) -> Result<Reading, String>;
}

/// The parameter that says where a server is already.
const THERE: &str = "server";

/// A tool as a workload.
#[derive(Debug)]
pub(crate) struct Tooled<T>(pub(crate) T);

impl<T: Tool> Workload for Tooled<T> {
    fn about(&self) -> About {
        self.0.about()
    }

    fn metrics(&self) -> &'static [Metric] {
        self.0.metrics()
    }

    fn ports(&self) -> usize {
        self.0.ports()
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.0.parameters()
    }

    fn programs(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.servers().iter().map(|program| program.name).collect();
        if !names.contains(&self.0.client().name) {
            names.push(self.0.client().name);
        }
        names
    }

    fn lacks(&self, asked: &Parameters) -> Option<Missing> {
        // Who dials a server that is there already needs none of his own.
        let own = if asked.contains_key(THERE) { &[][..] } else { self.0.servers() };
        let servers = own.iter().copied();
        servers.chain([self.0.client()]).find_map(Program::missing)
    }

    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error> {
        self.0.fits(asked)
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.0.prepare(asked, say, cancelled)
    }

    fn starts_within(&self, parameters: &Parameters) -> Duration {
        self.0.starts_within(parameters)
    }

    fn lasts(&self, task: &Task) -> Duration {
        self.0.lasts(task)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        self.0.serve(task)
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        let program = self.0.client();
        let call = self.0.call(task, Call::new(program.require()?, [""; 0]))?;
        let (tool, of) = (self.0.clone(), task.clone());
        let read = Box::new(move |said: &Said| tool.read(&of, said));
        Ok(Box::new(Calling::new(program, call, read, (task, self.0.lasts(task)))))
    }
}

/// The task's duration in whole seconds, and none less than asked.
fn seconds(task: &Task) -> u64 {
    task.duration.0.div_ceil(1_000_000_000).max(1)
}

/// The address that a client dials.
fn dials(task: &Task) -> Result<std::net::SocketAddr, Error> {
    let first = task.addresses.first().copied();
    first.ok_or_else(|| Error::Job("no address to listen on or to dial".to_owned()))
}

/// Whether each client has a server, and no more than one flow.
fn one_flow_each(tool: &str, why_not_shared: &str, asked: &Asked<'_>) -> Result<(), Error> {
    if asked.shape.flows > 1 {
        return cannot(tool, "it has one flow: use tcp-stream or iperf3 for more");
    }
    one_server_each(tool, why_not_shared, asked)
}

/// Whether each client has a server.
fn one_server_each(tool: &str, why_not_shared: &str, asked: &Asked<'_>) -> Result<(), Error> {
    if asked.client_processes() > asked.shape.servers {
        let what = format!("{why_not_shared}: as many servers as clients and processes");
        return cannot(tool, &what);
    }
    Ok(())
}

/// That a tool cannot do something, and what to do about it.
fn cannot<O>(tool: &str, what: &str) -> Result<O, Error> {
    Err(Error::Job(format!("{tool}: {what}")))
}
