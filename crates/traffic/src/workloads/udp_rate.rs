//! `udp-rate`: datagrams at a precise offered load, and the fate of each of them.
//!
//! Datagrams are counted by the interval of the client's clock in which they were sent, which each carries: a loss is
//! never negative, and a datagram that is late at the end of an interval does not count as lost in it. The receiver's
//! figures are the result; the load that was really offered is recorded with them. The sender does not make up for a
//! pause of more than a millisecond. CPU time includes pacing: shortly before its next datagram is due, a sender checks
//! the clock without sleeping.

use crate::placement::{SideCores, TrafficRole};
use crate::slices::client::ClientSlices;
use crate::tcp::GrantedOptions;
use crate::udp::{
    BUFFER, EstablishedFlows, GSO, IntervalCounters, Options, PreparedSenders, RECEIVE, SIZE,
    UdpReceiveResult, UdpReceiver, UdpSendResult, UdpServer, UdpTransmitter, WAIT,
    counts_by_client, granted_to_flows,
};
use crate::wait_mode::WaitMode;
use crate::{
    Client, Error, Parameter, ParameterKind, SentBytes, Server, SideReport, TrialTask, Workload,
    WorkloadInfo,
};
use crate::{cpu, parameters, workers};
use std::io;
use tare_record::finding::{SlowSender, SocketDrops, SpinningThreads};
use tare_record::{EndCounts, Finding, Metric, Nanos, Placement, Series, SliceKind};

/// Workload `udp-rate`.
#[derive(Debug)]
pub(crate) struct UdpRate;

/// Parameter for the offered load.
const RATE: Parameter = Parameter {
    name: "rate",
    summary: "offered load of each client, all its processes and flows together: bits of payload or datagrams per second; a load above the capacity of the client is sent as fast as possible",
    kind: ParameterKind::Load,
    default: Some("100mbit"),
};

impl Workload for UdpRate {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "udp-rate",
            summary: "UDP datagrams at a given rate: offered load, received load, loss and jitter",
            stands_for: "iperf3 -u, sockperf throughput, RFC 2544 frame loss rate",
            source: "https://www.rfc-editor.org/rfc/rfc2544#section-26.3",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::Offered,
            Metric::Packets,
            Metric::Loss,
            Metric::Reordered,
            Metric::Duplicates,
            Metric::Jitter,
            Metric::CpuPerGb,
            Metric::CyclesPerPacket,
            Metric::InstructionsPerPacket,
            Metric::CpuBusy,
            Metric::SoftirqCore,
        ]
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[RATE, SIZE, GSO, RECEIVE, BUFFER, WAIT, workers::THREADS]
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Stream)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let options = Options::from_parameters(&task.parameters)?;
        let serving = UdpServer::start(task, &options, |introduced, station| {
            let EstablishedFlows { mut links, flows } = introduced;
            let received = station.receive(station.prepare(&flows, 0)?, &mut links, &flows)?;
            Ok(RateServerOutput {
                received,
                granted: granted_to_flows(&flows, station.options, TrafficRole::Server)?,
            })
        })?;
        Ok(Box::new(RateServer { serving, options, task: task.clone() }))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let options = Options::from_parameters(&task.parameters)?;
        let transmitter = UdpTransmitter::connect(task, options)?;
        Ok(Box::new(RateClient { transmitter, slices: None }))
    }
}

/// Returns the datagrams per second that a client's process is to send: its share of the client's load.
fn requested_rate(task: &TrialTask, options: &Options) -> Result<f64, Error> {
    parameters::load(&task.parameters, RATE.name)
        .map(|load| task.process_share(load.packets_per_second(options.size)))
        .ok_or_else(|| Error::Job("the task has no parameter `rate`".to_owned()))
}

/// Result of the serving thread.
#[derive(Debug)]
struct RateServerOutput {
    received: UdpReceiveResult,
    granted: GrantedOptions,
}

/// Server of `udp-rate`.
struct RateServer {
    serving: UdpServer<RateServerOutput>,
    options: Options,
    task: TrialTask,
}

impl Server for RateServer {
    fn settle(&mut self, sent: u64) -> Result<SentBytes, Error> {
        let progress = self.serving.progress.as_ref().ok_or_else(Error::not_in_slices)?;
        progress.settle_datagrams(sent);
        Ok(SentBytes::new())
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let RateServerOutput { received: UdpReceiveResult { output: driven, sent }, granted } =
            self.serving.finish()?;
        let clients = counts_by_client(&driven.lanes);
        let came = clients.values().map(|(tally, _)| tally.total());
        let received = came.clone().map(|total| total.received).sum();
        let again = came.map(|total| total.duplicates).sum::<u64>();
        let mut findings = driven.findings;
        findings.extend(find_socket_drops(&driven.lanes, received, sent)?);
        findings.extend(find_spinning(
            &self.options,
            &self.serving.cores,
            &self.task,
            driven.lanes.len(),
        ));
        let usual = Nanos((3e9 / requested_rate(&self.task, &self.options)?) as u64);
        let interval = self.task.interval.max(usual);
        findings.extend(clients.values().filter_map(|(_, gaps)| gaps.finding(interval)));
        let mut report = SideReport { findings, cpu: driven.cpu, ..SideReport::default() };
        for lane in &driven.lanes {
            cpu::add_rows(&mut report.cpu_by_interval, lane.cpu().rows());
        }
        report.series = clients
            .into_iter()
            .map(|(client, (tally, _))| Series::new(client, tally.intervals()))
            .collect();
        let ends = EndCounts { datagrams_received: received + again, ..EndCounts::default() };
        Ok(report.with_ends(ends).with_granted(&granted, &self.serving.cores, TrafficRole::Server))
    }
}

/// Returns a finding if datagrams were lost in the receiver's own full buffers.
fn find_socket_drops(
    lanes: &[UdpReceiver],
    received: u64,
    sent: Option<u64>,
) -> Result<Option<Finding>, Error> {
    let full: io::Result<u64> = lanes.iter().map(UdpReceiver::buffer_drops).sum();
    let full = full
        .map_err(|error| Error::io("read the number of datagrams that a socket dropped", error))?;
    let of = sent.unwrap_or(received + full);
    let dropped = full.min(of.saturating_sub(received));
    Ok((dropped > 0).then_some(Finding::SocketDrops(SocketDrops { dropped, of })))
}

/// Returns a finding if spinning threads share cores, with one another or with the senders.
fn find_spinning(
    options: &Options,
    cores: &SideCores,
    task: &TrialTask,
    lanes: usize,
) -> Option<Finding> {
    let threads = lanes * task.peers.max(1) as usize;
    let cores = cores.list().len();
    let shared = threads > cores || task.cpus == Placement::Same;
    (options.wait == WaitMode::Spin && shared).then_some(Finding::SpinningThreads(
        SpinningThreads { threads: threads as u32, cores: cores as u32 },
    ))
}

/// Client of `udp-rate`.
struct RateClient {
    transmitter: UdpTransmitter,
    /// Slices that have run; `None` before the first one.
    slices: Option<RateSlices>,
}

/// Slices of a client that have run.
struct RateSlices {
    all: ClientSlices,
    /// Senders, which rest between two slices.
    senders: PreparedSenders,
}

impl RateClient {
    /// Returns the report of senders that have finished.
    fn report(&self, sent: UdpSendResult) -> Result<SideReport, Error> {
        let UdpTransmitter { task, options, flows, cores, .. } = &self.transmitter;
        let UdpSendResult { output: driven, epoch } = sent;
        let mut tally = IntervalCounters::new(task.duration, task.interval);
        let mut report = SideReport {
            parameters: task.parameters.clone(),
            cpu: driven.cpu,
            epoch: epoch.map(Nanos),
            findings: driven.findings,
            ..SideReport::default()
        };
        for lane in &driven.lanes {
            tally.merge(lane.tally());
            cpu::add_rows(&mut report.cpu_by_interval, lane.cpu().rows());
        }
        let sent = tally.total().sent;
        let asked = requested_rate(task, options)?;
        report.findings.extend(find_slow_sender(asked, sent, task.sending_time()));
        report.series = vec![Series::new(task.client, tally.intervals())];
        let granted = granted_to_flows(flows, options, TrafficRole::Client)?;
        let ends = EndCounts { datagrams_sent: sent, ..EndCounts::default() };
        Ok(report.with_ends(ends).with_granted(&granted, cores, TrafficRole::Client))
    }
}

impl Client for RateClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let task = &self.transmitter.task;
        let asked = requested_rate(task, &self.transmitter.options)?;
        let loaded = self.transmitter.prepare(task, asked, 0);
        self.report(self.transmitter.send(loaded, task)?)
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        let task = &self.transmitter.task;
        let RateSlices { mut all, senders } = match self.slices.take() {
            Some(slices) => slices,
            None => {
                let asked = requested_rate(task, &self.transmitter.options)?;
                let senders = self.transmitter.prepare(task, asked, 0);
                RateSlices { all: ClientSlices::for_task(task)?, senders }
            }
        };
        let senders = self.transmitter.send_slice(senders, &mut all)?;
        let sent = senders.sent();
        self.slices = Some(RateSlices { all, senders });
        Ok(sent)
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let RateSlices { all, senders } = self.slices.take().ok_or_else(Error::not_in_slices)?;
        let UdpSendResult { output, epoch } = self.transmitter.finish_slices(senders)?;
        let output = all.into_output(output.lanes);
        self.report(UdpSendResult { output, epoch })
    }
}

/// Returns a finding if less than 99 % of the requested load was offered.
fn find_slow_sender(asked: f64, sent: u64, duration: Nanos) -> Option<Finding> {
    const ENOUGH: f64 = 0.99;
    let due = asked * duration.as_secs_f64();
    // Of a few datagrams, the last may no longer have been due.
    let slow = (sent as f64) < due * ENOUGH - 1.0;
    let offered = sent as f64 / duration.as_secs_f64();
    slow.then_some(Finding::SlowSender(SlowSender { asked, offered }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_offers_less_than_it_should_is_told() {
        let second = Nanos(1_000_000_000);
        assert_eq!(find_slow_sender(1000.0, 990, second), None);
        assert_eq!(find_slow_sender(1.0, 0, second), None);
        let expected = Finding::SlowSender(SlowSender { asked: 1000.0, offered: 900.0 });
        assert_eq!(find_slow_sender(1000.0, 900, second), Some(expected));
    }
}
