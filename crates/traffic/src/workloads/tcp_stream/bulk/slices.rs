//! Slices of a group's flows: those that send rest between them, those that receive count within them.
//!
//! A client's flows that receive ask for each slice by [`BEGIN`](super::BEGIN), and their server sends for the length of
//! a slice from then on.

use super::{BulkFlow, BulkFlowGroup, BulkStage};
use crate::event_loop::SharedDeadline;
use crate::placement::TrafficRole;
use crate::slices::client::SlicedFlowGroup;
use crate::slices::progress::SliceProgress;
use crate::slices::window::SliceWindow;
use crate::tcp::{DRAIN_TIMEOUT, shut_down};
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest sleep of a thread in its slice: a flow to which nothing more comes, or which has no room to send, notices that
/// the slice is over.
pub(super) const SLICE_TICK: Duration = Duration::from_millis(1);

impl BulkFlowGroup {
    /// Returns the window in which the group sends in the present slice. Returns `None` in a trial in one piece.
    pub(super) fn sending_window(&self, now: u64) -> Option<SliceWindow> {
        let progress = self.progress.as_ref()?;
        match self.role {
            TrafficRole::Client => self.window,
            TrafficRole::Server => Some(progress.window(now)),
        }
    }

    /// Counts bytes that a receiver in slices has taken; none at the end of the stream.
    pub(super) fn count_in_slice(
        &mut self,
        flow: usize,
        bytes: u64,
        now: u64,
        progress: &SliceProgress,
    ) -> io::Result<()> {
        let BulkFlow { stream, stage, counters: count, .. } = &mut self.flows[flow];
        let Some(meter) = &mut self.counts[*count].meter else { return Ok(()) };
        if bytes == 0 {
            meter.note_end(self.duration);
            *stage = BulkStage::Over;
            self.cpu.end_slice();
            return shut_down(stream, Shutdown::Both);
        }
        let window = progress.window(now);
        match window.slice_time(now) {
            Some(at) => meter.add(at, bytes),
            None => meter.add_outside(bytes),
        }
        self.cpu.record_in_slice(&self.window.unwrap_or(window), now);
        progress.count_received(bytes);
        self.rest_after_slice(flow, now);
        Ok(())
    }

    /// Rests a client's flow that receives, once its slice is over.
    pub(super) fn rest_after_slice(&mut self, flow: usize, now: u64) {
        let Some(progress) = &self.progress else { return };
        let stage = &mut self.flows[flow].stage;
        let receives = matches!(stage, BulkStage::AwaitingPayload | BulkStage::Receiving);
        if self.role == TrafficRole::Client && receives && progress.is_over(now) {
            self.cpu.end_slice();
            *stage = BulkStage::Resting;
        }
    }

    /// Sends payload of a slice, or ends it.
    pub(super) fn send_in_slice(
        &mut self,
        flow: usize,
        window: SliceWindow,
        now: u64,
    ) -> io::Result<()> {
        if now >= window.ends {
            return self.rest_sender(flow, window);
        }
        self.counts[self.flows[flow].counters].clocks.sending.start(now);
        self.cpu.record_in_slice(&window, now);
        let sent = self.source.send(&self.flows[flow].stream)? as u64;
        self.flows[flow].sent_in_slice += sent;
        self.sent += sent;
        if self.yields_core {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Ends the slice of a flow that sends.
    fn rest_sender(&mut self, flow: usize, window: SliceWindow) -> io::Result<()> {
        self.read_kernel_after_slice(flow, window)?;
        let BulkFlow { stage, process, sent_in_slice, .. } = &mut self.flows[flow];
        let sent = std::mem::take(sent_in_slice);
        *stage = BulkStage::Resting;
        if let (TrafficRole::Server, Some(progress)) = (self.role, &self.progress) {
            *stage = BulkStage::AwaitingBegin;
            progress.rest_sender(*process, sent);
        }
        Ok(())
    }

    /// Ends the slices of all flows that send and whose window is over, those without room to send included.
    pub(super) fn rest_senders(&mut self, now: u64) -> io::Result<()> {
        for flow in 0..self.flows.len() {
            if self.flows[flow].stage == BulkStage::Sending
                && let Some(window) = self.sending_window(now)
                && now >= window.ends
            {
                self.rest_sender(flow, window)?;
            }
        }
        Ok(())
    }

    /// Returns the time at which flows that send must rest. Returns `None` if none sends in a slice.
    pub(super) fn sending_deadline(&self) -> Option<u64> {
        let sends = self.progress.is_some()
            && self.sends
            && self.flows.iter().any(|flow| flow.stage == BulkStage::Sending);
        sends.then(|| self.sending_window(super::now())).flatten().map(|window| window.ends)
    }

    /// Limits the time for which the only flow of a server's thread waits for room to send: it must notice that its slice
    /// is over.
    pub(super) fn limit_wait_in_slice(&self, flow: usize) -> io::Result<()> {
        match self.progress {
            Some(_) => self.flows[flow].stream.set_write_timeout(Some(SLICE_TICK)),
            None => Ok(()),
        }
    }

    /// Reads the kernel's statistics, and the CPU time, at the end of a slice.
    fn read_kernel_after_slice(&mut self, flow: usize, window: SliceWindow) -> io::Result<()> {
        let count = &mut self.counts[self.flows[flow].counters];
        match window.slice_time_at_end() {
            Some(at) => {
                self.cpu.end_slice();
                count.sample_kernel(at, |flow| &self.flows[flow].stream)
            }
            None => count.forget_retransmits(|flow| &self.flows[flow].stream),
        }
    }

    /// Receives what has arrived after a slice on a client's flows. It does not count.
    pub(in super::super) fn receive_rest(&mut self) -> io::Result<()> {
        let Self { flows, counts, sink, progress, .. } = self;
        let Some(progress) = progress else { return Ok(()) };
        for BulkFlow { stream, counters, .. } in flows.iter().filter(|flow| !flow.sends) {
            stream.set_nonblocking(true)?;
            loop {
                let bytes = match sink.receive(stream) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(bytes) => bytes as u64,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                if let Some(meter) = &mut counts[*counters].meter {
                    meter.add_outside(bytes);
                }
                progress.count_received(bytes);
            }
        }
        Ok(())
    }
}

impl SlicedFlowGroup for BulkFlowGroup {
    fn begin_slice(&mut self, window: SliceWindow, patience: &Arc<SharedDeadline>) {
        self.window = Some(window);
        self.patience = Some(Arc::clone(patience));
        for flow in &mut self.flows {
            flow.stage = if flow.sends { BulkStage::Sending } else { BulkStage::SendingBegin };
        }
    }

    fn end_slices(&mut self, patience: &Arc<SharedDeadline>) {
        self.progress = None;
        patience.set(Instant::now() + DRAIN_TIMEOUT);
        for flow in &mut self.flows {
            flow.stage = BulkStage::Ending;
        }
    }
}
