//! All agents of a session: orders go out together, and every reply is awaited, with a deadline.

use super::remote::{Heard, Remote};
use crate::protocol::{Order, Reply, VERSION};
use crate::{Error, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tare_network::Container;

/// How often the caller is asked whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// How long to wait, after a flow broke, for the news that an agent ended: it is the better explanation, and on a busy
/// machine it comes later than the news of the flow.
const AFTERMATH: Duration = Duration::from_secs(1);

/// How long servers may take to say how they fare, when a trial has failed.
const LAST_QUESTION: Duration = Duration::from_secs(2);

/// One of the crew, by the order in which it was enlisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member(pub(super) usize);

/// Which agent serves a member, and at which place among those that it serves.
#[derive(Clone, Copy, Debug)]
struct Seat {
    remote: usize,
    place: usize,
}

/// The agents, and the one ear for all of them.
#[derive(Debug)]
pub(super) struct Crew {
    remotes: Vec<Remote>,
    seats: BTreeMap<Member, Seat>,
    heard: Receiver<(Member, Heard)>,
    speaker: Sender<(Member, Heard)>,
}

impl Default for Crew {
    fn default() -> Self {
        let (speaker, heard) = channel();
        Self { remotes: Vec::new(), seats: BTreeMap::new(), heard, speaker }
    }
}

impl Crew {
    /// Starts an agent in a container, as this member.
    pub(super) fn enlist(
        &mut self,
        member: Member,
        container: &dyn Container,
    ) -> Result<(), Error> {
        let remote = Remote::start(container, member, self.speaker.clone())?;
        self.seat(std::iter::once(member), remote);
        Ok(())
    }

    /// Starts one agent for all of these containers.
    pub(super) fn enlist_together(
        &mut self,
        members: &[(Member, &dyn Container, PathBuf)],
    ) -> Result<(), Error> {
        let remote = Remote::start_for(members, self.speaker.clone())?;
        self.seat(members.iter().map(|(member, ..)| *member), remote);
        Ok(())
    }

    fn seat(&mut self, members: impl Iterator<Item = Member>, remote: Remote) {
        let number = self.remotes.len();
        let seats =
            members.enumerate().map(|(place, member)| (member, Seat { remote: number, place }));
        self.seats.extend(seats);
        self.remotes.push(remote);
    }

    /// The numbers of the agents' processes, as far as they run on this machine.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.remotes.iter().filter_map(Remote::id)
    }

    /// The agent of a member, and the member's place with it.
    fn remote(&mut self, member: Member) -> (&mut Remote, usize) {
        let Seat { remote, place } = self.seats[&member];
        (&mut self.remotes[remote], place)
    }

    /// That something is wrong with a member.
    fn wrong(&mut self, member: Member, why: impl Into<String>) -> Error {
        let (remote, place) = self.remote(member);
        remote.wrong(place, why)
    }

    /// Waits until every agent has said that it has started. Says which clocks they read.
    pub(super) fn greet(&mut self, limit: Duration) -> Result<BTreeSet<String>, Error> {
        let everybody = self.seats.keys().copied().collect();
        let mut clocks = BTreeSet::new();
        for (member, reply) in self.replies(everybody, "start", limit, &|| false)? {
            match reply {
                Reply::Hello { protocol: VERSION, clock } => drop(clocks.insert(clock)),
                Reply::Hello { protocol, .. } => {
                    let why = format!(
                        "its agent speaks version {protocol} of the protocol, not {VERSION}; use the same tare everywhere"
                    );
                    return Err(self.wrong(member, why));
                }
                _ => return Err(self.out_of_turn(member)),
            }
        }
        Ok(clocks)
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
            let (remote, place) = self.remote(*member);
            remote.tell(place, order)?;
        }
        let members = orders.into_iter().map(|(member, _)| member).collect();
        self.replies(members, name, limit, cancelled)
    }

    /// Waits for a reply from each. Whatever goes wrong with anybody ends the waiting.
    fn replies(
        &mut self,
        mut awaited: BTreeSet<Member>,
        order: &'static str,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<Member, Reply>, Error> {
        let deadline = Instant::now() + limit;
        let mut replies = BTreeMap::new();
        while let Some(first) = awaited.first().copied() {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            match self.heard.recv_timeout(TICK) {
                Ok((member, Heard::Reply(Ok(Reply::Error(why))))) => {
                    return Err(self.explain(member, &why));
                }
                Ok((member, Heard::Reply(Ok(reply)))) => {
                    if !awaited.remove(&member) {
                        return Err(self.out_of_turn(member));
                    }
                    replies.insert(member, reply);
                }
                Ok((member, Heard::Reply(Err(error)))) => {
                    let why = format!("its agent said what is no reply: {error}");
                    return Err(self.wrong(member, why));
                }
                Ok((member, Heard::End)) => return Err(self.remote(member).0.ended()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if Instant::now() >= deadline {
                let (remote, place) = self.remote(first);
                let container = remote.container(place).to_owned();
                return Err(Error::Deadline { container, order, waited: limit });
            }
        }
        Ok(replies)
    }

    /// Why a member failed: when another one has ended, that is why.
    fn explain(&mut self, member: Member, why: &str) -> Error {
        let until = Instant::now() + AFTERMATH;
        while let Ok((other, heard)) =
            self.heard.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if matches!(heard, Heard::End) {
                return self.remote(other).0.ended();
            }
        }
        self.wrong(member, why)
    }

    /// What went wrong in a trial, or rather what went wrong with one of these servers: where its program has ended, its
    /// clients saw no more than that it was gone.
    pub(super) fn or_of_servers(&mut self, mut servers: BTreeSet<Member>, error: Error) -> Error {
        servers.retain(|server| {
            let (remote, place) = self.remote(*server);
            remote.tell(place, &Order::Finish).is_ok()
        });
        let until = Instant::now() + LAST_QUESTION;
        while !servers.is_empty() {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((member, heard)) if servers.remove(&member) => {
                    if let Heard::Reply(Ok(Reply::Error(why))) = heard {
                        return self.wrong(member, why);
                    }
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        error
    }

    fn out_of_turn(&mut self, member: Member) -> Error {
        self.wrong(member, "its agent said something else than what it was asked")
    }
}
