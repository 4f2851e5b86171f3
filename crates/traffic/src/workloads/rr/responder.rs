//! Serving side: a whole response for every whole request.

use super::stamp::{LENGTH, RequestStamp};
use super::{MessageSizes, MessageTransport, ReceiveProgress, message_buffer};
use crate::cpu::CpuLog;
use crate::flow_group::{FlowGroup, Interest, server_tick};
use crate::latency::LatencyLog;
use crate::payload::incompressible_payload;
use crate::slices::window::SliceWindow;
use crate::workers::WorkerOutput;
use crate::workloads::serving_state::ServingState;
use crate::{Error, SideReport, TrialTask, clock, cpu, merge};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use tare_record::{EndCounts, Interval, Series};

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseStage {
    Receiving,
    Sending,
    Over,
}

/// Serving flow.
#[derive(Debug)]
struct ResponseFlow<W> {
    wire: W,
    stage: ResponseStage,
    /// Index into the group's clients.
    client: usize,
    /// Beginning of its client's trial by the clock of both, known from the client's first request.
    epoch: Option<u64>,
    /// True if anything has arrived since the last [`FlowGroup::on_tick`].
    moved: bool,
}

/// One-way times from client to server, of one client.
#[derive(Debug)]
struct OneWayLog {
    client: u32,
    log: LatencyLog,
}

/// Serving flows of one thread.
#[derive(Debug)]
pub(in crate::workloads) struct Responder<W> {
    flows: Vec<ResponseFlow<W>>,
    /// One-way times of every client; empty if they cannot be measured.
    one_way: Vec<OneWayLog>,
    sizes: MessageSizes,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    answered: u64,
    cpu: CpuLog,
    epoch: Option<u64>,
    shared: ServingState,
}

impl<W: MessageTransport> Responder<W> {
    /// Creates a group of these flows, each with the number of its client.
    pub(in crate::workloads) fn new(
        flows: Vec<(W, u32)>,
        sizes: MessageSizes,
        task: &TrialTask,
        shared: &ServingState,
    ) -> Self {
        let mut clients: Vec<u32> = flows.iter().map(|&(_, client)| client).collect();
        clients.sort_unstable();
        clients.dedup();
        let flows = flows
            .into_iter()
            .map(|(wire, client)| ResponseFlow {
                wire,
                stage: ResponseStage::Receiving,
                client: clients.binary_search(&client).unwrap_or_default(),
                epoch: None,
                moved: true,
            })
            .collect();
        let told = task.one_clock && sizes.request >= LENGTH;
        let sharing = clients.len() as u64;
        let one_way = clients
            .into_iter()
            .filter(|_| told)
            .map(|client| OneWayLog {
                client,
                log: LatencyLog::new(task.duration, task.interval, sharing),
            })
            .collect();
        Self {
            flows,
            one_way,
            sizes,
            response: incompressible_payload(sizes.response),
            buffer: message_buffer(sizes.request),
            answered: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            epoch: None,
            shared: shared.clone(),
        }
    }

    /// Logs the one-way time of a request that arrived at `now`.
    fn log_one_way(
        &mut self,
        flow: usize,
        stamp: RequestStamp,
        now: u64,
        window: Option<SliceWindow>,
    ) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let Some(epoch) = one.epoch else {
            one.epoch = Some(stamp.time());
            return Ok(());
        };
        // The flow's first request, sent again.
        if stamp.time() == epoch {
            return Ok(());
        }
        let at = match window {
            None => RequestStamp::new(0, epoch).elapsed_until(now),
            Some(window) => match window.slice_time(now) {
                Some(at) => at,
                None => return Ok(()),
            },
        };
        self.one_way[one.client].log.add(at, stamp.elapsed_until(now)).map_err(io::Error::other)
    }

    fn receive_request(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let taken = one.wire.receive_some(&mut self.buffer, self.sizes.request)?;
        one.moved = true;
        match taken {
            ReceiveProgress::Part => return Ok(()),
            ReceiveProgress::Whole => {}
            ReceiveProgress::End => {
                one.stage = ResponseStage::Over;
                self.cpu.end_slice();
                return one.wire.close_sending();
            }
        }
        self.shared.spend(one.wire.payload_size(self.response.len()))?;
        one.stage = ResponseStage::Sending;
        let stamp = RequestStamp::read(one.wire.head());
        let needs_time = !self.one_way.is_empty() || self.shared.slices.is_some();
        let came = needs_time.then(|| clock::now().0);
        // The slice is over for the client as soon as it has the response.
        let window = came.zip(self.shared.slices.as_ref()).map(|(now, slices)| slices.window(now));
        match (window, came) {
            (Some(window), Some(now)) => self.cpu.record_in_slice(&window, now),
            _ if self.epoch.is_none() => self.begin_cpu_log(),
            _ => {}
        }
        // Logging is done while the response is on its way.
        let given = self.send_response(flow);
        if let Some(came) = came.filter(|_| !self.one_way.is_empty()) {
            self.log_one_way(flow, stamp, came, window)?;
        }
        given
    }

    fn send_response(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        RequestStamp::read(one.wire.head()).write(&mut self.response);
        if one.wire.send_some(&self.response)? {
            one.stage = ResponseStage::Receiving;
            self.answered += 1;
        }
        Ok(())
    }

    /// Handles the first request of this thread: CPU time counts from now.
    fn begin_cpu_log(&mut self) {
        self.epoch = Some(self.cpu.begin_at_shared_epoch(&self.shared.epoch));
    }
}

impl<W: MessageTransport> FlowGroup for Responder<W> {
    fn flow_count(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].wire.socket()
    }

    fn tick(&self) -> Duration {
        server_tick(self.shared.slices.is_some())
    }

    fn awaits_slice(&self) -> bool {
        self.shared.slices.as_ref().is_some_and(|slices| slices.awaits_slice())
    }

    fn interest(&self, flow: usize) -> Interest {
        match self.flows[flow].stage {
            ResponseStage::Receiving => Interest::Read,
            ResponseStage::Sending => Interest::Write,
            ResponseStage::Over => Interest::Finished,
        }
    }

    fn step_flow(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            ResponseStage::Receiving => self.receive_request(flow),
            ResponseStage::Sending => self.send_response(flow),
            ResponseStage::Over => Ok(()),
        }
    }

    fn on_tick(&mut self, now: u64) -> io::Result<()> {
        if let Some(epoch) = self.epoch {
            self.cpu.record(now.saturating_sub(epoch));
        }
        for one in &mut self.flows {
            if one.stage != ResponseStage::Over
                && !std::mem::take(&mut one.moved)
                && one.wire.is_closed_by_peer()?
            {
                one.stage = ResponseStage::Over;
            }
        }
        Ok(())
    }
}

/// Builds the report of a server from its flow groups.
pub(in crate::workloads) fn merge_responders<W: MessageTransport>(
    driven: WorkerOutput<Responder<W>>,
) -> Result<SideReport, Error> {
    let WorkerOutput { lanes, cpu, findings } = driven;
    let mut report = SideReport { findings, cpu, ..SideReport::default() };
    let mut series: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    for lane in lanes {
        add_answered(&mut report.ends, lane.answered, W::LOST_AFTER.is_some());
        cpu::add_rows(&mut report.cpu_by_interval, lane.cpu.rows());
        for OneWayLog { client, log } in lane.one_way {
            let more = log.intervals(|interval, histogram| interval.one_way = Some(histogram))?;
            merge::add_intervals(series.entry(client).or_default(), more)?;
        }
    }
    let series = series.into_iter().map(|(client, intervals)| Series::new(client, intervals));
    report.series = series.collect();
    Ok(report)
}

/// Adds a thread's answers. A request that arrived is a datagram received, and its response is one sent.
fn add_answered(ends: &mut EndCounts, answered: u64, datagrams: bool) {
    ends.answered += answered;
    if datagrams {
        ends.datagrams_sent += answered;
        ends.datagrams_received += answered;
    }
}
