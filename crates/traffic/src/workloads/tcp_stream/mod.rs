//! `tcp-stream`: TCP bulk from client to server, in the other direction or in both, over one or many flows.
//!
//! The receiver's figure is the result. Its clock begins with the first payload byte of a client's first flow; an
//! interval counts only while all flows of the client are alive. The sender adds its kernel's statistics of the flows
//! (`TCP_INFO`), by its own clock, which begins with the first write.

mod bulk;
mod counters;
mod report;
mod sink;
mod source;

use crate::event_loop::SharedDeadline;
use crate::placement::{SideCores, TrafficRole};
use crate::slices::client::ClientSlices;
use crate::slices::progress::SliceProgress;
use crate::tcp::{
    AcceptedFlow, CONGESTION, FlowDirection, FlowOrigin, GrantedOptions, TcpOptions,
    TcpServerThread, connect_directed,
};
use crate::workers::{self, WorkerOutput};
use crate::{
    Client, Error, Parameter, ParameterKind, SentBytes, Server, SideReport, TrialTask, Workload,
    WorkloadInfo, parameters,
};
use bulk::BulkFlowGroup;
use counters::SideEpochs;
use report::build_report;
use source::PayloadSource;
use std::sync::Arc;
use tare_record::{Metric, Parameters, SliceKind};

/// Workload `tcp-stream`.
#[derive(Debug)]
pub(crate) struct TcpStream;

/// Default size of one write, bytes.
///
/// One copying flow over a veth pair of an idle virtual machine with 2 MiB of second-level cache a core, interleaved,
/// medians: under cubic, with reads as large, 512 KiB gave 73 Gbit/s and 256 KiB 65 with a core for each end, 84 and 81
/// on one core for both. But under bbr, which paces, 512 KiB gave 15 on one core, where 256 KiB gave 81. All of them
/// have one default, so that they can be compared.
const WRITE: &str = "262144";

impl Workload for TcpStream {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "tcp-stream",
            summary: "TCP bulk up, down or both ways; the receivers' payload throughput",
            stands_for: "iperf3 (TCP), netperf TCP_STREAM and TCP_MAERTS",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fSTREAM",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::Retransmits,
            Metric::CpuPerGb,
            Metric::CyclesPerByte,
            Metric::InstructionsPerByte,
            Metric::CpuBusy,
            Metric::SoftirqCore,
        ]
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "direction",
                summary: "up (client to server), down, or both: as many flows each way, added up",
                kind: ParameterKind::Choice(&["up", "down", "both"]),
                default: Some("up"),
            },
            Parameter {
                name: "size",
                summary: "bytes handed to the kernel in one write",
                kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
                default: Some(WRITE),
            },
            sink::READ,
            Parameter {
                name: "send",
                summary: "transfer of the payload into the kernel: copied, or its pages handed over",
                kind: ParameterKind::Choice(&["copy", "vmsplice", "sendfile"]),
                default: Some("copy"),
            },
            Parameter {
                name: "receive",
                summary: "handling of received payload: copied to the receiver, or dropped by its kernel",
                kind: ParameterKind::Choice(&["copy", "drop"]),
                default: Some("copy"),
            },
            CONGESTION,
            Parameter {
                name: "no_delay",
                summary: "TCP_NODELAY",
                kind: ParameterKind::Switch,
                default: Some("false"),
            },
            Parameter {
                name: "buffer",
                summary: "bytes of each socket buffer; the kernel's own tuning unless given",
                kind: ParameterKind::Bytes { least: 4096, most: 1 << 30 },
                default: None,
            },
            Parameter {
                name: "pacing_rate",
                summary: "maximum payload rate of each flow, bits/s, paced by the kernel (SO_MAX_PACING_RATE); unpaced unless given",
                kind: ParameterKind::BitRate,
                default: None,
            },
            workers::THREADS,
        ]
    }

    fn offered_load(&self, task: &TrialTask) -> Option<f64> {
        Some(bulk::pacing_rate(task)? as f64 * f64::from(task.flows))
    }

    /// Returns the number of directions, each of which has flows of its own.
    fn carriers_per_flow(&self, parameters: &Parameters) -> u64 {
        directions(parameters).len() as u64
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Stream)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(StreamServer::start(task)?))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(StreamClient::start(task)?))
    }
}

/// Returns the directions of the payload, each with as many flows as requested.
fn directions(parameters: &Parameters) -> &'static [FlowDirection] {
    match parameters::word(parameters, "direction") {
        Some("down") => &[FlowDirection::Down],
        Some("both") => &[FlowDirection::Up, FlowDirection::Down],
        _ => &[FlowDirection::Up],
    }
}

/// Server of `tcp-stream`.
struct StreamServer {
    serving: TcpServerThread<BulkFlowGroup>,
    /// Slices of the trial. `None` if it runs in one piece.
    progress: Option<Arc<SliceProgress>>,
    task: TrialTask,
}

impl StreamServer {
    /// Listens. An impossible way of sending is refused here, before any client connects.
    fn start(task: &TrialTask) -> Result<Self, Error> {
        if directions(&task.parameters).contains(&FlowDirection::Down) {
            PayloadSource::from_parameters(&task.parameters)?;
        }
        let expected = task.flows.saturating_mul(directions(&task.parameters).len() as u32);
        let all = TrialTask { flows: expected, ..task.clone() };
        let (shared, own) = (Arc::new(SideEpochs::default()), task.clone());
        let sends = directions(&task.parameters).contains(&FlowDirection::Down);
        let senders = if sends { task.flows } else { 0 };
        let progress = SliceProgress::for_sending_task(task, senders);
        let slices = progress.clone();
        let lane = move |flows| {
            BulkFlowGroup::new(flows, &own, TrafficRole::Server, &shared, None, slices.as_ref())
        };
        let serving =
            TcpServerThread::try_start(&all, &TcpOptions::from_parameters(&task.parameters), lane)?;
        Ok(Self { serving, progress, task: task.clone() })
    }
}

impl Server for StreamServer {
    fn settle(&mut self, sent: u64) -> Result<SentBytes, Error> {
        self.progress.as_ref().ok_or_else(Error::not_in_slices)?.settle(sent)
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let report = build_report(self.serving.finish()?, &self.task)?;
        Ok(report.with_granted(&self.serving.granted, &self.serving.cores, TrafficRole::Server))
    }
}

/// Client of `tcp-stream`, which begins the trial.
struct StreamClient {
    lanes: Vec<BulkFlowGroup>,
    granted: GrantedOptions,
    cores: SideCores,
    patience: Arc<SharedDeadline>,
    /// Slices that have run; `None` before the first one.
    slices: Option<ClientSlices>,
    /// Progress of the flows that receive. `None` if the trial runs in one piece.
    progress: Option<Arc<SliceProgress>>,
    task: TrialTask,
}

impl StreamClient {
    /// Connects all flows, and prepares everything that the event loop will use.
    fn start(task: &TrialTask) -> Result<Self, Error> {
        let (mut flows, mut granted) = (Vec::new(), GrantedOptions::default());
        for &way in directions(&task.parameters) {
            let (streams, got) =
                connect_directed(task, &TcpOptions::from_parameters(&task.parameters), way)?;
            let origin = FlowOrigin::from_task(task);
            flows.extend(streams.into_iter().map(|stream| AcceptedFlow {
                stream,
                origin,
                direction: way,
            }));
            granted = got;
        }
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        let (shared, patience) =
            (Arc::new(SideEpochs::default()), Arc::new(SharedDeadline::default()));
        let progress = SliceProgress::for_task(task);
        let lanes = workers::distribute(flows, &cores, &task.parameters)
            .into_iter()
            .map(|flows| {
                let (role, patience) = (TrafficRole::Client, Some(&patience));
                BulkFlowGroup::new(flows, task, role, &shared, patience, progress.as_ref())
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { lanes, granted, cores, patience, slices: None, progress, task: task.clone() })
    }

    /// Returns the report of flow groups that have finished.
    fn report(
        driven: WorkerOutput<BulkFlowGroup>,
        task: TrialTask,
        granted: &GrantedOptions,
        cores: &SideCores,
    ) -> Result<SideReport, Error> {
        let report = build_report(driven, &task)?;
        let report = SideReport { parameters: task.parameters, ..report };
        Ok(report.with_granted(granted, cores, TrafficRole::Client))
    }
}

impl Client for StreamClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let Self { lanes, granted, cores, patience, task, .. } = *self;
        let driven = workers::run_flow_groups(lanes, &cores, &task, &patience)?;
        Self::report(driven, task, &granted, &cores)
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        let slices = ClientSlices::started(&mut self.slices, &self.task)?;
        slices.run_next(&mut self.lanes, &self.cores, &self.task)?;
        Ok(self.lanes.iter().map(|lane| lane.sent).sum())
    }

    fn settle(&mut self, sent: u64) -> Result<(), Error> {
        let progress = self.progress.as_ref().ok_or_else(Error::not_in_slices)?;
        let lanes = &mut self.lanes;
        progress
            .settle_receiving(sent, || lanes.iter_mut().try_for_each(BulkFlowGroup::receive_rest))
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        let Self { lanes, granted, cores, patience, slices, task, .. } = *self;
        let slices = slices.ok_or_else(Error::not_in_slices)?;
        let driven = slices.finish(lanes, &cores, &task, &patience)?;
        Self::report(driven, task, &granted, &cores)
    }
}
