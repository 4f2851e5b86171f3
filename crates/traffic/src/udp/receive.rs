//! The receiving loop of one thread: takes datagrams in batches, and books each of them by its header.

use super::header::{Header, LENGTH, Mark};
use super::introduce::Flow;
use super::moderate::Moderation;
use super::options::{Handing, Keep, Options, Stamp, Wait};
use super::tally::Tally;
use super::track::{Arrival, Backlog, Jitter, Track};
use crate::Task;
use crate::clock;
use crate::cpu::CpuLog;
use crate::drive::{Patience, TICK};
use crate::stall::Gaps;
use crate::sys::{Ancillary, Inbox, Message, Waiting, lost_in_full_buffer};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest message that the kernel makes of several datagrams, bytes.
const GATHERED: usize = 1 << 16;

/// What the sender has said of a flow's end.
#[derive(Debug)]
pub(crate) struct Ending {
    /// How many datagrams it sent; [`Ending::UNKNOWN`] before it has said so, or where it never will.
    sent: AtomicU64,
    /// When nothing more was to be expected but what is on its way, by the monotonic clock, ns; 0 before that.
    told: AtomicU64,
}

impl Ending {
    const UNKNOWN: u64 = u64::MAX;

    /// A flow that still flows.
    pub(crate) fn new() -> Self {
        Self { sent: AtomicU64::new(Self::UNKNOWN), told: AtomicU64::new(0) }
    }

    /// So many were sent.
    pub(crate) fn tell(&self, sent: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.told.store(clock::now().0, Ordering::Release);
    }

    /// The sender is gone.
    pub(crate) fn gone(&self) {
        if !self.is_told() {
            self.told.store(clock::now().0, Ordering::Release);
        }
    }

    /// Whether the sender sends no more.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Acquire) != 0
    }

    /// How many were sent, where it is known.
    pub(crate) fn sent(&self) -> Option<u64> {
        Some(self.sent.load(Ordering::Relaxed)).filter(|sent| *sent != Self::UNKNOWN)
    }
}

/// One receiving flow.
#[derive(Debug)]
pub(crate) struct Incoming {
    socket: Arc<UdpSocket>,
    mark: Mark,
    track: Track,
    jitter: Jitter,
    backlog: Backlog,
    ending: Arc<Ending>,
    /// An index into the lane's counts.
    count: usize,
    /// Datagrams that came, each once.
    received: u64,
    /// When the last one came, by the monotonic clock.
    last: u64,
    /// What had found the socket's buffer full before the trial.
    full_before: u32,
}

impl Incoming {
    /// Whether all has come, or nothing has for so long, ns, since the sender's last word. `looked` is when its socket
    /// was last looked into: a thread that did not run meanwhile has not seen what lies there.
    fn is_over(&self, looked: u64, settle: u64) -> bool {
        let told = self.ending.told.load(Ordering::Acquire);
        told != 0
            && (self.ending.sent().is_some_and(|sent| self.received >= sent)
                || looked.saturating_sub(told.max(self.last)) > settle)
    }

    /// Books one datagram, or none if it is not of this flow. `came` is by whatever clock stamps arrivals.
    #[inline]
    fn book(&mut self, tally: &mut Tally, header: Header, length: usize, came: u64) {
        if !header.is_of(self.mark) {
            return;
        }
        let arrival = self.track.arrived(header.number);
        let mut jitter = 0;
        if arrival != Arrival::Duplicate {
            self.received += 1;
            jitter = self.jitter.arrived(header.sent, came);
            self.backlog.arrived(header.sent, came);
        }
        tally.received(header.sent, arrival, length as u64, jitter);
    }
}

/// What one thread counts of one client's flows.
#[derive(Debug)]
pub(crate) struct Count {
    /// Which client.
    pub(crate) client: u32,
    /// Its datagrams.
    pub(crate) tally: Tally,
    /// How long nothing came.
    pub(crate) gaps: Gaps,
}

/// The receiving flows of one thread.
#[derive(Debug)]
pub(crate) struct Receiver {
    flows: Vec<Incoming>,
    counts: Vec<Count>,
    inbox: Inbox,
    wait: Wait,
    keep: Keep,
    /// How long to wait for the last datagrams, ns.
    settle: u64,
    /// Bytes of a message at most.
    message: usize,
    /// The most datagrams that came in one message.
    gathered: u64,
    /// When the first datagram of any flow came.
    began: Option<u64>,
    cpu: CpuLog,
}

impl Receiver {
    /// For these flows in a trial of this number. All memory that the loop will use is allocated here.
    pub(crate) fn new(
        flows: Vec<(Flow, Arc<Ending>)>,
        task: &Task,
        options: &Options,
        trial: u32,
    ) -> io::Result<Self> {
        let mut counts: Vec<Count> = Vec::new();
        let mut place = |client: u32| {
            counts.iter().position(|count| count.client == client).unwrap_or_else(|| {
                let tally = Tally::new(task.duration, task.interval);
                counts.push(Count { client, tally, gaps: Gaps::new(task.duration) });
                counts.len() - 1
            })
        };
        let incoming = |(flow, ending): (Flow, Arc<Ending>)| {
            Ok(Incoming {
                mark: Mark::new(task.token, trial, flow.number),
                track: Track::new(),
                jitter: Jitter::default(),
                backlog: Backlog::default(),
                ending,
                count: place(flow.client),
                received: 0,
                last: 0,
                full_before: lost_in_full_buffer(flow.socket.as_fd())?,
                socket: flow.socket,
            })
        };
        let flows = flows.into_iter().map(incoming).collect::<io::Result<_>>()?;
        Ok(Self {
            flows,
            counts,
            inbox: inbox(options),
            message: match options.handing {
                Handing::Single => options.size,
                Handing::Grouped => GATHERED,
            },
            wait: options.wait,
            keep: options.keep,
            settle: options.settle.as_nanos() as u64,
            gathered: 1,
            began: None,
            cpu: CpuLog::new(task.duration, task.interval),
        })
    }

    /// What was counted, by client.
    pub(crate) fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// This thread's CPU time.
    pub(crate) fn cpu(&self) -> &CpuLog {
        &self.cpu
    }

    /// How many datagrams for these flows found a socket's buffer full. The kernel counts messages: where several
    /// datagrams come in one, each is taken to have been as large as the largest that did come.
    pub(crate) fn found_full(&self) -> io::Result<u64> {
        self.flows.iter().try_fold(0, |sum, flow| {
            let full = lost_in_full_buffer(flow.socket.as_fd())?.wrapping_sub(flow.full_before);
            Ok(sum + u64::from(full) * self.gathered)
        })
    }

    /// How many of the datagrams that came were still queued on their way when their sender ended.
    pub(crate) fn late(&self) -> u64 {
        self.flows.iter().map(|flow| flow.backlog.late(flow.received)).sum()
    }

    /// Receives until all flows have come to their end, or patience is over.
    pub(crate) fn run(&mut self, patience: &Patience) -> io::Result<()> {
        self.cpu.begin(0);
        match (self.wait, self.flows.len()) {
            (Wait::Block, 1) => self.block(patience),
            (Wait::Block, _) => self.poll(patience),
            (Wait::Spin, _) => self.spin(patience),
        }
    }

    /// One flow: waits within the call that receives.
    fn block(&mut self, patience: &Patience) -> io::Result<()> {
        self.flows[0].socket.set_nonblocking(false)?;
        self.flows[0].socket.set_read_timeout(Some(TICK))?;
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_over() {
            looked = clock::now().0;
            let came = self.take(0, Waiting::ForOne)?;
            moderation.took(came);
            if came < self.inbox.messages() {
                moderation.pause();
            }
        }
        Ok(())
    }

    /// All flows in turn, again and again.
    fn spin(&mut self, patience: &Patience) -> io::Result<()> {
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_over() {
            looked = clock::now().0;
            let (mut any, mut is_more) = (false, false);
            for flow in 0..self.flows.len() {
                let came = self.take(flow, Waiting::Never)?;
                moderation.took(came);
                any |= came > 0;
                is_more |= came == self.inbox.messages();
            }
            if any && !is_more {
                moderation.hold();
            }
        }
        Ok(())
    }

    /// Many flows: waits for any of them.
    fn poll(&mut self, patience: &Patience) -> io::Result<()> {
        const BATCH: usize = 64;
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, flow) in self.flows.iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&queue, flow.socket.as_fd(), data, epoll::EventFlags::IN)?;
        }
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let mut events = Vec::with_capacity(BATCH);
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_over() {
            events.clear();
            let now = clock::now().0;
            match epoll::wait(&queue, spare_capacity(&mut events), Some(&tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            // Of flows that had no room among the events nothing is known.
            if events.len() < BATCH {
                looked = now;
            }
            let mut is_more = false;
            for event in &events {
                let came = self.take(event.data.u64() as usize, Waiting::Never)?;
                moderation.took(came);
                is_more |= came == self.inbox.messages();
            }
            if !is_more {
                moderation.pause();
            }
        }
        Ok(())
    }

    fn moderation(&self) -> io::Result<Moderation> {
        Moderation::of(self.flows.iter().map(|flow| flow.socket.as_fd()), self.message)
    }

    fn is_over(&self, looked: u64) -> bool {
        self.flows.iter().all(|flow| flow.is_over(looked, self.settle))
    }

    /// Takes what is there of a flow, and says how many messages that were; that there is nothing is no error.
    fn take(&mut self, flow: usize, waiting: Waiting) -> io::Result<usize> {
        let Self { flows, counts, inbox, .. } = self;
        let flow = &mut flows[flow];
        let came = match inbox.receive(flow.socket.as_fd(), waiting) {
            Ok(came) => came,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        let now = clock::now().0;
        flow.last = now;
        let Count { tally, gaps, .. } = &mut counts[flow.count];
        for message in 0..came {
            let message = inbox.message(message);
            let stamp = message.at.unwrap_or(now);
            match message.segment {
                Some(segment) if segment < message.length => {
                    self.gathered = self.gathered.max(message.length.div_ceil(segment) as u64);
                    unfold(flow, tally, &message, segment, self.keep, stamp);
                }
                _ => {
                    if let Some(header) = Header::read(message.kept) {
                        flow.book(tally, header, message.length, stamp);
                    }
                }
            }
        }
        let at = now - *self.began.get_or_insert(now);
        gaps.progress(at);
        self.cpu.at(at);
        Ok(came)
    }
}

/// Books the datagrams that were gathered in one message.
///
/// Where only the first header was kept, the others are taken to follow it without a gap: a datagram that is missing
/// among them is missed at the next message, so that no loss is overlooked.
fn unfold(
    flow: &mut Incoming,
    tally: &mut Tally,
    message: &Message<'_>,
    segment: usize,
    keep: Keep,
    stamp: u64,
) {
    let mut first = Header::read(message.kept);
    for (nth, from) in (0..message.length).step_by(segment).enumerate() {
        let length = segment.min(message.length - from);
        let header = match keep {
            Keep::Whole => message.kept.get(from..).and_then(Header::read),
            Keep::Header => {
                let header = first;
                if let Some(first) = &mut first {
                    first.number = first.number.wrapping_add(1);
                }
                header.filter(|_| nth == 0 || length >= LENGTH)
            }
        };
        if let Some(header) = header {
            flow.book(tally, header, length, stamp);
        }
    }
}

/// Room for what comes in one call: enough that a call per datagram is not what limits the rate, and no more than stays
/// in the nearer caches.
fn inbox(options: &Options) -> Inbox {
    let ancillary = match (options.handing, options.stamp) {
        (Handing::Single, Stamp::Receiver) => Ancillary::None,
        _ => Ancillary::Wanted,
    };
    match (options.keep, options.handing) {
        (Keep::Header, _) => Inbox::new(64, LENGTH, ancillary),
        (Keep::Whole, Handing::Single) => Inbox::new(64, options.size, ancillary),
        (Keep::Whole, Handing::Grouped) => Inbox::new(4, GATHERED, ancillary),
    }
}

#[cfg(test)]
mod tests;
