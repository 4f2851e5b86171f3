//! The requesting side: one transaction after another on every flow.

use super::ledger::{Ledger, Next, Part, shortfall};
use super::stamp::Stamp;
use super::{Sizes, Taken, Wire, buffer};
use crate::drive::{Lane, Patience, Wish};
use crate::lanes::{self, Driven};
use crate::latency::round_trips;
use crate::payload::payload;
use crate::placement::{Cores, Role, crowded};
use crate::tcp::Granted;
use crate::wait::Wait;
use crate::{Client, Error, Report, Task, clock, cpu, merge};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use tare_record::{Ends, Finding, Nanos, Series};

/// What a flow is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is outstanding, and nothing due.
    Resting,
    Sending,
    Receiving,
    /// The server has been told that no more requests come.
    Closing,
    Over,
}

/// One attempt at a transaction. Times are by the monotonic clock, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    /// As it stands at the beginning of the request.
    stamp: Stamp,
    /// When its latency begins.
    asked: u64,
    /// When its request was sent.
    sent: u64,
}

/// A requesting flow.
#[derive(Debug)]
struct Outgoing<W> {
    wire: W,
    stage: Stage,
    /// How many attempts have been made.
    count: u8,
    /// Whether a response has come yet.
    answered: bool,
    present: Attempt,
    /// The attempt before, where it has not been answered: it may be late.
    previous: Option<Attempt>,
}

/// The requesting flows of one thread.
#[derive(Debug)]
pub(in crate::workloads) struct Requester<W> {
    flows: Vec<Outgoing<W>>,
    /// Those with nothing outstanding, the one that has waited longest first.
    resting: VecDeque<usize>,
    sizes: Sizes,
    /// How much of a stamp comes back.
    echoed: usize,
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    ledger: Ledger,
}

impl<W: Wire> Requester<W> {
    fn new(wires: Vec<W>, sizes: Sizes, ledger: Ledger) -> Self {
        let flows: Vec<_> = wires
            .into_iter()
            .map(|wire| Outgoing {
                wire,
                stage: Stage::Resting,
                count: 0,
                answered: false,
                present: Attempt::default(),
                previous: None,
            })
            .collect();
        Self {
            resting: (0..flows.len()).collect(),
            flows,
            sizes,
            echoed: sizes.request.min(sizes.response),
            request: payload(sizes.request),
            buffer: buffer(sizes.response),
            ledger,
        }
    }

    /// What comes next on a flow that has nothing outstanding.
    #[inline]
    fn next(&mut self, flow: usize, now: u64) -> io::Result<()> {
        match self.ledger.next(now) {
            Next::Begin(asked) => self.begin_transaction(flow, asked, now),
            Next::Rest => {
                self.flows[flow].stage = Stage::Resting;
                self.resting.push_back(flow);
                Ok(())
            }
            Next::End => self.hang_up(flow),
        }
    }

    /// Begins a transaction whose latency counts from `asked`.
    #[inline]
    fn begin_transaction(&mut self, flow: usize, asked: u64, now: u64) -> io::Result<()> {
        let epoch = self.ledger.epoch;
        let one = &mut self.flows[flow];
        one.count = one.count.wrapping_add(1);
        let stamp = Stamp::new(one.count, if one.answered { now } else { epoch });
        one.present = Attempt { stamp, asked, sent: now };
        one.stage = Stage::Sending;
        if W::LOST_AFTER.is_some() {
            self.ledger.counts.sent(now - epoch);
        }
        self.give(flow)
    }

    /// Sends some of a request.
    #[inline]
    fn give(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        one.present.stamp.write(&mut self.request);
        if one.wire.give(&self.request)? {
            one.stage = Stage::Receiving;
        }
        Ok(())
    }

    /// Receives some of a response; with its last byte a transaction is complete.
    #[inline]
    fn take(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        match one.wire.take(&mut self.buffer, self.sizes.response)? {
            Taken::Part => return Ok(()),
            Taken::Whole => {}
            Taken::End => return Err(left()),
        }
        let now = clock::now().0;
        if W::LOST_AFTER.is_none() {
            one.answered = true;
            let asked = one.present.asked;
            // The books are kept while the next request is on its way.
            let begun = self.next(flow, now);
            self.ledger.complete(now, asked)?;
            return begun;
        }
        self.match_response(flow, now)
    }

    /// Completes the transaction that a datagram answers.
    fn match_response(&mut self, flow: usize, now: u64) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let answers = Stamp::read(one.wire.head()).within(self.echoed);
        let is = |attempt: &Attempt| attempt.stamp.within(self.echoed) == answers;
        let (attempt, is_present) = match one.previous.take_if(|previous| is(previous)) {
            Some(late) => (late, false),
            None if is(&one.present) => (one.present, true),
            // It answers something that was given up long ago, or has been answered.
            None => return Ok(()),
        };
        one.answered = true;
        let begun = if is_present { self.next(flow, now) } else { Ok(()) };
        self.ledger.counts.answered(attempt.sent - self.ledger.epoch);
        self.ledger.complete(now, attempt.asked)?;
        begun
    }

    /// Gives up waiting for responses that have not come for too long.
    fn give_up(&mut self, now: u64, after: u64) -> io::Result<()> {
        for flow in 0..self.flows.len() {
            let one = &mut self.flows[flow];
            if one.stage != Stage::Receiving || now.saturating_sub(one.present.sent) < after {
                continue;
            }
            if one.wire.is_left()? {
                return Err(left());
            }
            one.previous = Some(one.present);
            not_blocked(self.next(flow, now))?;
        }
        Ok(())
    }

    fn hang_up(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        one.stage = if W::LOST_AFTER.is_some() { Stage::Over } else { Stage::Closing };
        one.wire.hang_up()
    }

    /// Waits for the server to hang up too.
    fn close(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        if one.wire.take(&mut self.buffer, 1)? == Taken::End {
            one.stage = Stage::Over;
        }
        Ok(())
    }
}

impl<W: Wire> Lane for Requester<W> {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].wire.socket()
    }

    fn begin(&mut self) {
        self.ledger.begin();
    }

    fn wish(&self, flow: usize) -> Wish {
        match self.flows[flow].stage {
            Stage::Resting => Wish::Rest,
            Stage::Sending => Wish::Write,
            Stage::Receiving | Stage::Closing => Wish::Read,
            Stage::Over => Wish::Over,
        }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            Stage::Receiving => self.take(flow),
            Stage::Sending => self.give(flow),
            Stage::Closing => self.close(flow),
            Stage::Resting | Stage::Over => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn due(&self) -> Option<u64> {
        (!self.resting.is_empty()).then(|| self.ledger.due())
    }

    fn look(&mut self, now: u64) -> io::Result<()> {
        self.ledger.look(now);
        if let Some(after) = W::LOST_AFTER {
            self.give_up(now, after)?;
        }
        while let Some(&flow) = self.resting.front() {
            // Several may begin in one look: each has its own time.
            let now = clock::now().0;
            if now < self.ledger.due() {
                break;
            }
            self.resting.pop_front();
            not_blocked(self.next(flow, now))?;
        }
        Ok(())
    }
}

/// That something cannot be done now is no failure.
fn not_blocked(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}

fn left() -> io::Error {
    io::Error::other("the server closed it")
}

/// The generating side.
pub(in crate::workloads) struct Requesting<W> {
    lanes: Vec<Requester<W>>,
    granted: Granted,
    cores: Cores,
    patience: Arc<Patience>,
    epoch: Arc<OnceLock<u64>>,
    task: Task,
}

impl<W: Wire> Requesting<W> {
    /// Prepares everything that the loop will use, around flows that are connected.
    pub(in crate::workloads) fn new(
        wires: Vec<W>,
        granted: Granted,
        task: &Task,
    ) -> Result<Self, Error> {
        let sizes = Sizes::of(&task.parameters)?;
        let cores = Cores::of(&task.cpus, Role::Client);
        let hands = lanes::deal(wires, &cores, &task.parameters);
        let sharing = (hands.len() * task.peers as usize / cores.list().len().max(1)) as u64;
        let (epoch, patience) = (Arc::new(OnceLock::new()), Arc::new(Patience::default()));
        let lanes = hands
            .into_iter()
            .enumerate()
            .map(|(nth, wires)| {
                let part = Part { nth, flows: wires.len(), sharing };
                Requester::new(wires, sizes, Ledger::new(task, part, &epoch, &patience))
            })
            .collect();
        Ok(Self { lanes, granted, cores, patience, epoch, task: task.clone() })
    }
}

impl<W: Wire> Client for Requesting<W> {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { lanes, granted, cores, patience, epoch, task } = *self;
        let crowd = crowd(lanes.len(), &cores, &task);
        let Driven { lanes, cpu, mut findings } = lanes::run(lanes, &cores, &task, &patience)?;
        findings.extend(crowd);
        findings.extend(shortfall(&task, lanes.iter().map(|lane| lane.ledger.begun()).sum()));
        let mut report = Report { findings, cpu, ..Report::default() };
        report.epoch = epoch.get().copied().map(Nanos);
        let mut intervals = Vec::new();
        for Requester { ledger, sizes, .. } in lanes {
            add(&mut report.ends, &ledger, W::LOST_AFTER.is_some());
            report.findings.extend(ledger.log.gaps().finding(task.interval));
            cpu::add(&mut report.cpu_by_interval, ledger.cpu.rows());
            let mut more = ledger.log.intervals(round_trips)?;
            if W::LOST_AFTER.is_some() {
                ledger.counts.add_to(&mut more, sizes.request);
            }
            merge::intervals(&mut intervals, more)?;
        }
        report.series = vec![Series::of(task.client, intervals)];
        report.parameters = task.parameters;
        Ok(report.with(&granted, &cores, Role::Client))
    }
}

/// Adds what a thread counted.
fn add(ends: &mut Ends, ledger: &Ledger, datagrams: bool) {
    ends.completed += ledger.log.completed();
    if datagrams {
        ends.datagrams_sent += ledger.counts.sent;
        ends.datagrams_received += ledger.counts.answered;
    }
}

/// That threads spin on cores that they share: of all clients, and of the server where it is on the same machine.
fn crowd(threads: usize, cores: &Cores, task: &Task) -> Option<Finding> {
    if Wait::of(&task.parameters) != Wait::Spin {
        return None;
    }
    let mut threads = threads * task.peers as usize;
    let mut all: std::collections::BTreeSet<u32> = cores.list().iter().copied().collect();
    if task.one_clock {
        let servers = Cores::of(&task.cpus, Role::Server);
        let flows = task.flows as usize * task.peers as usize;
        threads += lanes::threads(flows, &servers, &task.parameters);
        all.extend(servers.list());
    }
    crowded(threads, &all)
}
