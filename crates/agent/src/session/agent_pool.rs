//! Pool of all agents of a session: orders go out together, and every reply is awaited, with a deadline.

use super::member::MemberId;
use super::reply_deadline::ReplyDeadline;
use super::running_agent::{AgentEvent, RunningAgent};
use super::suspension::{SuspendedProcess, SuspensionWatch};
use crate::protocol::{AgentOrder, AgentReply, VERSION};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tare_network::Container;
use tare_traffic::{Error, SentBytes, SideReport};

/// Interval at which the caller's cancellation is checked.
const TICK: Duration = Duration::from_millis(20);

/// Time to wait, after a flow broke, for the event that an agent exited: it explains the failure better, and on a busy
/// machine it arrives later than the report of the flow.
const EXIT_EVENT_WAIT: Duration = Duration::from_secs(1);

/// Time within which servers must report their state after a trial has failed.
const SERVER_STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Agent of a member, and the member's place among the containers that this agent serves.
#[derive(Clone, Copy, Debug)]
struct AgentSlot {
    agent: usize,
    position: usize,
}

/// Agents of a session, with one channel for the events of all of them.
#[derive(Debug)]
pub(super) struct AgentPool {
    agents: Vec<RunningAgent>,
    slots: BTreeMap<MemberId, AgentSlot>,
    events: Receiver<(MemberId, AgentEvent)>,
    event_sender: Sender<(MemberId, AgentEvent)>,
    /// True if the agents run external programs.
    run_programs: bool,
}

impl Default for AgentPool {
    fn default() -> Self {
        let (speaker, heard) = channel();
        Self {
            agents: Vec::new(),
            slots: BTreeMap::new(),
            events: heard,
            event_sender: speaker,
            run_programs: false,
        }
    }
}

impl AgentPool {
    /// Starts an agent in a container, for this member.
    pub(super) fn start_agent(
        &mut self,
        member: MemberId,
        container: &dyn Container,
    ) -> Result<(), Error> {
        let remote = RunningAgent::start(container, member, self.event_sender.clone())?;
        self.add_agent(std::iter::once(member), remote);
        Ok(())
    }

    /// Starts one agent for all of these containers.
    pub(super) fn start_shared_agent(
        &mut self,
        members: &[(MemberId, &dyn Container, PathBuf)],
    ) -> Result<(), Error> {
        let remote = RunningAgent::start_shared(members, self.event_sender.clone())?;
        self.add_agent(members.iter().map(|(member, ..)| *member), remote);
        Ok(())
    }

    fn add_agent(&mut self, members: impl Iterator<Item = MemberId>, remote: RunningAgent) {
        let number = self.agents.len();
        let seats = members
            .enumerate()
            .map(|(place, member)| (member, AgentSlot { agent: number, position: place }));
        self.slots.extend(seats);
        self.agents.push(remote);
    }

    /// Returns the process IDs of the agents that run on this machine.
    pub(super) fn process_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.agents.iter().filter_map(RunningAgent::process_id)
    }

    /// Returns the agent of a member, and the member's place with that agent.
    fn agent_of(&mut self, member: MemberId) -> (&mut RunningAgent, usize) {
        let AgentSlot { agent: remote, position: place } = self.slots[&member];
        (&mut self.agents[remote], place)
    }

    /// Creates an error of this member.
    fn member_error(&mut self, member: MemberId, why: impl Into<String>) -> Error {
        let (remote, place) = self.agent_of(member);
        remote.container_error(place, why)
    }

    /// Sets whether the agents run external programs in their next trial.
    pub(super) fn expect_programs(&mut self, run_programs: bool) {
        self.run_programs = run_programs;
    }

    /// Waits until every agent has reported its start. Returns the names of their clocks.
    pub(super) fn await_hello(&mut self, limit: Duration) -> Result<BTreeSet<String>, Error> {
        let everybody = self.slots.keys().copied().collect();
        let mut clocks = BTreeSet::new();
        for (member, reply) in self.await_replies(everybody, "start", limit, &|| false)? {
            match reply {
                AgentReply::Hello { protocol: VERSION, clock } => drop(clocks.insert(clock)),
                AgentReply::Hello { protocol, .. } => {
                    let why = format!(
                        "the agent speaks version {protocol} of the protocol, not {VERSION}: use the same tare everywhere"
                    );
                    return Err(self.member_error(member, why));
                }
                _ => return Err(self.unexpected_reply(member)),
            }
        }
        Ok(clocks)
    }

    /// Sends orders of preparation, and waits until all members are ready.
    pub(super) fn prepare(
        &mut self,
        orders: Vec<(MemberId, AgentOrder)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        for (member, reply) in self.send_and_await(orders, limit, cancelled)? {
            if reply != AgentReply::Ready {
                return Err(self.unexpected_reply(member));
            }
        }
        Ok(())
    }

    /// Sends orders of a slice, and waits until it is over. Returns the bytes that each client has sent so far.
    pub(super) fn run_slice(
        &mut self,
        orders: Vec<(MemberId, AgentOrder)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<MemberId, u64>, Error> {
        let replies = self.send_and_await(orders, limit, cancelled)?;
        replies
            .into_iter()
            .map(|(member, reply)| match reply {
                AgentReply::Sliced { sent } => Ok((member, sent)),
                _ => Err(self.unexpected_reply(member)),
            })
            .collect()
    }

    /// Sends orders that end a slice, and waits until it is over. Returns what each server has sent so far, summed up by
    /// the index of the client process.
    pub(super) fn settle(
        &mut self,
        orders: Vec<(MemberId, AgentOrder)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<SentBytes, Error> {
        let mut all = SentBytes::new();
        for (member, reply) in self.send_and_await(orders, limit, cancelled)? {
            let AgentReply::Settled { sent } = reply else {
                return Err(self.unexpected_reply(member));
            };
            for (process, bytes) in sent {
                *all.entry(process).or_default() += bytes;
            }
        }
        Ok(all)
    }

    /// Sends orders that end in reports, and waits for the reports.
    pub(super) fn collect(
        &mut self,
        orders: Vec<(MemberId, AgentOrder)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<SideReport>, Error> {
        let replies = self.send_and_await(orders, limit, cancelled)?;
        replies
            .into_iter()
            .map(|(member, reply)| match reply {
                AgentReply::Done(report) => Ok(*report),
                _ => Err(self.unexpected_reply(member)),
            })
            .collect()
    }

    /// Sends all orders, then waits for a reply from each member.
    fn send_and_await(
        &mut self,
        orders: Vec<(MemberId, AgentOrder)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<MemberId, AgentReply>, Error> {
        let name = orders.first().map_or("nothing", |(_, order)| order.name());
        for (member, order) in &orders {
            let (remote, place) = self.agent_of(*member);
            remote.send_order(place, order)?;
        }
        let members = orders.into_iter().map(|(member, _)| member).collect();
        self.await_replies(members, name, limit, cancelled)
    }

    /// Waits for a reply from each member. The first failure of any member ends the waiting.
    fn await_replies(
        &mut self,
        mut awaited: BTreeSet<MemberId>,
        order: &'static str,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<MemberId, AgentReply>, Error> {
        let mut deadline = ReplyDeadline::after(Instant::now(), limit);
        let mut watch = SuspensionWatch::after(Instant::now());
        let mut replies = BTreeMap::new();
        while let Some(first) = awaited.first().copied() {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            match self.events.recv_timeout(TICK) {
                Ok((member, AgentEvent::Reply(Ok(AgentReply::Error(why))))) => {
                    return Err(self.explain_failure(member, &why));
                }
                Ok((member, AgentEvent::Reply(Ok(reply)))) => {
                    if !awaited.remove(&member) {
                        return Err(self.unexpected_reply(member));
                    }
                    replies.insert(member, reply);
                }
                Ok((member, AgentEvent::Reply(Err(error)))) => {
                    let why = format!(
                        "the agent sent an invalid reply: {error}: use the same tare everywhere"
                    );
                    return Err(self.member_error(member, why));
                }
                Ok((member, AgentEvent::Exited)) => {
                    return Err(self.agent_of(member).0.exit_error());
                }
                // Only then: replies that are there are read first, even if this process was suspended meanwhile.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let now = Instant::now();
                    if self.agents.iter().any(RunningAgent::is_cut_off) {
                        deadline.skip(now);
                    }
                    if let Some((agent, process)) = watch.look(now, || self.find_suspended()) {
                        return Err(agent.container_error(0, process.reason()));
                    }
                    if deadline.is_over(now) {
                        let (remote, place) = self.agent_of(first);
                        let container = remote.container(place).to_owned();
                        return Err(Error::Deadline { container, order, waited: limit });
                    }
                }
            }
        }
        Ok(replies)
    }

    /// Returns the first agent that is stopped by a signal, or that runs a program which is. Programs are looked at only if
    /// the workload has some: to read of each thread what it has started would disturb the others.
    fn find_suspended(&self) -> Option<(&RunningAgent, SuspendedProcess)> {
        let stopped = |agent: &RunningAgent| {
            let program = || self.run_programs.then(|| agent.suspended_program()).flatten();
            agent.suspended_process().or_else(program)
        };
        self.agents.iter().find_map(|agent| Some((agent, stopped(agent)?)))
    }

    /// Returns the error of a member that failed. If another agent exits shortly after, its exit is the cause and is
    /// returned.
    fn explain_failure(&mut self, member: MemberId, why: &str) -> Error {
        let until = Instant::now() + EXIT_EVENT_WAIT;
        while let Ok((other, heard)) =
            self.events.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if matches!(heard, AgentEvent::Exited) {
                return self.agent_of(other).0.exit_error();
            }
        }
        self.member_error(member, why)
    }

    /// Returns the error of a trial, or the error of one of these servers if it has one: if a server's program has
    /// exited, its clients report only that it was gone.
    pub(super) fn prefer_server_error(
        &mut self,
        mut servers: BTreeSet<MemberId>,
        error: Error,
    ) -> Error {
        servers.retain(|server| {
            let (remote, place) = self.agent_of(*server);
            remote.send_order(place, &AgentOrder::Finish).is_ok()
        });
        let until = Instant::now() + SERVER_STATUS_TIMEOUT;
        while !servers.is_empty() {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((member, heard)) if servers.remove(&member) => {
                    if let AgentEvent::Reply(Ok(AgentReply::Error(why))) = heard {
                        return self.member_error(member, why);
                    }
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        error
    }

    fn unexpected_reply(&mut self, member: MemberId) -> Error {
        self.member_error(
            member,
            "the reply of the agent does not match the order: use the same tare everywhere",
        )
    }
}
