//! Requesting side: one transaction after another on every flow.

use super::requester_log::{NextStep, RequesterLog};
use super::stamp::RequestStamp;
use super::{MessageSizes, MessageTransport, ReceiveProgress, message_buffer};
use crate::clock;
use crate::event_loop::SharedDeadline;
use crate::flow_group::{FlowGroup, Interest};
use crate::payload::incompressible_payload;
use crate::slices::client::SlicedFlowGroup;
use crate::slices::window::SliceWindow;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

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
pub(super) struct Requester<W> {
    flows: Vec<RequestFlow<W>>,
    /// Flows with nothing outstanding, the one that has waited longest first.
    resting: VecDeque<usize>,
    sizes: MessageSizes,
    /// Bytes of a stamp that the response returns.
    echoed: usize,
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    pub(super) log: RequesterLog,
}

impl<W: MessageTransport> Requester<W> {
    /// Creates the flows of a thread, which are connected and rest.
    pub(super) fn new(wires: Vec<W>, sizes: MessageSizes, ledger: RequesterLog) -> Self {
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

    /// Returns the payload bytes of a request.
    pub(super) fn request_payload(&self) -> usize {
        let request = self.sizes.request;
        self.flows.first().map_or(request, |flow| flow.wire.payload_size(request))
    }

    /// Lets all flows begin transactions again.
    fn resume(&mut self) {
        for flow in &mut self.flows {
            flow.stage = RequestStage::Resting;
        }
        self.resting = (0..self.flows.len()).collect();
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

impl<W: MessageTransport> SlicedFlowGroup for Requester<W> {
    fn begin_slice(&mut self, window: SliceWindow, patience: &Arc<SharedDeadline>) {
        self.log.begin_slice(window, patience);
        self.resume();
    }

    fn end_slices(&mut self, patience: &Arc<SharedDeadline>) {
        self.log.end_slices(patience);
        self.resume();
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
