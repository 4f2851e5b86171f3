//! Requesting side: one transaction after another on every flow.

use super::requester_log::{NextStep, RequesterLog, ThreadShare, find_shortfall};
use super::stamp::RequestStamp;
use super::{MessageSizes, MessageTransport, ReceiveProgress, message_buffer};
use crate::event_loop::SharedDeadline;
use crate::flow_group::{FlowGroup, Interest};
use crate::latency::set_round_trips;
use crate::payload::incompressible_payload;
use crate::placement::{SideCores, TrafficRole, find_spin_contention};
use crate::slices::{ClientSlices, SliceWindow};
use crate::tcp::GrantedOptions;
use crate::wait_mode::WaitMode;
use crate::workers::{self, WorkerOutput};
use crate::{Client, Error, SideReport, TrialTask, clock, cpu, merge};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use tare_record::{EndCounts, Finding, Nanos, Series};

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestStage {
    /// Nothing is outstanding, and no transaction is due.
    Resting,
    /// Nothing is outstanding, and no transaction is due before the next slice.
    BetweenSlices,
    Sending,
    Receiving,
    /// The server has been told that no more requests come.
    Closing,
    Over,
}

/// Attempt at a transaction. Times are by the monotonic clock, ns.
#[derive(Clone, Copy, Debug, Default)]
struct TransactionAttempt {
    /// Stamp at the beginning of the request.
    stamp: RequestStamp,
    /// Time from which the latency counts.
    asked: u64,
    /// Time at which the request was sent.
    sent: u64,
}

/// Requesting flow.
#[derive(Debug)]
struct RequestFlow<W> {
    wire: W,
    stage: RequestStage,
    /// Number of attempts made, modulo 256.
    count: u8,
    /// True once a response has arrived.
    answered: bool,
    present: TransactionAttempt,
    /// Previous attempt if it has not been answered: its response may be late.
    previous: Option<TransactionAttempt>,
}

/// Requesting flows of one thread.
#[derive(Debug)]
pub(in crate::workloads) struct Requester<W> {
    flows: Vec<RequestFlow<W>>,
    /// Flows with nothing outstanding, the one that has waited longest first.
    resting: VecDeque<usize>,
    sizes: MessageSizes,
    /// Bytes of a stamp that the response returns.
    echoed: usize,
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    log: RequesterLog,
}

impl<W: MessageTransport> Requester<W> {
    fn new(wires: Vec<W>, sizes: MessageSizes, ledger: RequesterLog) -> Self {
        let flows: Vec<_> = wires
            .into_iter()
            .map(|wire| RequestFlow {
                wire,
                stage: RequestStage::Resting,
                count: 0,
                answered: false,
                present: TransactionAttempt::default(),
                previous: None,
            })
            .collect();
        Self {
            resting: (0..flows.len()).collect(),
            flows,
            sizes,
            echoed: sizes.request.min(sizes.response),
            request: incompressible_payload(sizes.request),
            buffer: message_buffer(sizes.response),
            log: ledger,
        }
    }

    /// Lets all flows begin transactions again.
    fn resume(&mut self) {
        for flow in &mut self.flows {
            flow.stage = RequestStage::Resting;
        }
        self.resting = (0..self.flows.len()).collect();
    }

    /// Prepares the flows for a slice with this window.
    fn begin_slice(&mut self, window: SliceWindow, patience: &Arc<SharedDeadline>) {
        self.log.begin_slice(window, patience);
        self.resume();
    }

    /// Ends the last slice: the flows end.
    fn end_slices(&mut self, patience: &Arc<SharedDeadline>) {
        self.log.end_slices(patience);
        self.resume();
    }

    /// Takes the next step of a flow that has nothing outstanding.
    #[inline]
    fn continue_flow(&mut self, flow: usize, now: u64) -> io::Result<()> {
        match self.log.next(now) {
            NextStep::Begin(asked) => self.begin_transaction(flow, asked, now),
            NextStep::WaitUntilDue => {
                self.flows[flow].stage = RequestStage::Resting;
                self.resting.push_back(flow);
                Ok(())
            }
            NextStep::Rest => {
                self.flows[flow].stage = RequestStage::BetweenSlices;
                Ok(())
            }
            NextStep::End => self.hang_up(flow),
        }
    }

    /// Begins a transaction whose latency counts from `asked`.
    #[inline]
    fn begin_transaction(&mut self, flow: usize, asked: u64, now: u64) -> io::Result<()> {
        let epoch = self.log.epoch;
        let one = &mut self.flows[flow];
        one.count = one.count.wrapping_add(1);
        let stamp = RequestStamp::new(one.count, if one.answered { now } else { epoch });
        one.present = TransactionAttempt { stamp, asked, sent: now };
        one.stage = RequestStage::Sending;
        if W::LOST_AFTER.is_some() {
            self.log.count_sent(now);
        }
        self.send_request(flow)
    }

    /// Sends a part of a request.
    #[inline]
    fn send_request(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        one.present.stamp.write(&mut self.request);
        if one.wire.send_some(&self.request)? {
            one.stage = RequestStage::Receiving;
        }
        Ok(())
    }

    /// Receives a part of a response; the last byte completes the transaction.
    #[inline]
    fn receive_response(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        match one.wire.receive_some(&mut self.buffer, self.sizes.response)? {
            ReceiveProgress::Part => return Ok(()),
            ReceiveProgress::Whole => {}
            ReceiveProgress::End => return Err(closed_by_server()),
        }
        let now = clock::now().0;
        if W::LOST_AFTER.is_none() {
            one.answered = true;
            let asked = one.present.asked;
            // Logging is done while the next request is on its way.
            let begun = self.continue_flow(flow, now);
            self.log.complete(now, asked)?;
            return begun;
        }
        self.match_response(flow, now)
    }

    /// Completes the transaction that a datagram answers.
    fn match_response(&mut self, flow: usize, now: u64) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let answers = RequestStamp::read(one.wire.head()).truncated_to(self.echoed);
        let is = |attempt: &TransactionAttempt| attempt.stamp.truncated_to(self.echoed) == answers;
        let (attempt, is_present) = match one.previous.take_if(|previous| is(previous)) {
            Some(late) => (late, false),
            None if is(&one.present) => (one.present, true),
            // The response is to a request that was given up long ago, or has been answered.
            None => return Ok(()),
        };
        one.answered = true;
        let begun = if is_present { self.continue_flow(flow, now) } else { Ok(()) };
        self.log.count_answered(attempt.sent);
        self.log.complete(now, attempt.asked)?;
        begun
    }

    /// Gives up waiting for responses that are overdue.
    fn give_up(&mut self, now: u64, after: u64) -> io::Result<()> {
        for flow in 0..self.flows.len() {
            let one = &mut self.flows[flow];
            if one.stage != RequestStage::Receiving || now.saturating_sub(one.present.sent) < after
            {
                continue;
            }
            if one.wire.is_closed_by_peer()? {
                return Err(closed_by_server());
            }
            one.previous = Some(one.present);
            ignore_would_block(self.continue_flow(flow, now))?;
        }
        Ok(())
    }

    fn hang_up(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        one.stage =
            if W::LOST_AFTER.is_some() { RequestStage::Over } else { RequestStage::Closing };
        one.wire.close_sending()
    }

    /// Waits for the server to close its side too.
    fn close(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        if one.wire.receive_some(&mut self.buffer, 1)? == ReceiveProgress::End {
            one.stage = RequestStage::Over;
        }
        Ok(())
    }
}

impl<W: MessageTransport> FlowGroup for Requester<W> {
    fn flow_count(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].wire.socket()
    }

    fn on_start(&mut self) {
        self.log.begin();
    }

    fn interest(&self, flow: usize) -> Interest {
        match self.flows[flow].stage {
            RequestStage::Resting => Interest::UntilDue,
            RequestStage::Sending => Interest::Write,
            RequestStage::Receiving | RequestStage::Closing => Interest::Read,
            RequestStage::BetweenSlices | RequestStage::Over => Interest::Finished,
        }
    }

    fn step_flow(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            RequestStage::Receiving => self.receive_response(flow),
            RequestStage::Sending => self.send_request(flow),
            RequestStage::Closing => self.close(flow),
            RequestStage::Resting | RequestStage::BetweenSlices | RequestStage::Over => {
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    fn next_due(&self) -> Option<u64> {
        (!self.resting.is_empty()).then(|| self.log.next_due())
    }

    fn on_tick(&mut self, now: u64) -> io::Result<()> {
        self.log.on_tick(now);
        if let Some(after) = W::LOST_AFTER {
            self.give_up(now, after)?;
        }
        while let Some(&flow) = self.resting.front() {
            // Several transactions may begin in one call: each has its own time.
            let now = clock::now().0;
            if now < self.log.next_due() {
                break;
            }
            self.resting.pop_front();
            ignore_would_block(self.continue_flow(flow, now))?;
        }
        Ok(())
    }
}

/// Turns `WouldBlock` into success.
fn ignore_would_block(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}

fn closed_by_server() -> io::Error {
    io::Error::other("the server closed the connection")
}

/// Client of the request/response workloads.
pub(in crate::workloads) struct RrClient<W> {
    lanes: Vec<Requester<W>>,
    granted: GrantedOptions,
    cores: SideCores,
    patience: Arc<SharedDeadline>,
    epoch: Arc<OnceLock<u64>>,
    /// Slices that have run; `None` before the first one.
    slices: Option<ClientSlices>,
    task: TrialTask,
}

impl<W: MessageTransport> RrClient<W> {
    /// Prepares everything that the event loop will use, for flows that are connected.
    pub(in crate::workloads) fn new(
        wires: Vec<W>,
        granted: GrantedOptions,
        task: &TrialTask,
    ) -> Result<Self, Error> {
        let sizes = MessageSizes::from_parameters(&task.parameters)?;
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        let hands = workers::distribute(wires, &cores, &task.parameters);
        let sharing = (hands.len() * task.peers as usize / cores.list().len().max(1)) as u64;
        let (epoch, patience) = (Arc::new(OnceLock::new()), Arc::new(SharedDeadline::default()));
        let lanes = hands
            .into_iter()
            .enumerate()
            .map(|(nth, wires)| {
                let part = ThreadShare { nth, flows: wires.len(), sharing };
                Requester::new(wires, sizes, RequesterLog::new(task, part, &epoch, &patience))
            })
            .collect();
        Ok(Self { lanes, granted, cores, patience, epoch, slices: None, task: task.clone() })
    }

    /// Returns the report of flow groups that have finished.
    fn report(self, driven: WorkerOutput<Requester<W>>) -> Result<SideReport, Error> {
        let Self { granted, cores, epoch, task, .. } = self;
        let WorkerOutput { lanes, cpu, mut findings } = driven;
        findings.extend(find_contention(lanes.len(), &cores, &task));
        findings.extend(find_shortfall(&task, lanes.iter().map(|lane| lane.log.begun()).sum()));
        let mut report = SideReport { findings, cpu, ..SideReport::default() };
        report.epoch = epoch.get().copied().map(Nanos);
        let mut intervals = Vec::new();
        for Requester { log: ledger, sizes, .. } in lanes {
            add_counts(&mut report.ends, &ledger, W::LOST_AFTER.is_some());
            report.findings.extend(ledger.log.gaps().finding(task.interval));
            cpu::add_rows(&mut report.cpu_by_interval, ledger.cpu.rows());
            let mut more = ledger.log.intervals(set_round_trips)?;
            if W::LOST_AFTER.is_some() {
                ledger.counts.add_to(&mut more, sizes.request);
            }
            merge::add_intervals(&mut intervals, more)?;
        }
        report.series = vec![Series::new(task.client, intervals)];
        report.parameters = task.parameters;
        Ok(report.with_granted(&granted, &cores, TrafficRole::Client))
    }
}

impl<W: MessageTransport> Client for RrClient<W> {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let mut client = *self;
        let lanes = std::mem::take(&mut client.lanes);
        let driven =
            workers::run_flow_groups(lanes, &client.cores, &client.task, &client.patience)?;
        client.report(driven)
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        let slices = match &mut self.slices {
            Some(slices) => slices,
            None => self.slices.insert(ClientSlices::for_task(&self.task)?),
        };
        let (window, patience) = (slices.begin(), Arc::new(SharedDeadline::default()));
        let mut lanes = std::mem::take(&mut self.lanes);
        lanes.iter_mut().for_each(|lane| lane.begin_slice(window, &patience));
        let driven = workers::run_flow_groups(lanes, &self.cores, &self.task, &patience)?;
        self.lanes = slices.add(driven);
        // Every request has been answered: nothing is on its way.
        Ok(0)
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        let mut client = *self;
        let mut slices = client.slices.take().ok_or_else(Error::not_in_slices)?;
        let mut lanes = std::mem::take(&mut client.lanes);
        lanes.iter_mut().for_each(|lane| lane.end_slices(&client.patience));
        let driven =
            workers::run_flow_groups(lanes, &client.cores, &client.task, &client.patience)?;
        let lanes = slices.add(driven);
        client.report(slices.into_output(lanes))
    }
}

/// Adds a thread's counts.
fn add_counts(ends: &mut EndCounts, ledger: &RequesterLog, datagrams: bool) {
    ends.completed += ledger.log.completed();
    if datagrams {
        ends.datagrams_sent += ledger.counts.sent;
        ends.datagrams_received += ledger.counts.answered;
    }
}

/// Returns a finding if threads spin on cores that they share: the threads of all clients, and those of the server if
/// it is on the same machine.
fn find_contention(threads: usize, cores: &SideCores, task: &TrialTask) -> Option<Finding> {
    if WaitMode::from_parameters(&task.parameters) != WaitMode::Spin {
        return None;
    }
    let mut threads = threads * task.peers as usize;
    let mut all: std::collections::BTreeSet<u32> = cores.list().iter().copied().collect();
    if task.one_clock {
        let servers = SideCores::for_role(&task.cpus, TrafficRole::Server);
        let flows = task.flows as usize * task.peers as usize;
        threads += workers::thread_count(flows, &servers, &task.parameters);
        all.extend(servers.list());
    }
    find_spin_contention(threads, &all)
}
