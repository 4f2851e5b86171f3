//! Client: its requesting threads through a trial in one piece, or through slices, and its report.

use super::requester::Requester;
use super::requester_log::{RequesterLog, ThreadShare, find_early_end, find_shortfall};
use super::{MessageSizes, MessageTransport};
use crate::event_loop::SharedDeadline;
use crate::latency::set_round_trips;
use crate::placement::{SideCores, TrafficRole, find_spin_contention};
use crate::slices::client::ClientSlices;
use crate::tcp::GrantedOptions;
use crate::wait_mode::WaitMode;
use crate::workers::{self, WorkerOutput};
use crate::{Client, Error, SideReport, TrialTask, cpu, merge};
use std::sync::{Arc, OnceLock};
use tare_record::{EndCounts, Finding, Interval, Nanos, Series};

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
        sizes: MessageSizes,
        granted: GrantedOptions,
        task: &TrialTask,
    ) -> Self {
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
        Self { lanes, granted, cores, patience, epoch, slices: None, task: task.clone() }
    }

    /// Returns the report of flow groups that have finished.
    fn report(self, driven: WorkerOutput<Requester<W>>) -> Result<SideReport, Error> {
        let Self { granted, cores, epoch, task, .. } = self;
        let WorkerOutput { lanes, cpu, mut findings } = driven;
        findings.extend(find_contention(lanes.len(), &cores, &task));
        let counted_end = lanes.iter().filter_map(|lane| lane.log.counted_end()).max();
        if counted_end.is_none() {
            findings.extend(find_shortfall(&task, lanes.iter().map(|lane| lane.log.begun()).sum()));
            let completed = lanes.iter().map(|lane| lane.log.log.completed()).sum();
            findings.extend(find_early_end(&task, completed));
        }
        let mut report = SideReport { findings, cpu, ..SideReport::default() };
        report.epoch = epoch.get().copied().map(Nanos);
        let mut intervals = Vec::new();
        for lane in lanes {
            let payload = lane.request_payload();
            let ledger = lane.log;
            add_counts(&mut report.ends, &ledger, W::LOST_AFTER.is_some());
            let gaps = ledger.log.gaps();
            let gaps = counted_end.map_or(gaps, |end| gaps.ended_at(end));
            report.findings.extend(gaps.finding(task.interval));
            cpu::add_rows(&mut report.cpu_by_interval, ledger.cpu.rows());
            let mut more = ledger.log.intervals(set_round_trips)?;
            if W::LOST_AFTER.is_some() {
                ledger.counts.add_to(&mut more, payload);
            }
            merge::add_intervals(&mut intervals, more)?;
        }
        if let Some(end) = counted_end {
            end_intervals(&mut intervals, Nanos(end));
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
        let slices = ClientSlices::started(&mut self.slices, &self.task)?;
        slices.run_next(&mut self.lanes, &self.cores, &self.task)?;
        // Every request has been answered: nothing is on its way.
        Ok(0)
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        let mut client = *self;
        let slices = client.slices.take().ok_or_else(Error::not_in_slices)?;
        let lanes = std::mem::take(&mut client.lanes);
        let driven = slices.finish(lanes, &client.cores, &client.task, &client.patience)?;
        client.report(driven)
    }
}

/// Ends the intervals with the last transaction of a trial that a number of transactions ended: the last interval is
/// shorter than the others.
fn end_intervals(intervals: &mut Vec<Interval>, end: Nanos) {
    intervals.retain(|one| one.start <= end);
    if let Some(last) = intervals.last_mut() {
        last.length = last.length.min(Nanos((end - last.start).0.max(1)));
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
