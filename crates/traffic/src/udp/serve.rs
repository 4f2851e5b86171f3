//! A server's side: it listens, gets to know the flows that it expects, and receives on lanes what they carry.

use super::control::{Link, Message};
use super::introduce::{Doors, Flow, Introduced};
use super::options::Options;
use super::receive::{Ending, Receiver};
use super::tally::Tally;
use crate::drive::{Patience, TICK};
use crate::lanes::{self, Driven};
use crate::placement::{Cores, Role};
use crate::stall::Gaps;
use crate::tcp::GRACE;
use crate::{Error, Task};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A server that works on a thread of its own. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Serving<T> {
    patience: Arc<Patience>,
    thread: Option<JoinHandle<Result<T, Error>>>,
    /// The cores of its lanes.
    pub(crate) cores: Cores,
}

impl<T: Send + 'static> Serving<T> {
    /// Listens. Once the task's flows are known, `work` is done with them.
    pub(crate) fn start(
        task: &Task,
        options: &Options,
        work: impl FnOnce(Introduced, &Station<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let doors = Doors::open(task)?;
        let cores = Cores::of(&task.cpus, Role::Server);
        let patience = Arc::new(Patience::default());
        let thread = thread::spawn({
            let (task, options) = (task.clone(), *options);
            let (cores, patience) = (cores.clone(), Arc::clone(&patience));
            move || {
                let introduced = doors.welcome(&task, &options, &patience)?;
                let station =
                    Station { task: &task, options: &options, cores: &cores, patience: &patience };
                work(introduced, &station)
            }
        });
        Ok(Self { patience, thread: Some(thread), cores })
    }

    /// Waits until all flows have come to their end, but no longer than the grace.
    pub(crate) fn finish(&mut self) -> Result<T, Error> {
        self.patience.limit(Instant::now() + GRACE);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(Error::io("serve", io::Error::other("its thread died"))),
        }
    }
}

impl<T> Drop for Serving<T> {
    fn drop(&mut self) {
        self.patience.limit(Instant::now());
        if let Some(thread) = self.thread.take() {
            // Whatever it counted, nobody asks for it any more.
            let _ = thread.join();
        }
    }
}

/// What a server's trials have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station<'s> {
    /// What it was told.
    pub(crate) task: &'s Task,
    /// How datagrams are carried.
    pub(crate) options: &'s Options,
    /// Where its lanes run.
    pub(crate) cores: &'s Cores,
    /// How long it goes on.
    pub(crate) patience: &'s Patience,
}

/// A trial whose datagrams may come.
#[derive(Debug)]
pub(crate) struct Prepared {
    lanes: Vec<Receiver>,
    endings: Vec<Arc<Ending>>,
}

/// What came in a trial.
#[derive(Debug)]
pub(crate) struct Received {
    /// The lanes, with what they counted.
    pub(crate) driven: Driven<Receiver>,
    /// How many datagrams the clients say they sent, as far as they said so.
    pub(crate) sent: Option<u64>,
}

impl Station<'_> {
    /// Prepares a trial of this number over these flows.
    pub(crate) fn prepare(&self, flows: &[Flow], trial: u32) -> Result<Prepared, Error> {
        let endings: Vec<_> = flows.iter().map(|_| Arc::new(Ending::new())).collect();
        let ended = flows.iter().cloned().zip(endings.iter().cloned()).collect();
        let lanes = lanes::deal(ended, self.cores, &self.task.parameters)
            .into_iter()
            .map(|flows| Receiver::new(flows, self.task, self.options, trial))
            .collect::<io::Result<_>>()
            .map_err(|error| Error::io("prepare to receive", error))?;
        Ok(Prepared { lanes, endings })
    }

    /// Receives until all that was sent has come, or nothing comes any more.
    pub(crate) fn receive(
        &self,
        prepared: Prepared,
        links: &mut [Link],
        flows: &[Flow],
    ) -> Result<Received, Error> {
        let Prepared { lanes, endings } = prepared;
        let over = AtomicBool::new(false);
        let driven = thread::scope(|scope| {
            scope.spawn(|| hear_ends(links, flows, &endings, &over));
            let work = |lane: &mut Receiver| lane.run(self.patience);
            let driven = lanes::run_by(lanes, self.cores, self.task, self.patience, work);
            over.store(true, Ordering::Release);
            driven
        })?;
        let sent = endings.iter().map(|ending| ending.sent()).sum();
        Ok(Received { driven, sent })
    }
}

/// Hears from the clients how much they sent, until all have said it or the trial is over.
fn hear_ends(links: &mut [Link], flows: &[Flow], endings: &[Arc<Ending>], over: &AtomicBool) {
    const PIECE: Duration = Duration::from_millis(1);
    let open = |link: usize| {
        flows.iter().zip(endings).any(|(flow, ending)| flow.link == link && !ending.is_told())
    };
    while !over.load(Ordering::Acquire) {
        let waiting: Vec<usize> = (0..links.len()).filter(|link| open(*link)).collect();
        if waiting.is_empty() {
            return;
        }
        for link in ready(links, &waiting) {
            match links[link].hear(PIECE) {
                Ok(Some(Message::Sent { flow, datagrams })) => {
                    let known = flows.iter().position(|one| one.link == link && one.number == flow);
                    known.into_iter().for_each(|place| endings[place].tell(datagrams));
                }
                Ok(None) => {}
                // It is gone, or talks nonsense: nothing more is expected of it.
                Ok(Some(_)) | Err(_) => flows
                    .iter()
                    .zip(endings)
                    .filter(|(flow, _)| flow.link == link)
                    .for_each(|(_, ending)| ending.gone()),
            }
        }
    }
}

/// Those of the links that say something within a tick.
fn ready(links: &[Link], waiting: &[usize]) -> Vec<usize> {
    let mut waits: Vec<_> =
        waiting.iter().map(|link| PollFd::new(links[*link].stream(), PollFlags::IN)).collect();
    let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
    if poll(&mut waits, Some(&tick)).is_err() {
        return Vec::new();
    }
    let heard = waits.iter().map(|wait| !wait.revents().is_empty());
    waiting.iter().zip(heard).filter(|(_, heard)| *heard).map(|(link, _)| *link).collect()
}

/// What all lanes counted, by client.
pub(crate) fn by_client(lanes: &[Receiver]) -> BTreeMap<u32, (Tally, Gaps)> {
    let mut clients: BTreeMap<u32, (Tally, Gaps)> = BTreeMap::new();
    for count in lanes.iter().flat_map(Receiver::counts) {
        match clients.get_mut(&count.client) {
            Some((tally, gaps)) => {
                tally.merge(&count.tally);
                gaps.merge(count.gaps);
            }
            None => drop(clients.insert(count.client, (count.tally.clone(), count.gaps))),
        }
    }
    clients
}
