//! `tcp-stream`: one-way TCP bulk from client to server, over one or many flows.
//!
//! The receiver's figure is the result. Its clock begins with the first payload byte of a client's first flow; an
//! interval counts only while all flows of the client are alive.

use crate::drive::{Lane, Patience, Wish};
use crate::interval::Meter;
use crate::lanes::{self, Driven};
use crate::payload::payload;
use crate::placement::{Cores, Role};
use crate::tcp::{Accepted, GRACE, Granted, Options, Serving, connect, shut};
use crate::{About, Client, Error, Kind, Parameter, Report, Server, Task, Workload, parameters};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{self, Shutdown};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tare_record::{Ends, Metric, Nanos, Series};

/// The workload.
#[derive(Debug)]
pub(crate) struct TcpStream;

/// What the receiver asks of the kernel in one call, bytes. On two cores of a virtual machine, over loopback, twice as
/// much was slower by 4 % (13 % with writes of 256 KiB), half as much by up to 5 %.
const READ: usize = 128 << 10;

impl Workload for TcpStream {
    fn about(&self) -> About {
        About {
            name: "tcp-stream",
            summary: "TCP bulk from client to server; the receiver's payload throughput",
            stands_for: "iperf3 (TCP), netperf TCP_STREAM",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fSTREAM",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "size",
                summary: "bytes handed to the kernel in one write",
                kind: Kind::Bytes { least: 1, most: 16 << 20 },
                default: Some("131072"),
            },
            Parameter {
                name: "send",
                summary: "how the payload gets into the kernel",
                kind: Kind::Choice(&["copy"]),
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
            lanes::THREADS,
        ]
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let (duration, interval) = (task.duration, task.interval);
        let epochs = Arc::new(Epochs::default());
        let lane = move |flows| Receiver::new(flows, duration, interval, &epochs);
        let serving = Serving::start(task, &Options::of(&task.parameters), lane)?;
        Ok(Box::new(Receiving { serving, interval }))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        Ok(Box::new(Sending::connect(task)?))
    }
}

/// What a flow is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Receiver: no payload has come yet.
    Silent,
    /// Payload flows.
    Flowing,
    /// Sender: everything is sent, the receiver has not closed yet.
    Closing,
    /// Both ends are closed.
    Over,
}

/// The zero of every client's clock, shared by the threads that its flows are on.
#[derive(Debug, Default)]
struct Epochs(std::sync::Mutex<BTreeMap<u32, Arc<OnceLock<Instant>>>>);

impl Epochs {
    fn of(&self, client: u32) -> Arc<OnceLock<Instant>> {
        let mut epochs = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(epochs.entry(client).or_default())
    }
}

/// What one thread counts of one client's flows.
#[derive(Debug)]
struct Count {
    client: u32,
    epoch: Arc<OnceLock<Instant>>,
    meter: Meter,
}

/// The receiving flows of one thread.
#[derive(Debug)]
struct Receiver {
    flows: Vec<Incoming>,
    counts: Vec<Count>,
    buffer: Box<[u8]>,
}

#[derive(Debug)]
struct Incoming {
    stream: net::TcpStream,
    /// An index into the lane's counts.
    count: usize,
    stage: Stage,
}

impl Receiver {
    fn new(flows: Vec<Accepted>, duration: Nanos, interval: Nanos, epochs: &Epochs) -> Self {
        let mut counts: Vec<Count> = Vec::new();
        let mut place = |client: u32| {
            counts.iter().position(|count| count.client == client).unwrap_or_else(|| {
                let meter = Meter::new(duration, interval);
                counts.push(Count { client, epoch: epochs.of(client), meter });
                counts.len() - 1
            })
        };
        let flows = flows
            .into_iter()
            .map(|Accepted { stream, client }| Incoming {
                stream,
                count: place(client),
                stage: Stage::Silent,
            })
            .collect();
        Self { flows, counts, buffer: vec![1; READ].into_boxed_slice() }
    }
}

impl Lane for Receiver {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].stream.as_fd()
    }

    fn wish(&self, flow: usize) -> Wish {
        if self.flows[flow].stage == Stage::Over { Wish::Over } else { Wish::Read }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let flow = &mut self.flows[flow];
        let Count { epoch, meter, .. } = &mut self.counts[flow.count];
        if flow.stage == Stage::Silent {
            // The clock begins when the first byte is there, not when a whole buffer of them has been copied.
            flow.stream.peek(&mut [0])?;
            flow.stage = Stage::Flowing;
            epoch.get_or_init(Instant::now);
        }
        let bytes = (&flow.stream).read(&mut self.buffer)?;
        let at = Nanos::from(epoch.get_or_init(Instant::now).elapsed()).0;
        if bytes > 0 {
            meter.add(at, bytes as u64);
            return Ok(());
        }
        meter.ended(at);
        flow.stage = Stage::Over;
        shut(&flow.stream, Shutdown::Both)
    }
}

/// The serving side.
struct Receiving {
    serving: Serving<Receiver>,
    interval: Nanos,
}

impl Server for Receiving {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Driven { lanes, cpu, mut findings } = self.serving.finish()?;
        let mut clients: BTreeMap<u32, Meter> = BTreeMap::new();
        for count in lanes.into_iter().flat_map(|lane| lane.counts) {
            match clients.get_mut(&count.client) {
                Some(meter) => meter.merge(&count.meter),
                None => drop(clients.insert(count.client, count.meter)),
            }
        }
        findings.extend(clients.values().filter_map(|meter| meter.gaps().finding(self.interval)));
        let received = clients.values().map(Meter::total).sum();
        let series = clients
            .into_iter()
            .map(|(client, meter)| Series { client, intervals: meter.intervals() })
            .collect();
        let report = Report { series, findings, cpu, ..Report::default() };
        Ok(report.counted(Ends { received, ..Ends::default() }).with(
            &self.serving.granted,
            &self.serving.cores,
            Role::Server,
        ))
    }
}

/// The sending flows of one thread.
#[derive(Debug)]
struct Sender {
    flows: Vec<(net::TcpStream, Stage)>,
    payload: Box<[u8]>,
    sent: u64,
    epoch: Arc<OnceLock<Instant>>,
    duration: Duration,
    /// Known once the clock has begun.
    deadline: Instant,
    patience: Arc<Patience>,
}

impl Lane for Sender {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].0.as_fd()
    }

    fn begin(&mut self) {
        self.deadline = *self.epoch.get_or_init(Instant::now) + self.duration;
    }

    fn wish(&self, flow: usize) -> Wish {
        match self.flows[flow].1 {
            Stage::Silent | Stage::Flowing => Wish::Write,
            Stage::Closing => Wish::Read,
            Stage::Over => Wish::Over,
        }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let (stream, stage) = &mut self.flows[flow];
        if *stage == Stage::Closing {
            // Nothing but the end comes from a receiver, once it has everything.
            if stream.read(&mut [0])? == 0 {
                *stage = Stage::Over;
            }
            return Ok(());
        }
        if Instant::now() >= self.deadline {
            *stage = Stage::Closing;
            self.patience.limit(self.deadline + GRACE);
            return shut(stream, Shutdown::Write);
        }
        self.sent += stream.write(&self.payload)? as u64;
        Ok(())
    }
}

/// The generating side.
struct Sending {
    lanes: Vec<Sender>,
    granted: Granted,
    cores: Cores,
    patience: Arc<Patience>,
    task: Task,
}

impl Sending {
    /// Connects all flows, and prepares everything that the loop will use.
    fn connect(task: &Task) -> Result<Self, Error> {
        let size = parameters::size(&task.parameters, "size")?;
        let (streams, granted) = connect(task, &Options::of(&task.parameters))?;
        let cores = Cores::of(&task.cpus, Role::Client);
        let (epoch, patience) = (Arc::new(OnceLock::new()), Arc::new(Patience::default()));
        let lanes = lanes::deal(streams, &cores, &task.parameters)
            .into_iter()
            .map(|flows| Sender {
                flows: flows.into_iter().map(|stream| (stream, Stage::Flowing)).collect(),
                payload: payload(size),
                sent: 0,
                epoch: Arc::clone(&epoch),
                duration: task.duration.into(),
                deadline: Instant::now(),
                patience: Arc::clone(&patience),
            })
            .collect();
        Ok(Self { lanes, granted, cores, patience, task: task.clone() })
    }
}

impl Client for Sending {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { lanes, granted, cores, patience, task } = *self;
        let Driven { lanes, cpu, findings } = lanes::run(lanes, &cores, &task, &patience)?;
        let sent = lanes.iter().map(|lane| lane.sent).sum();
        let report = Report { parameters: task.parameters, findings, cpu, ..Report::default() };
        Ok(report.counted(Ends { sent, ..Ends::default() }).with(&granted, &cores, Role::Client))
    }
}
