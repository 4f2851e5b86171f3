//! `tcp-stream`: TCP bulk from client to server, the other way or both ways, over one or many flows.
//!
//! The receiver's figure is the result. Its clock begins with the first payload byte of a client's first flow; an
//! interval counts only while all flows of the client are alive. The sender adds what its kernel says of the flows
//! (`TCP_INFO`), by its own clock, which begins with the first write.

mod count;
mod feed;
mod lane;
mod report;
mod sink;

use crate::drive::Patience;
use crate::lanes;
use crate::placement::{Cores, Role};
use crate::tcp::{Accepted, Granted, Options, Serving, Way, connect_as};
use crate::{About, Client, Error, Kind, Parameter, Report, Server, Task, Workload, parameters};
use count::Shared;
use feed::Feed;
use lane::Bulk;
use report::report;
use std::sync::Arc;
use tare_record::Metric;

/// The workload.
#[derive(Debug)]
pub(crate) struct TcpStream;

/// What is handed to the kernel in one write unless something else is asked for.
///
/// One copying flow over a veth pair of an idle virtual machine with 2 MiB of second-level cache a core, interleaved, medians:
/// under cubic, with reads as large, 512 KiB gave 73 Gbit/s and 256 KiB 65 with a core for each end, 84 and 81 on one core
/// for both. But under bbr, which paces, 512 KiB gave 15 on one core, where 256 KiB gave 81. One default for all of them, or
/// they could not be compared.
const WRITE: &str = "262144";

impl Workload for TcpStream {
    fn about(&self) -> About {
        About {
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
        ]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "direction",
                summary: "up (client to server), down, or both: as many flows each way, added up",
                kind: Kind::Choice(&["up", "down", "both"]),
                default: Some("up"),
            },
            Parameter {
                name: "size",
                summary: "bytes handed to the kernel in one write",
                kind: Kind::Bytes { least: 1, most: 16 << 20 },
                default: Some(WRITE),
            },
            sink::READ,
            Parameter {
                name: "send",
                summary: "how the payload gets into the kernel: copied, or its pages handed over",
                kind: Kind::Choice(&["copy", "vmsplice", "sendfile"]),
                default: Some("copy"),
            },
            Parameter {
                name: "receive",
                summary: "what becomes of received payload: copied to the receiver, or dropped by its kernel",
                kind: Kind::Choice(&["copy", "drop"]),
                default: Some("copy"),
            },
            Parameter {
                name: "congestion",
                summary: "congestion control of both ends; the host's default unless given",
                kind: Kind::Name,
                default: None,
            },
            Parameter {
                name: "no_delay",
                summary: "TCP_NODELAY",
                kind: Kind::Switch,
                default: Some("false"),
            },
            Parameter {
                name: "buffer",
                summary: "bytes of each socket buffer; the kernel's own tuning unless given",
                kind: Kind::Bytes { least: 4096, most: 1 << 30 },
                default: None,
            },
            Parameter {
                name: "pacing_rate",
                summary: "the most payload that each flow sends, bits/s, paced by the kernel (SO_MAX_PACING_RATE); unpaced unless given",
                kind: Kind::BitRate,
                default: None,
            },
            lanes::THREADS,
        ]
    }

    fn offers(&self, task: &Task) -> Option<f64> {
        Some(lane::pacing_rate(task)? as f64 * f64::from(task.flows))
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(Serves::start(task)?))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(Connects::start(task)?))
    }
}

/// Which ways payload goes: of each as many flows as were asked for.
fn ways(task: &Task) -> &'static [Way] {
    match parameters::word(&task.parameters, "direction") {
        Some("down") => &[Way::Down],
        Some("both") => &[Way::Up, Way::Down],
        _ => &[Way::Up],
    }
}

/// The serving side.
struct Serves {
    serving: Serving<Bulk>,
    task: Task,
}

impl Serves {
    /// Listens. What cannot be sent as was asked is refused here, before any client has come.
    fn start(task: &Task) -> Result<Self, Error> {
        if ways(task).contains(&Way::Down) {
            Feed::of(&task.parameters)?;
        }
        let expected = task.flows.saturating_mul(ways(task).len() as u32);
        let all = Task { flows: expected, ..task.clone() };
        let (shared, own) = (Arc::new(Shared::default()), task.clone());
        let lane = move |flows| Bulk::new(flows, &own, Role::Server, &shared, None);
        let serving = Serving::try_start(&all, &Options::of(&task.parameters), lane)?;
        Ok(Self { serving, task: task.clone() })
    }
}

impl Server for Serves {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let report = report(self.serving.finish()?, &self.task)?;
        Ok(report.with(&self.serving.granted, &self.serving.cores, Role::Server))
    }
}

/// The connecting side: it says when to begin.
struct Connects {
    lanes: Vec<Bulk>,
    granted: Granted,
    cores: Cores,
    patience: Arc<Patience>,
    task: Task,
}

impl Connects {
    /// Connects all flows, and prepares everything that the loop will use.
    fn start(task: &Task) -> Result<Self, Error> {
        let (mut flows, mut granted) = (Vec::new(), Granted::default());
        for &way in ways(task) {
            let (streams, got) = connect_as(task, &Options::of(&task.parameters), way)?;
            let client = task.client;
            flows.extend(streams.into_iter().map(|stream| Accepted { stream, client, way }));
            granted = got;
        }
        let cores = Cores::of(&task.cpus, Role::Client);
        let (shared, patience) = (Arc::new(Shared::default()), Arc::new(Patience::default()));
        let lanes = lanes::deal(flows, &cores, &task.parameters)
            .into_iter()
            .map(|flows| Bulk::new(flows, task, Role::Client, &shared, Some(&patience)))
            .collect::<Result<_, _>>()?;
        Ok(Self { lanes, granted, cores, patience, task: task.clone() })
    }
}

impl Client for Connects {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { lanes, granted, cores, patience, task } = *self;
        let report = report(lanes::run(lanes, &cores, &task, &patience)?, &task)?;
        let report = Report { parameters: task.parameters, ..report };
        Ok(report.with(&granted, &cores, Role::Client))
    }
}
