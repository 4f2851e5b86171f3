//! One agent as its session sees it: a process in a container, written to by orders, heard by a thread.

use crate::Error;
use crate::protocol::{self, Order, Reply};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::Sender;
use std::thread;
use tare_network::{Command, Container, Process};

/// What is heard of an agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// A reply, or a line that is none.
    Reply(Result<Reply, String>),
    /// Its output has ended: so has the agent.
    End,
}

/// A running agent. Dropping it ends it.
pub(super) struct Remote {
    container: String,
    process: Box<dyn Process>,
    orders: Box<dyn Write + Send>,
}

impl Remote {
    /// Starts an agent in a container. What it says is sent on under its number.
    pub(super) fn start(
        container: &dyn Container,
        number: usize,
        heard: Sender<(usize, Heard)>,
    ) -> Result<Self, Error> {
        let name = container.name().to_owned();
        let mut process = container.spawn(&Command::tare(["agent"]))?;
        let unpiped = |what: &str| Error::Agent {
            container: name.clone(),
            why: format!("its agent was started without a pipe for its {what}"),
        };
        let orders = process.take_input().ok_or_else(|| unpiped("input"))?;
        let output = process.take_output().ok_or_else(|| unpiped("output"))?;
        // It ends with the agent's output, which ends with the agent; nobody needs to wait for it.
        thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || listen(output, number, &heard))
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { container: name, process, orders })
    }

    /// The container it runs in.
    pub(super) fn container(&self) -> &str {
        &self.container
    }

    /// Tells it to do something.
    pub(super) fn tell(&mut self, order: &Order) -> Result<(), Error> {
        protocol::write_line(&mut self.orders, order).map_err(|_| self.ended())
    }

    /// That it has ended, and how.
    pub(super) fn ended(&mut self) -> Error {
        // A process that has ended is not hurt by this; one that only closed its output would be waited for in vain.
        self.process.kill();
        let how =
            self.process.wait().map_or_else(|error| error.to_string(), |exit| exit.to_string());
        self.wrong(format!("its agent ended early ({how})"))
    }

    /// That something is wrong with it.
    pub(super) fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Agent { container: self.container.clone(), why: why.into() }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("container", &self.container).finish_non_exhaustive()
    }
}

/// Hears an agent until its output ends or nobody listens.
fn listen(output: impl Read, number: usize, heard: &Sender<(usize, Heard)>) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
        let reply = serde_json::from_slice(&line).map_err(|error| error.to_string());
        if heard.send((number, Heard::Reply(reply))).is_err() {
            return;
        }
        line.clear();
    }
    // Where nobody listens any more, nobody wants to know.
    let _ = heard.send((number, Heard::End));
}
