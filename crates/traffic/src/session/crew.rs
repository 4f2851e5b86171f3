//! All agents of a session: orders go out together, and every reply is awaited, with a deadline.

use super::remote::{Heard, Remote};
use crate::protocol::{Order, Reply, VERSION};
use crate::{Error, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tare_network::Container;

/// How often the caller is asked whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// How long to wait, after a flow broke, for the news that an agent ended: it is the better explanation.
const AFTERMATH: Duration = Duration::from_millis(100);

/// One of the crew, by the order in which it was enlisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member(pub(super) usize);

/// The agents, and the one ear for all of them.
#[derive(Debug)]
pub(super) struct Crew {
    remotes: Vec<Remote>,
    heard: Receiver<(usize, Heard)>,
    speaker: Sender<(usize, Heard)>,
}

impl Default for Crew {
    fn default() -> Self {
        let (speaker, heard) = channel();
        Self { remotes: Vec::new(), heard, speaker }
    }
}

impl Crew {
    /// Starts another agent.
    pub(super) fn enlist(&mut self, container: &dyn Container) -> Result<(), Error> {
        let number = self.remotes.len();
        self.remotes.push(Remote::start(container, number, self.speaker.clone())?);
        Ok(())
    }

    /// Waits until every agent has said that it has started. Says whether all of them read the same clock.
    pub(super) fn greet(&mut self, limit: Duration) -> Result<bool, Error> {
        let everybody = (0..self.remotes.len()).map(Member).collect();
        let mut clocks = BTreeSet::new();
        for (member, reply) in self.replies(everybody, "start", limit, &|| false)? {
            match reply {
                Reply::Hello { protocol: VERSION, clock } => drop(clocks.insert(clock)),
                Reply::Hello { protocol, .. } => {
                    let why = format!(
                        "its agent speaks version {protocol} of the protocol, not {VERSION}; use the same tare everywhere"
                    );
                    return Err(self.remotes[member.0].wrong(why));
                }
                _ => return Err(self.out_of_turn(member)),
            }
        }
        Ok(clocks.len() == 1 && !clocks.contains(""))
    }

    /// Gives orders of preparation, and waits until all are ready.
    pub(super) fn prepare(
        &mut self,
        orders: Vec<(Member, Order)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        for (member, reply) in self.obey(orders, limit, cancelled)? {
            if reply != Reply::Ready {
                return Err(self.out_of_turn(member));
            }
        }
        Ok(())
    }

    /// Gives orders that end in reports, and waits for them.
    pub(super) fn collect(
        &mut self,
        orders: Vec<(Member, Order)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Report>, Error> {
        let replies = self.obey(orders, limit, cancelled)?;
        replies
            .into_iter()
            .map(|(member, reply)| match reply {
                Reply::Done(report) => Ok(*report),
                _ => Err(self.out_of_turn(member)),
            })
            .collect()
    }

    /// Gives orders to all, then waits for a reply from each.
    fn obey(
        &mut self,
        orders: Vec<(Member, Order)>,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<Member, Reply>, Error> {
        let name = orders.first().map_or("nothing", |(_, order)| order.name());
        for (member, order) in &orders {
            self.remotes[member.0].tell(order)?;
        }
        self.replies(orders.into_iter().map(|(member, _)| member).collect(), name, limit, cancelled)
    }

    /// Waits for a reply from each. Whatever goes wrong with anybody ends the waiting.
    fn replies(
        &mut self,
        mut awaited: Vec<Member>,
        order: &'static str,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<Member, Reply>, Error> {
        let deadline = Instant::now() + limit;
        let mut replies = BTreeMap::new();
        while let Some(&first) = awaited.first() {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            match self.heard.recv_timeout(TICK) {
                Ok((number, Heard::Reply(Ok(Reply::Error(why))))) => {
                    return Err(self.explain(Member(number), &why));
                }
                Ok((number, Heard::Reply(Ok(reply)))) if awaited.contains(&Member(number)) => {
                    awaited.retain(|member| member.0 != number);
                    replies.insert(Member(number), reply);
                }
                Ok((number, Heard::Reply(Ok(_)))) => return Err(self.out_of_turn(Member(number))),
                Ok((number, Heard::Reply(Err(error)))) => {
                    let why = format!("its agent said what is no reply: {error}");
                    return Err(self.remotes[number].wrong(why));
                }
                Ok((number, Heard::End)) => return Err(self.remotes[number].ended()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if Instant::now() >= deadline {
                let container = self.remotes[first.0].container().to_owned();
                return Err(Error::Deadline { container, order, waited: limit });
            }
        }
        Ok(replies)
    }

    /// Why a member failed: when another one has ended, that is why.
    fn explain(&mut self, member: Member, why: &str) -> Error {
        let until = Instant::now() + AFTERMATH;
        while let Ok((number, heard)) =
            self.heard.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if matches!(heard, Heard::End) {
                return self.remotes[number].ended();
            }
        }
        self.remotes[member.0].wrong(why)
    }

    fn out_of_turn(&self, member: Member) -> Error {
        self.remotes[member.0].wrong("its agent said something else than what it was asked")
    }
}
