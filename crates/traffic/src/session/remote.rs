//! One agent as its session sees it: a process that serves one container or many, written to by orders, heard by a
//! thread.

use super::crew::Member;
use crate::Error;
use crate::protocol::{self, From, Order, Reply, To};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
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

/// Whom an agent serves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Charge {
    /// The container in which it runs, as this member.
    One(Member),
    /// Many containers, each by its network namespace, as these members.
    Many(Vec<Member>),
}

impl Charge {
    /// Reads a reply, and says whose it is.
    fn read(&self, line: &[u8]) -> (Member, Result<Reply, String>) {
        let nonsense = |error: serde_json::Error| error.to_string();
        match self {
            Self::One(member) => (*member, serde_json::from_slice(line).map_err(nonsense)),
            Self::Many(members) => match serde_json::from_slice::<From>(line) {
                Ok(From { from, reply }) => match members.get(from) {
                    Some(member) => (*member, Ok(reply)),
                    None => (members[0], Err(format!("there is no container {from}"))),
                },
                Err(error) => (members[0], Err(nonsense(error))),
            },
        }
    }

    /// Who speaks for all of them.
    fn first(&self) -> Member {
        match self {
            Self::One(member) => *member,
            Self::Many(members) => members[0],
        }
    }
}

/// A running agent. Dropping it ends it.
pub(super) struct Remote {
    containers: Vec<String>,
    charge: Charge,
    process: Box<dyn Process>,
    orders: Box<dyn Write + Send>,
}

impl Remote {
    /// Starts an agent in a container. What it says is sent on under its member's number.
    pub(super) fn start(
        container: &dyn Container,
        member: Member,
        heard: Sender<(Member, Heard)>,
    ) -> Result<Self, Error> {
        let name = container.name().to_owned();
        let process = container.spawn(&Command::tare(["agent"]))?;
        Self::hear(process, vec![name], Charge::One(member), heard)
    }

    /// Starts an agent for many containers, never none: it runs in the first of them, and serves each by its network
    /// namespace.
    pub(super) fn start_for(
        members: &[(Member, &dyn Container, PathBuf)],
        heard: Sender<(Member, Heard)>,
    ) -> Result<Self, Error> {
        let (_, home, _) = members
            .first()
            .ok_or_else(|| Error::Job("an agent for no container at all".to_owned()))?;
        let files: Vec<_> =
            members.iter().map(|(_, _, file)| file.to_string_lossy().into_owned()).collect();
        let process = home.spawn(&Command::tare(["agent", "--namespaces", &files.join(",")]))?;
        let names = members.iter().map(|(_, container, _)| container.name().to_owned()).collect();
        let charge = Charge::Many(members.iter().map(|(member, ..)| *member).collect());
        Self::hear(process, names, charge, heard)
    }

    fn hear(
        mut process: Box<dyn Process>,
        containers: Vec<String>,
        charge: Charge,
        heard: Sender<(Member, Heard)>,
    ) -> Result<Self, Error> {
        let name = containers[0].clone();
        let unpiped = |what: &str| Error::Agent {
            container: name.clone(),
            why: format!("its agent was started without a pipe for its {what}"),
        };
        let orders = process.take_input().ok_or_else(|| unpiped("input"))?;
        let output = process.take_output().ok_or_else(|| unpiped("output"))?;
        let own = charge.clone();
        // It ends with the agent's output, which ends with the agent; nobody needs to wait for it.
        thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || listen(output, &own, &heard))
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { containers, charge, process, orders })
    }

    /// The container at a place among those it serves.
    pub(super) fn container(&self, place: usize) -> &str {
        &self.containers[place]
    }

    /// The number of its process, where it runs on this machine.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Tells the agent what the container at a place shall do.
    pub(super) fn tell(&mut self, place: usize, order: &Order) -> Result<(), Error> {
        let told = match self.charge {
            Charge::One(_) => protocol::write_line(&mut self.orders, order),
            Charge::Many(_) => {
                let order = To { to: place, order: order.clone() };
                protocol::write_line(&mut self.orders, &order)
            }
        };
        told.map_err(|_| self.ended())
    }

    /// That it has ended, and how.
    pub(super) fn ended(&mut self) -> Error {
        // A process that has ended is not hurt by this; one that only closed its output would be waited for in vain.
        self.process.kill();
        let how =
            self.process.wait().map_or_else(|error| error.to_string(), |exit| exit.to_string());
        let others = match self.containers.len() - 1 {
            0 => String::new(),
            others => format!(" (and that of {others} other containers)"),
        };
        self.wrong(0, format!("its agent{others} ended early ({how})"))
    }

    /// That something is wrong with the container at a place.
    pub(super) fn wrong(&self, place: usize, why: impl Into<String>) -> Error {
        Error::Agent { container: self.containers[place].clone(), why: why.into() }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("containers", &self.containers).finish_non_exhaustive()
    }
}

/// Hears an agent until its output ends or nobody listens.
fn listen(output: impl Read, charge: &Charge, heard: &Sender<(Member, Heard)>) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
        let (member, reply) = charge.read(&line);
        if heard.send((member, Heard::Reply(reply))).is_err() {
            return;
        }
        line.clear();
    }
    // Where nobody listens any more, nobody wants to know.
    let _ = heard.send((charge.first(), Heard::End));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_of_many_says_is_its_containers() {
        let many = Charge::Many(vec![Member(7), Member(9)]);
        let read = |line: &str| many.read(line.as_bytes());
        assert_eq!(read("{\"from\":1,\"reply\":\"ready\"}"), (Member(9), Ok(Reply::Ready)));
        for nonsense in ["\"ready\"", "{\"from\":2,\"reply\":\"ready\"}", "\u{1}"] {
            let (member, reply) = read(nonsense);
            assert!(member == Member(7) && reply.is_err(), "{nonsense}");
        }
        assert_eq!(Charge::One(Member(3)).read(b"\"ready\""), (Member(3), Ok(Reply::Ready)));
    }
}
