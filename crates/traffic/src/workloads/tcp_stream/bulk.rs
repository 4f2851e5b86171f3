//! Flows of one thread on either side, each of which sends or receives.

mod slices;

use super::counters::{ClientCounters, SideEpochs, now};
use super::sink::PayloadSink;
use super::source::PayloadSource;
use crate::cpu::CpuLog;
use crate::event_loop::SharedDeadline;
use crate::flow_group::{FlowGroup, Interest, TICK, server_tick};
use crate::placement::{SideCores, TrafficRole};
use crate::slices::progress::SliceProgress;
use crate::slices::window::SliceWindow;
use crate::sys::set_pacing_rate;
use crate::tcp::{AcceptedFlow, DRAIN_TIMEOUT, FlowDirection, FlowOrigin, shut_down};
use crate::{Error, OfferedLoad, TrialTask, parameters};
use std::io::{self, Read, Write};
use std::net::{self, Shutdown};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Message by which a receiving client begins: ASCII ENQ. It is not payload.
const BEGIN: [u8; 1] = [5];

/// Returns the pacing rate of each flow, bits of payload per second. Returns `None` if it is not paced.
pub(super) fn pacing_rate(task: &TrialTask) -> Option<u64> {
    match parameters::load(&task.parameters, "pacing_rate")? {
        OfferedLoad::Bits(bits) => Some(bits),
        OfferedLoad::Packets(_) => None,
    }
}

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BulkStage {
    /// Client that will receive: it has not yet sent [`BEGIN`].
    SendingBegin,
    /// Server that will send: it waits for [`BEGIN`].
    AwaitingBegin,
    /// Receiver to which no payload has arrived yet.
    AwaitingPayload,
    /// Receiver of payload.
    Receiving,
    /// Sender of payload.
    Sending,
    /// Client's flow that rests until its next slice.
    Resting,
    /// Flow that ends after its last slice: it has yet to say that it sends nothing more.
    Ending,
    /// Sender that has sent everything and waits for the receiver to close.
    Closing,
    /// Both ends are closed.
    Over,
}

impl BulkStage {
    /// Returns the first state of a flow.
    fn first(role: TrafficRole, way: FlowDirection) -> Self {
        match (role, way) {
            (TrafficRole::Client, FlowDirection::Up) => Self::Sending,
            (TrafficRole::Client, FlowDirection::Down) => Self::SendingBegin,
            (TrafficRole::Server, FlowDirection::Up) => Self::AwaitingPayload,
            (TrafficRole::Server, FlowDirection::Down) => Self::AwaitingBegin,
        }
    }
}

#[derive(Debug)]
struct BulkFlow {
    stream: net::TcpStream,
    /// Index into the group's counters.
    counters: usize,
    /// Index of the client process that the flow is from.
    process: u32,
    /// True if this side sends the payload.
    sends: bool,
    /// Bytes sent in the present slice.
    sent_in_slice: u64,
    stage: BulkStage,
}

/// Flows of one thread.
#[derive(Debug)]
pub(super) struct BulkFlowGroup {
    flows: Vec<BulkFlow>,
    /// True if any of the flows sends.
    sends: bool,
    /// True if any of the flows receives.
    receives: bool,
    pub(super) counts: Vec<ClientCounters>,
    /// Payload bytes passed to the kernel.
    pub(super) sent: u64,
    pub(super) cpu: CpuLog,
    source: PayloadSource,
    sink: PayloadSink,
    role: TrafficRole,
    duration: u64,
    shared: Arc<SideEpochs>,
    /// Beginning of the side. `None` before it.
    began: Option<u64>,
    patience: Option<Arc<SharedDeadline>>,
    /// Progress through the slices of the trial. `None` if it runs in one piece, and after a client's last slice.
    progress: Option<Arc<SliceProgress>>,
    /// Window in which a client's group sends in the present slice. `None` before the first one, and on a server.
    window: Option<SliceWindow>,
    /// True if a sender yields the core after every write (sched_yield(2)), because the receiver may wait for the same
    /// core.
    ///
    /// Otherwise the sender first fills the socket's buffers, which are larger than the caches, and all of the payload
    /// is copied from memory. On a virtual machine of two cores, over a veth pair, yielding gives 1.7 times the
    /// throughput of one flow on one core, and 1.8 times that of eight flows on two (medians of 6 interleaved trials of
    /// one second).
    yields_core: bool,
}

impl BulkFlowGroup {
    /// Creates the flow group of a thread on one side. A client sets its deadline some time after the trial; a server's
    /// deadline is set by its owner.
    pub(super) fn new(
        flows: Vec<AcceptedFlow>,
        task: &TrialTask,
        role: TrafficRole,
        shared: &Arc<SideEpochs>,
        patience: Option<&Arc<SharedDeadline>>,
        progress: Option<&Arc<SliceProgress>>,
    ) -> Result<Self, Error> {
        let gives =
            if role == TrafficRole::Client { FlowDirection::Up } else { FlowDirection::Down };
        let counts = ClientCounters::for_flows(&flows, gives, task, shared)?;
        for flow in flows.iter().filter(|flow| flow.direction == gives) {
            if let Some(rate) = pacing_rate(task) {
                set_pacing_rate(flow.stream.as_fd(), rate.div_ceil(8))
                    .map_err(|error| Error::io("pace a flow (--pacing-rate)", error))?;
            }
        }
        let place = |client| counts.binary_search_by_key(&client, |count| count.client);
        let flows: Vec<BulkFlow> = flows
            .into_iter()
            .map(|AcceptedFlow { stream, origin: FlowOrigin { client, process }, direction }| {
                BulkFlow {
                    stream,
                    counters: place(client).unwrap_or_default(),
                    process,
                    sends: direction == gives,
                    sent_in_slice: 0,
                    stage: BulkStage::first(role, direction),
                }
            })
            .collect();
        Ok(Self {
            sends: flows.iter().any(|flow| flow.sends),
            receives: flows.iter().any(|flow| !flow.sends),
            flows,
            counts,
            sent: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            source: PayloadSource::from_parameters(&task.parameters)?,
            sink: PayloadSink::from_parameters(&task.parameters)?,
            role,
            duration: task.duration.0,
            shared: Arc::clone(shared),
            began: None,
            patience: patience.map(Arc::clone),
            progress: progress.map(Arc::clone),
            window: None,
            yields_core: task.one_clock && SideCores::are_shared(&task.cpus),
        })
    }

    /// Records the time on the side's clock, and begins it.
    fn note_time(&mut self, now: u64) {
        let began = match self.began {
            Some(began) => began,
            None => {
                let began = *self.began.insert(self.shared.side.start(now));
                self.cpu.begin(now.saturating_sub(began));
                began
            }
        };
        self.cpu.record(now.saturating_sub(began));
    }

    /// After the trial's end, limits a client's wait for data on the way.
    fn limit_drain(&self) {
        let Some((patience, began)) = self.patience.as_ref().zip(self.began) else { return };
        let left = (began + self.duration).checked_sub(now());
        if left.is_none_or(|left| left == 0) {
            patience.set(Instant::now() + DRAIN_TIMEOUT);
        }
    }

    fn step(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            BulkStage::SendingBegin => self.send_begin(flow),
            BulkStage::AwaitingBegin => self.receive_begin(flow),
            BulkStage::AwaitingPayload => self.receive_first(flow),
            BulkStage::Receiving => self.receive_payload(flow),
            BulkStage::Sending => self.send_payload(flow),
            BulkStage::Ending => self.end_sending(flow),
            BulkStage::Closing => self.close(flow),
            BulkStage::Resting | BulkStage::Over => Ok(()),
        }
    }

    /// Tells the server to begin to send.
    fn send_begin(&mut self, flow: usize) -> io::Result<()> {
        let BulkFlow { stream, stage, .. } = &mut self.flows[flow];
        stream.write_all(&BEGIN)?;
        *stage = BulkStage::AwaitingPayload;
        Ok(())
    }

    /// Waits for the client's [`BEGIN`], or for the end of the stream.
    fn receive_begin(&mut self, flow: usize) -> io::Result<()> {
        let BulkFlow { stream, stage, .. } = &mut self.flows[flow];
        if stream.read(&mut [0])? > 0 {
            *stage = BulkStage::Sending;
            return self.limit_wait_in_slice(flow);
        }
        *stage = BulkStage::Over;
        shut_down(stream, Shutdown::Both)
    }

    /// Waits for the first byte: the clock begins on its arrival, not when a whole buffer has been copied.
    fn receive_first(&mut self, flow: usize) -> io::Result<()> {
        let BulkFlow { stream, stage, counters: count, .. } = &mut self.flows[flow];
        stream.peek(&mut [0])?;
        *stage = BulkStage::Receiving;
        let now = now();
        self.counts[*count].clocks.receiving.start(now);
        if self.progress.is_none() {
            self.note_time(now);
        }
        self.receive_payload(flow)
    }

    fn receive_payload(&mut self, flow: usize) -> io::Result<()> {
        let bytes = self.sink.receive(&self.flows[flow].stream)?;
        let now = now();
        if let Some(progress) = &self.progress {
            let progress = Arc::clone(progress);
            return self.count_in_slice(flow, bytes as u64, now, &progress);
        }
        self.note_time(now);
        let BulkFlow { stream, stage, counters: count, .. } = &mut self.flows[flow];
        let ClientCounters { clocks, meter, .. } = &mut self.counts[*count];
        let at = now.saturating_sub(clocks.receiving.start(now));
        let Some(meter) = meter else { return Ok(()) };
        if bytes > 0 {
            meter.add(at, bytes as u64);
            return Ok(());
        }
        meter.note_end(at);
        *stage = BulkStage::Over;
        shut_down(stream, Shutdown::Both)
    }

    fn send_payload(&mut self, flow: usize) -> io::Result<()> {
        let now = now();
        if let Some(window) = self.sending_window(now) {
            return self.send_in_slice(flow, window, now);
        }
        self.note_time(now);
        let count = &mut self.counts[self.flows[flow].counters];
        let at = now.saturating_sub(count.clocks.sending.start(now));
        let is_first = at == 0;
        count.sample_kernel(at, |flow| &self.flows[flow].stream)?;
        if at < self.duration {
            let stream = &self.flows[flow].stream;
            self.sent += self.source.send(stream)? as u64;
            // A client of a crowd would fill its socket's buffer before others on its core have begun.
            if self.yields_core || is_first {
                std::thread::yield_now();
            }
            return Ok(());
        }
        self.end_sending(flow)
    }

    /// Says that the flow sends nothing more, and waits for the other end to close.
    fn end_sending(&mut self, flow: usize) -> io::Result<()> {
        let BulkFlow { stream, stage, .. } = &mut self.flows[flow];
        *stage = BulkStage::Closing;
        shut_down(stream, Shutdown::Write)?;
        self.limit_drain();
        Ok(())
    }

    /// Waits for the receiver to close, which it does once it has everything; a receiver that stopped waiting, or is
    /// gone, shows in its counts.
    fn close(&mut self, flow: usize) -> io::Result<()> {
        let BulkFlow { stream, stage, .. } = &mut self.flows[flow];
        match stream.read(&mut [0]) {
            Ok(0) => *stage = BulkStage::Over,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                *stage = BulkStage::Over;
            }
            other => drop(other?),
        }
        Ok(())
    }
}

impl FlowGroup for BulkFlowGroup {
    fn flow_count(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].stream.as_fd()
    }

    fn tick(&self) -> Duration {
        match (self.role, &self.progress) {
            (TrafficRole::Client, Some(_)) if self.receives => slices::SLICE_TICK,
            (TrafficRole::Client, _) => TICK,
            (TrafficRole::Server, progress) => server_tick(progress.is_some()),
        }
    }

    fn on_start(&mut self) {
        if self.role == TrafficRole::Client && self.progress.is_none() {
            self.note_time(now());
        }
    }

    fn interest(&self, flow: usize) -> Interest {
        match self.flows[flow].stage {
            BulkStage::SendingBegin | BulkStage::Sending | BulkStage::Ending => Interest::Write,
            BulkStage::AwaitingBegin
            | BulkStage::AwaitingPayload
            | BulkStage::Receiving
            | BulkStage::Closing => Interest::Read,
            BulkStage::Resting | BulkStage::Over => Interest::Finished,
        }
    }

    fn step_flow(&mut self, flow: usize) -> io::Result<()> {
        let result = self.step(flow);
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.limit_drain();
            if self.progress.is_some() {
                self.rest_after_slice(flow, now());
            }
        }
        result
    }

    fn next_due(&self) -> Option<u64> {
        self.sending_deadline()
    }

    fn on_tick(&mut self, now: u64) -> io::Result<()> {
        self.rest_senders(now)
    }
}
