//! Receiving loop of one thread: takes datagrams in batches and counts each by its header.

use super::arrival_times::ArrivalTimes;
use super::flow_end::FlowEnd;
use super::handshake::UdpFlow;
use super::header::{DatagramHeader, FlowTag, LENGTH};
use super::interval_counters::IntervalCounters;
use super::moderation::Moderation;
use super::options::{ArrivalClock, DatagramGrouping, Options, PayloadCopy};
use super::sequence_tracker::{Arrival, Backlog, Jitter, SequenceTracker};
use crate::TrialTask;
use crate::clock;
use crate::cpu::CpuLog;
use crate::event_loop::SharedDeadline;
use crate::flow_group::server_tick;
use crate::ready_queue::{ReadyQueue, ReadySockets};
use crate::slices::progress::SliceProgress;
use crate::slices::window::SlicePlace;
use crate::stall::StallTracker;
use crate::sys::{Ancillary, BatchWait, ReceiveBatch, ReceivedDatagram, socket_drops};
use crate::wait_mode::{WaitMode, sleep_until_readable};
use rustix::event::epoll::EventFlags;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tare_record::SlicePlan;

/// Largest message that the kernel makes of several datagrams, bytes.
const MAX_GATHERED: usize = 1 << 16;

/// Receiving side of one flow.
#[derive(Debug)]
pub(crate) struct ReceivingFlow {
    socket: Arc<UdpSocket>,
    mark: FlowTag,
    sequence: SequenceTracker,
    jitter: Jitter,
    backlog: Backlog,
    ending: Arc<FlowEnd>,
    /// Index into the thread's counts.
    count: usize,
    /// Datagrams received, each once.
    received: u64,
    /// Arrival of the last datagram, by the monotonic clock, ns.
    last: u64,
    /// Messages that had found the socket's buffer full before the trial, since the socket was opened.
    full_before: u32,
    /// Index of the slice of the last datagram, in a trial in slices.
    slice: u64,
}

impl ReceivingFlow {
    /// Returns whether all datagrams have arrived, or none has for `settle` ns since the sender's end. `looked` is the
    /// time of the last read of the socket: a thread that has not run since then has not seen what is queued there.
    fn is_over(&self, looked: u64, settle: u64) -> bool {
        self.ending.ended_at().is_some_and(|told| {
            self.ending.sent().is_some_and(|sent| self.received >= sent)
                || looked.saturating_sub(told.max(self.last)) > settle
        })
    }

    /// Counts one datagram. Ignores it if it is not of this flow. `came` is the arrival time by the monotonic clock, ns.
    #[inline]
    fn count_datagram(
        &mut self,
        tally: &mut IntervalCounters,
        header: DatagramHeader,
        length: usize,
        came: u64,
        slices: Option<&SlicePlan>,
    ) {
        if !header.has_tag(self.mark) {
            return;
        }
        let at = slices.map_or(header.sent, |plan| self.place_in_slices(plan, header.sent));
        let arrival = self.sequence.record(header.number);
        let mut jitter = 0;
        if arrival != Arrival::Duplicate {
            self.received += 1;
            jitter = self.jitter.record(header.sent, came);
            self.backlog.record(header.sent, came);
        }
        tally.count_received(at, arrival, length as u64, jitter);
    }

    /// Returns the slice time at which a datagram was sent, or the time of those that do not count. Between two slices
    /// the sender's time stands still, and the receiver's does not: the jitter begins anew.
    fn place_in_slices(&mut self, plan: &SlicePlan, sent: u64) -> u64 {
        let place = SlicePlace::find(plan, sent);
        if place.index > self.slice {
            self.slice = place.index;
            self.jitter.begin_anew();
        }
        place.slice_time.unwrap_or(IntervalCounters::OUTSIDE)
    }
}

/// Counts of one thread for the flows of one client.
#[derive(Debug)]
pub(crate) struct ClientReceiveCounts {
    /// Number of the client.
    pub(crate) client: u32,
    /// Datagrams by interval.
    pub(crate) tally: IntervalCounters,
    /// Gaps in which nothing arrived.
    pub(crate) gaps: StallTracker,
}

/// Receiving side of all flows of one thread.
#[derive(Debug)]
pub(crate) struct UdpReceiver {
    flows: Vec<ReceivingFlow>,
    counts: Vec<ClientReceiveCounts>,
    inbox: ReceiveBatch,
    wait: WaitMode,
    keep: PayloadCopy,
    /// Clocks of the stamps. `None` if the kernel stamps no datagram.
    stamps: Option<ArrivalTimes>,
    /// Time to wait for the last datagrams, ns.
    settle: u64,
    /// Maximum size of a message, bytes.
    message: usize,
    /// Highest number of datagrams in one message so far.
    gathered: u64,
    /// Arrival of the first datagram of any flow, by the monotonic clock, ns.
    began: Option<u64>,
    cpu: CpuLog,
    /// Slices of the trial, and their plan. `None` if it runs in one piece.
    slices: Option<Arc<SliceProgress>>,
}

impl UdpReceiver {
    /// Creates the receiver of these flows for a trial of this number. Allocates all memory that the loop uses.
    pub(crate) fn new(
        flows: Vec<(UdpFlow, Arc<FlowEnd>)>,
        task: &TrialTask,
        options: &Options,
        trial: u32,
        progress: Option<&Arc<SliceProgress>>,
    ) -> io::Result<Self> {
        let mut counts: Vec<ClientReceiveCounts> = Vec::new();
        let mut place = |client: u32| {
            counts.iter().position(|count| count.client == client).unwrap_or_else(|| {
                let tally = IntervalCounters::new(task.duration, task.interval);
                counts.push(ClientReceiveCounts {
                    client,
                    tally,
                    gaps: StallTracker::new(task.duration),
                });
                counts.len() - 1
            })
        };
        let incoming = |(flow, ending): (UdpFlow, Arc<FlowEnd>)| {
            Ok(ReceivingFlow {
                mark: FlowTag::new(task.token, trial, flow.number),
                sequence: SequenceTracker::new(),
                jitter: Jitter::default(),
                backlog: Backlog::default(),
                ending,
                count: place(flow.client),
                received: 0,
                last: 0,
                full_before: 0,
                slice: 0,
                socket: flow.socket,
            })
        };
        let flows = flows.into_iter().map(incoming).collect::<io::Result<_>>()?;
        Ok(Self {
            flows,
            counts,
            inbox: new_inbox(options),
            message: match options.grouping {
                DatagramGrouping::Single => options.size,
                DatagramGrouping::Grouped => MAX_GATHERED,
            },
            wait: options.wait,
            keep: options.copy,
            stamps: (options.arrival_clock == ArrivalClock::Kernel).then(ArrivalTimes::default),
            settle: options.settle.as_nanos() as u64,
            gathered: 1,
            began: None,
            cpu: CpuLog::new(task.duration, task.interval),
            slices: progress.cloned(),
        })
    }

    /// Returns the counts by client.
    pub(crate) fn counts(&self) -> &[ClientReceiveCounts] {
        &self.counts
    }

    /// Returns the CPU time of this thread.
    pub(crate) fn cpu(&self) -> &CpuLog {
        &self.cpu
    }

    /// Returns the number of datagrams of these flows that found a socket's buffer full. The kernel counts messages:
    /// where a message holds several datagrams, each lost message counts as the largest that was received.
    pub(crate) fn buffer_drops(&self) -> io::Result<u64> {
        self.flows.iter().try_fold(0, |sum, flow| {
            let full = socket_drops(flow.socket.as_fd())?.wrapping_sub(flow.full_before);
            Ok(sum + u64::from(full) * self.gathered)
        })
    }

    /// Leaves out of [`Self::buffer_drops`] what has found a buffer full until now. To be called before the clients
    /// are told to send: what they send from then on counts.
    pub(crate) fn forget_buffer_drops(&mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.full_before = socket_drops(flow.socket.as_fd())?;
        }
        Ok(())
    }

    /// Returns the number of received datagrams that were still queued on the path when their sender ended.
    pub(crate) fn late_datagrams(&self) -> u64 {
        self.flows.iter().map(|flow| flow.backlog.late_datagrams(flow.received)).sum()
    }

    /// Returns the number of them on flows whose queue has grown by more than a search tolerates.
    pub(crate) fn excess_datagrams(&self) -> u64 {
        self.flows.iter().map(|flow| flow.backlog.excess_datagrams(flow.received)).sum()
    }

    /// Receives until all flows have ended, or patience is over.
    pub(crate) fn run(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        if self.slices.is_none() {
            self.cpu.begin(0);
        }
        match (self.wait, self.flows.len()) {
            (WaitMode::Spin, _) => self.run_spinning(patience),
            (WaitMode::Block | WaitMode::BusyPoll, 1) => self.run_blocking(patience),
            (WaitMode::Block | WaitMode::BusyPoll, _) => self.run_polling(patience),
        }
    }

    /// Receives one flow, and blocks in the receiving call.
    fn run_blocking(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        self.flows[0].socket.set_nonblocking(false)?;
        self.flows[0].socket.set_read_timeout(Some(self.tick()))?;
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_past() {
            looked = clock::now().0;
            let came = self.receive_batch(0, BatchWait::FirstDatagram)?;
            moderation.add_messages(came);
            if came < self.inbox.messages() {
                moderation.pause();
            }
        }
        Ok(())
    }

    /// Receives all flows in turn, without blocking but between two slices, which are those of other networks.
    fn run_spinning(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_past() {
            if self.awaits_slice(looked) {
                let sockets = self.flows.iter().map(|flow| flow.socket.as_fd());
                sleep_until_readable(sockets, self.tick())?;
            }
            looked = clock::now().0;
            let (mut any, mut is_more) = (false, false);
            for flow in 0..self.flows.len() {
                let came = self.receive_batch(flow, BatchWait::Never)?;
                moderation.add_messages(came);
                any |= came > 0;
                is_more |= came == self.inbox.messages();
            }
            if any && !is_more {
                moderation.hold();
            }
        }
        Ok(())
    }

    /// Receives many flows, and waits for any of them by epoll.
    fn run_polling(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        const BATCH: usize = 64;
        let queue = ReadyQueue::new()?;
        for (index, flow) in self.flows.iter().enumerate() {
            queue.add(&flow.socket, index, EventFlags::IN)?;
        }
        let tick = self.tick().as_nanos() as u64;
        let mut ready = ReadySockets::with_room_for(BATCH);
        let mut moderation = self.moderation()?;
        let mut looked = 0;
        while !self.is_over(looked) && !patience.is_past() {
            let now = clock::now().0;
            queue.wait(tick, &mut ready)?;
            // Flows that had no room among those ready have not been read.
            if ready.len() < BATCH {
                looked = now;
            }
            let mut is_more = false;
            for flow in ready.keys() {
                let came = self.receive_batch(flow, BatchWait::Never)?;
                moderation.add_messages(came);
                is_more |= came == self.inbox.messages();
            }
            if !is_more {
                moderation.pause();
            }
        }
        Ok(())
    }

    /// Returns the longest time that the thread sleeps without an event.
    fn tick(&self) -> Duration {
        server_tick(self.slices.is_some())
    }

    /// Returns true if, at `now`, nothing has arrived in the present slice, or the slice is over.
    fn awaits_slice(&self, now: u64) -> bool {
        self.slices.as_ref().is_some_and(|slices| slices.awaits_slice() || slices.is_over(now))
    }

    fn moderation(&self) -> io::Result<Moderation> {
        Moderation::for_sockets(self.flows.iter().map(|flow| flow.socket.as_fd()), self.message)
    }

    /// Returns whether nothing more is expected. In slices that is so once the clients have ended, because each slice has
    /// been settled.
    fn is_over(&self, looked: u64) -> bool {
        if self.slices.is_some() {
            return self.flows.iter().all(|flow| flow.ending.has_ended());
        }
        self.flows.iter().all(|flow| flow.is_over(looked, self.settle))
    }

    /// Takes one batch of waiting messages of a flow, and returns their number. No waiting message is no error.
    fn receive_batch(&mut self, flow: usize, waiting: BatchWait) -> io::Result<usize> {
        let Self { flows, counts, inbox, slices, stamps, .. } = self;
        let flow = &mut flows[flow];
        let (before, plan) = (flow.received, slices.as_deref().map(SliceProgress::plan));
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
        if let Some(stamps) = stamps {
            stamps.begin_batch();
        }
        let ClientReceiveCounts { tally, gaps, .. } = &mut counts[flow.count];
        for message in 0..came {
            let message = inbox.message(message);
            let stamp = stamps.as_ref().map_or(now, |stamps| stamps.arrival(message.at));
            match message.segment {
                Some(segment) if segment < message.length => {
                    self.gathered = self.gathered.max(message.length.div_ceil(segment) as u64);
                    let arrival = (stamp, plan);
                    count_gathered(flow, tally, &message, segment, self.keep, arrival);
                }
                _ => {
                    if let Some(header) = DatagramHeader::read(message.kept) {
                        flow.count_datagram(tally, header, message.length, stamp, plan);
                    }
                }
            }
        }
        match slices {
            Some(progress) => {
                let window = progress.window(now);
                if let Some(at) = window.slice_time(now) {
                    gaps.note_progress(at);
                }
                self.cpu.record_in_slice(&window, now);
                progress.count_received(flow.received - before);
            }
            None => {
                let at = now - *self.began.get_or_insert(now);
                gaps.note_progress(at);
                self.cpu.record(at);
            }
        }
        Ok(came)
    }
}

/// Counts the datagrams that the kernel gathered in one message.
///
/// If only the first header was copied, the other datagrams are assumed to follow it without a gap. A datagram that is
/// missing among them shows as missing at the next message, so that no loss is overlooked.
fn count_gathered(
    flow: &mut ReceivingFlow,
    tally: &mut IntervalCounters,
    message: &ReceivedDatagram<'_>,
    segment: usize,
    keep: PayloadCopy,
    (stamp, plan): (u64, Option<&SlicePlan>),
) {
    let mut first = DatagramHeader::read(message.kept);
    for (nth, from) in (0..message.length).step_by(segment).enumerate() {
        let length = segment.min(message.length - from);
        let header = match keep {
            PayloadCopy::Whole => message.kept.get(from..).and_then(DatagramHeader::read),
            PayloadCopy::Header => {
                let header = first;
                if let Some(first) = &mut first {
                    first.number = first.number.wrapping_add(1);
                }
                header.filter(|_| nth == 0 || length >= LENGTH)
            }
        };
        if let Some(header) = header {
            flow.count_datagram(tally, header, length, stamp, plan);
        }
    }
}

/// Returns the buffers for one receiving call: large enough that a call per datagram does not limit the rate, small
/// enough to stay in the nearer caches.
fn new_inbox(options: &Options) -> ReceiveBatch {
    let ancillary = match (options.grouping, options.arrival_clock) {
        (DatagramGrouping::Single, ArrivalClock::Receiver) => Ancillary::None,
        _ => Ancillary::TimestampAndSegment,
    };
    match (options.copy, options.grouping) {
        (PayloadCopy::Header, _) => ReceiveBatch::new(64, LENGTH, ancillary),
        (PayloadCopy::Whole, DatagramGrouping::Single) => {
            ReceiveBatch::new(64, options.size, ancillary)
        }
        (PayloadCopy::Whole, DatagramGrouping::Grouped) => {
            ReceiveBatch::new(4, MAX_GATHERED, ancillary)
        }
    }
}

#[cfg(test)]
mod tests;
