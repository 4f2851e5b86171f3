//! Running agent as its session sees it: a process that serves one container or many, receives orders, and whose output
//! is read by a thread.

use super::member::MemberId;
use super::suspension::{SuspendedProcess, suspended_agent, suspended_program};
use crate::protocol::{self, AgentMessage, AgentOrder, AgentReply, ControllerMessage};
use rustix::process::Pid;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread;
use tare_network::{Command, Container, INTERNAL, Process};
use tare_traffic::Error;

/// Event of an agent.
#[derive(Debug)]
pub(super) enum AgentEvent {
    /// Reply, or the error of a line that is not a reply.
    Reply(Result<AgentReply, String>),
    /// End of its output, which means that the agent has exited.
    Exited,
}

/// Members that an agent serves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ServedMembers {
    /// The container in which the agent runs, as this member.
    One(MemberId),
    /// Many containers, each by its network namespace, as these members.
    Many(Vec<MemberId>),
}

impl ServedMembers {
    /// Parses a reply, and returns it with the member that it is from.
    fn parse_reply(&self, line: &[u8]) -> (MemberId, Result<AgentReply, String>) {
        let nonsense = |error: serde_json::Error| error.to_string();
        match self {
            Self::One(member) => (*member, serde_json::from_slice(line).map_err(nonsense)),
            Self::Many(members) => match serde_json::from_slice::<AgentMessage>(line) {
                Ok(AgentMessage { from, reply }) => match members.get(from) {
                    Some(member) => (*member, Ok(reply)),
                    None => (members[0], Err(format!("unknown container {from}"))),
                },
                Err(error) => (members[0], Err(nonsense(error))),
            },
        }
    }

    /// Returns the first member, which represents all of them.
    fn first_member(&self) -> MemberId {
        match self {
            Self::One(member) => *member,
            Self::Many(members) => members[0],
        }
    }
}

/// Running agent. Dropping it ends it.
pub(super) struct RunningAgent {
    containers: Vec<String>,
    members: ServedMembers,
    process: Box<dyn Process>,
    orders: Box<dyn Write + Send>,
}

impl RunningAgent {
    /// Starts an agent in a container. Its events are sent on with this member.
    pub(super) fn start(
        container: &dyn Container,
        member: MemberId,
        heard: Sender<(MemberId, AgentEvent)>,
    ) -> Result<Self, Error> {
        let name = container.name().to_owned();
        let process = container.spawn(&agent_command(&[]))?;
        Self::attach(process, vec![name], ServedMembers::One(member), heard)
    }

    /// Starts an agent for many containers, at least one: it runs in the first of them, and serves each by its network
    /// namespace.
    pub(super) fn start_shared(
        members: &[(MemberId, &dyn Container, PathBuf)],
        heard: Sender<(MemberId, AgentEvent)>,
    ) -> Result<Self, Error> {
        let (_, home, _) = members.first().ok_or_else(|| {
            Error::Job("cannot start a shared agent: no container is given".to_owned())
        })?;
        let files: Vec<_> =
            members.iter().map(|(_, _, file)| file.to_string_lossy().into_owned()).collect();
        let process = home.spawn(&agent_command(&["--namespaces", &files.join(",")]))?;
        let names = members.iter().map(|(_, container, _)| container.name().to_owned()).collect();
        let charge = ServedMembers::Many(members.iter().map(|(member, ..)| *member).collect());
        Self::attach(process, names, charge, heard)
    }

    fn attach(
        mut process: Box<dyn Process>,
        containers: Vec<String>,
        charge: ServedMembers,
        heard: Sender<(MemberId, AgentEvent)>,
    ) -> Result<Self, Error> {
        let name = containers[0].clone();
        let unpiped = |what: &str| Error::Agent {
            container: name.clone(),
            why: format!("the agent was started without a pipe for its {what}"),
        };
        let orders = process.take_input().ok_or_else(|| unpiped("input"))?;
        let output = process.take_output().ok_or_else(|| unpiped("output"))?;
        let own = charge.clone();
        // The thread ends with the agent's output, which ends with the agent; it need not be joined.
        thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || forward_replies(output, &own, &heard))
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { containers, members: charge, process, orders })
    }

    /// Returns the name of the container at this place among those that the agent serves.
    pub(super) fn container(&self, place: usize) -> &str {
        &self.containers[place]
    }

    /// Returns the process ID. Returns `None` if the process does not run on this machine.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Returns the agent's process if a signal has stopped it. Returns `None` if it does not run on this machine.
    pub(super) fn suspended_process(&self) -> Option<SuspendedProcess> {
        self.local_process().and_then(suspended_agent)
    }

    /// Returns a process that the agent has started and that a signal has stopped, by as many files of /proc as the
    /// agent has threads. Returns `None` if it does not run on this machine.
    pub(super) fn suspended_program(&self) -> Option<SuspendedProcess> {
        self.local_process().and_then(suspended_program)
    }

    fn local_process(&self) -> Option<Pid> {
        self.process_id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// Returns true while there is no way to the agent, which goes on.
    pub(super) fn is_cut_off(&self) -> bool {
        self.process.is_cut_off()
    }

    /// Sends an order for the container at this place.
    pub(super) fn send_order(&mut self, place: usize, order: &AgentOrder) -> Result<(), Error> {
        let told = match self.members {
            ServedMembers::One(_) => protocol::write_line(&mut self.orders, order),
            ServedMembers::Many(_) => {
                let order = ControllerMessage { to: place, order: order.clone() };
                protocol::write_line(&mut self.orders, &order)
            }
        };
        told.map_err(|_| self.exit_error())
    }

    /// Ends the agent, and returns an error with its exit status.
    pub(super) fn exit_error(&mut self) -> Error {
        // An exited process is not affected; one that only closed its output would otherwise be waited for in vain.
        self.process.kill();
        let how =
            self.process.wait().map_or_else(|error| error.to_string(), |exit| exit.to_string());
        let others = match self.containers.len() - 1 {
            0 => String::new(),
            others => format!(" (also the agent of {others} other containers)"),
        };
        self.container_error(0, format!("the agent{others} ended early ({how})"))
    }

    /// Creates an error of the container at this place.
    pub(super) fn container_error(&self, place: usize, why: impl Into<String>) -> Error {
        Error::Agent { container: self.containers[place].clone(), why: why.into() }
    }
}

impl fmt::Debug for RunningAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningAgent").field("containers", &self.containers).finish_non_exhaustive()
    }
}

/// Returns the command of an agent. It and its tools do not get the user's secrets.
fn agent_command(more: &[&str]) -> Command {
    let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let withheld = own.filter(|name| is_secret(name)).collect();
    let words = [INTERNAL, "agent"].iter().chain(more).copied();
    Command { withheld, ..Command::tare(words) }
}

/// Parts of the names of variables that hold secrets.
const SECRETS: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY"];

/// Variables by which users give the workloads of databases the passwords of existing servers.
const FOR_TOOLS: [&str; 2] = ["PGPASSWORD", "TARE_MYSQL_PASSWORD"];

/// Returns true if a variable holds a secret that is not meant for a workload's tool, by its name.
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_named_so = upper.ends_with("_KEY") || SECRETS.iter().any(|part| upper.contains(part));
    is_named_so && !FOR_TOOLS.contains(&name)
}

/// Forwards an agent's replies until its output ends or the receiver is gone.
fn forward_replies(
    output: impl Read,
    charge: &ServedMembers,
    heard: &Sender<(MemberId, AgentEvent)>,
) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
        let (member, reply) = charge.parse_reply(&line);
        if heard.send((member, AgentEvent::Reply(reply))).is_err() {
            return;
        }
        line.clear();
    }
    // If the receiver is gone, the event is not needed.
    let _ = heard.send((charge.first_member(), AgentEvent::Exited));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_with_secrets_are_told_by_their_names() {
        for name in
            ["TARE_TOKEN", "AWS_SECRET_ACCESS_KEY", "github_token", "DB_PASSWORD", "SSH_KEY"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["PATH", "HOME", "LANG", "KEYBOARD", "TARE_CACHE", "PGPASSWORD", "TARE_MYSQL_PASSWORD"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn what_an_agent_of_many_says_is_its_containers() {
        let many = ServedMembers::Many(vec![MemberId(7), MemberId(9)]);
        let read = |line: &str| many.parse_reply(line.as_bytes());
        assert_eq!(read("{\"from\":1,\"reply\":\"ready\"}"), (MemberId(9), Ok(AgentReply::Ready)));
        for nonsense in ["\"ready\"", "{\"from\":2,\"reply\":\"ready\"}", "\u{1}"] {
            let (member, reply) = read(nonsense);
            assert!(member == MemberId(7) && reply.is_err(), "{nonsense}");
        }
        assert_eq!(
            ServedMembers::One(MemberId(3)).parse_reply(b"\"ready\""),
            (MemberId(3), Ok(AgentReply::Ready))
        );
    }
}
