//! `tcp-rr`: request and response over TCP, a closed loop with one transaction outstanding on every flow.
//!
//! A latency is from just before the request is handed to the kernel until the whole response has been taken from
//! it, by the client's monotonic clock. The loop is closed: a network that stalls is asked less often meanwhile, so
//! tails are those of the transactions made, not of a schedule (coordinated omission; G. Tene).

use crate::drive::{Lane, Patience, Wish};
use crate::lanes::{self, Driven};
use crate::latency::LatencyLog;
use crate::payload::payload;
use crate::placement::{Cores, Role};
use crate::tcp::{Accepted, GRACE, Granted, Options, Serving, connect, shut};
use crate::{
    About, Client, Error, Kind, Parameter, Report, Server, Task, Workload, merge, parameters,
};
use std::io::{self, Read, Write};
use std::net::{self, Shutdown};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tare_record::{Ends, HistogramError, Metric, Nanos, Parameters, Series};

/// The workload.
#[derive(Debug)]
pub(crate) struct TcpRr;

impl Workload for TcpRr {
    fn about(&self) -> About {
        About {
            name: "tcp-rr",
            summary: "requests and responses over TCP, one outstanding per flow; their rate and latency",
            stands_for: "netperf TCP_RR, sockperf ping-pong",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#TCP_005fRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Transactions,
            Metric::LatencyP50,
            Metric::LatencyP90,
            Metric::LatencyP95,
            Metric::LatencyP99,
            Metric::LatencyP999,
            Metric::LatencyP9999,
            Metric::LatencyMax,
        ]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        const SIZES: Kind = Kind::Bytes {
            least: 1,
            most: 16 << 20,
        };
        &[
            Parameter {
                name: "request",
                summary: "bytes of a request",
                kind: SIZES,
                default: Some("1"),
            },
            Parameter {
                name: "response",
                summary: "bytes of a response",
                kind: SIZES,
                default: Some("1"),
            },
            Parameter {
                name: "wait",
                summary: "how a thread waits for the other end",
                kind: Kind::Choice(&["block"]),
                default: Some("block"),
            },
        ]
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let sizes = Sizes::of(&task.parameters);
        let lane = move |flows| Responder::new(flows, sizes);
        Ok(Box::new(Responding {
            serving: Serving::start(task, &no_delay(), lane)?,
        }))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        let (streams, granted) = connect(task, &no_delay())?;
        let cores = Cores::of(&task.cpus, Role::Client);
        let hands = lanes::deal(streams, &cores);
        let sharing = hands.len() * task.peers as usize / cores.list().len().max(1);
        let (epoch, patience) = (Arc::new(OnceLock::new()), Arc::new(Patience::default()));
        let lanes = hands
            .into_iter()
            .map(|flows| Requester::new(flows, task, sharing as u64, &epoch, &patience))
            .collect();
        Ok(Box::new(Requesting {
            lanes,
            granted,
            cores,
            patience,
            task: task.clone(),
        }))
    }
}

/// Without TCP_NODELAY a small request would wait for the acknowledgement of the one before (RFC 896).
fn no_delay() -> Options {
    Options {
        no_delay: true,
        ..Options::default()
    }
}

/// How long the two messages are, bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    request: usize,
    response: usize,
}

impl Sizes {
    fn of(parameters: &Parameters) -> Self {
        let size = |name| parameters::size(parameters, name).unwrap_or(1);
        Self {
            request: size("request"),
            response: size("response"),
        }
    }
}

/// What a flow is at; the numbers are bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Sending(usize),
    Receiving(usize),
    /// The client has said that no more requests come.
    Closing,
    Over,
}

impl Stage {
    fn wish(self) -> Wish {
        match self {
            Self::Sending(_) => Wish::Write,
            Self::Receiving(_) | Self::Closing => Wish::Read,
            Self::Over => Wish::Over,
        }
    }
}

/// Reads no more than what is left of a message.
fn receive(mut stream: &net::TcpStream, buffer: &mut [u8], left: usize) -> io::Result<usize> {
    let most = left.min(buffer.len());
    stream.read(&mut buffer[..most])
}

/// Memory for messages of this size; a longer one is read piece by piece.
fn buffer(size: usize) -> Box<[u8]> {
    const MOST: usize = 256 << 10;
    vec![1; size.min(MOST)].into_boxed_slice()
}

/// The serving flows of one thread.
#[derive(Debug)]
struct Responder {
    flows: Vec<(net::TcpStream, Stage)>,
    sizes: Sizes,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    answered: u64,
}

impl Responder {
    fn new(flows: Vec<Accepted>, sizes: Sizes) -> Self {
        let waiting = Stage::Receiving(sizes.request);
        Self {
            flows: flows
                .into_iter()
                .map(|flow| (flow.stream, waiting))
                .collect(),
            sizes,
            response: payload(sizes.response),
            buffer: buffer(sizes.request),
            answered: 0,
        }
    }
}

impl Lane for Responder {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> &net::TcpStream {
        &self.flows[flow].0
    }

    fn wish(&self, flow: usize) -> Wish {
        self.flows[flow].1.wish()
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let (stream, stage) = &mut self.flows[flow];
        if let Stage::Receiving(left) = *stage {
            let bytes = receive(stream, &mut self.buffer, left)?;
            if bytes == 0 {
                *stage = Stage::Over;
                return shut(stream, Shutdown::Both);
            }
            *stage = Stage::Receiving(left - bytes);
            if left > bytes {
                return Ok(());
            }
            *stage = Stage::Sending(self.sizes.response);
        }
        if let Stage::Sending(left) = *stage {
            let bytes = stream.write(&self.response[self.sizes.response - left..])?;
            *stage = Stage::Sending(left - bytes);
            if left == bytes {
                *stage = Stage::Receiving(self.sizes.request);
                self.answered += 1;
            }
        }
        Ok(())
    }
}

/// The serving side.
struct Responding {
    serving: Serving<Responder>,
}

impl Server for Responding {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Driven {
            lanes,
            cpu,
            findings,
        } = self.serving.finish()?;
        let answered = lanes.iter().map(|lane| lane.answered).sum();
        let report = Report {
            findings,
            cpu,
            ..Report::default()
        };
        Ok(report
            .counted(Ends {
                answered,
                ..Ends::default()
            })
            .with(&self.serving.granted, &self.serving.cores, Role::Server))
    }
}

/// A requesting flow.
#[derive(Debug)]
struct Outgoing {
    stream: net::TcpStream,
    stage: Stage,
    /// When its present request was begun.
    asked: Instant,
}

/// The requesting flows of one thread.
#[derive(Debug)]
struct Requester {
    flows: Vec<Outgoing>,
    sizes: Sizes,
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    log: LatencyLog,
    shared_epoch: Arc<OnceLock<Instant>>,
    epoch: Instant,
    duration: Duration,
    patience: Arc<Patience>,
}

impl Requester {
    fn new(
        flows: Vec<net::TcpStream>,
        task: &Task,
        sharing: u64,
        epoch: &Arc<OnceLock<Instant>>,
        patience: &Arc<Patience>,
    ) -> Self {
        let sizes = Sizes::of(&task.parameters);
        let now = Instant::now();
        let stage = Stage::Sending(sizes.request);
        Self {
            flows: flows
                .into_iter()
                .map(|stream| Outgoing {
                    stream,
                    stage,
                    asked: now,
                })
                .collect(),
            sizes,
            request: payload(sizes.request),
            buffer: buffer(sizes.response),
            log: LatencyLog::new(task.duration, task.interval, sharing),
            shared_epoch: Arc::clone(epoch),
            epoch: now,
            duration: task.duration.into(),
            patience: Arc::clone(patience),
        }
    }

    /// Logs a transaction that completed now, and says what comes next on its flow.
    fn complete(&mut self, flow: usize) -> Result<Stage, HistogramError> {
        let now = Instant::now();
        let at = now - self.epoch;
        self.log.add(
            Nanos::from(at).0,
            Nanos::from(now - self.flows[flow].asked).0,
        )?;
        Ok(if at < self.duration {
            Stage::Sending(self.sizes.request)
        } else {
            Stage::Closing
        })
    }
}

impl Lane for Requester {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> &net::TcpStream {
        &self.flows[flow].stream
    }

    fn begin(&mut self) {
        self.epoch = *self.shared_epoch.get_or_init(Instant::now);
    }

    fn wish(&self, flow: usize) -> Wish {
        self.flows[flow].stage.wish()
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let result = self.step(flow);
        if result
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        {
            self.tire();
        }
        result
    }
}

impl Requester {
    fn step(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            Stage::Receiving(left) => self.take(flow, left)?,
            Stage::Closing => return self.close(flow),
            Stage::Sending(_) | Stage::Over => {}
        }
        if let Stage::Sending(left) = self.flows[flow].stage {
            self.give(flow, left)?;
        }
        Ok(())
    }

    /// Receives some of a response; with its last byte the transaction is complete.
    fn take(&mut self, flow: usize, left: usize) -> io::Result<()> {
        let bytes = receive(&self.flows[flow].stream, &mut self.buffer, left)?;
        if bytes == 0 {
            return Err(io::Error::other("the server closed it"));
        }
        self.flows[flow].stage = Stage::Receiving(left - bytes);
        if left > bytes {
            return Ok(());
        }
        let next = self.complete(flow).map_err(io::Error::other)?;
        self.flows[flow].stage = next;
        if next == Stage::Closing {
            self.patience.limit(self.epoch + self.duration + GRACE);
            shut(&self.flows[flow].stream, Shutdown::Write)?;
        }
        Ok(())
    }

    /// A response that does not come is waited for beyond the trial's end, but not for ever.
    fn tire(&self) {
        if self.epoch.elapsed() >= self.duration {
            self.patience.limit(self.epoch + self.duration + GRACE);
        }
    }

    /// Sends some of a request; before its first byte the clock is read.
    fn give(&mut self, flow: usize, left: usize) -> io::Result<()> {
        let Outgoing {
            stream,
            stage,
            asked,
        } = &mut self.flows[flow];
        if left == self.sizes.request {
            *asked = Instant::now();
        }
        let bytes = stream.write(&self.request[self.sizes.request - left..])?;
        *stage = match left - bytes {
            0 => Stage::Receiving(self.sizes.response),
            more => Stage::Sending(more),
        };
        Ok(())
    }

    /// Waits for the server to close too.
    fn close(&mut self, flow: usize) -> io::Result<()> {
        if receive(&self.flows[flow].stream, &mut self.buffer, 1)? == 0 {
            self.flows[flow].stage = Stage::Over;
        }
        Ok(())
    }
}

/// The generating side.
struct Requesting {
    lanes: Vec<Requester>,
    granted: Granted,
    cores: Cores,
    patience: Arc<Patience>,
    task: Task,
}

impl Client for Requesting {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self {
            lanes,
            granted,
            cores,
            patience,
            task,
        } = *self;
        let Driven {
            lanes,
            cpu,
            mut findings,
        } = lanes::run(lanes, &cores, &task, &patience)?;
        let completed = lanes.iter().map(|lane| lane.log.completed()).sum();
        let mut intervals = Vec::new();
        for lane in lanes {
            findings.extend(lane.log.gaps().finding(task.interval));
            merge::intervals(&mut intervals, lane.log.intervals()?)?;
        }
        let series = vec![Series {
            client: task.client,
            intervals,
        }];
        let report = Report {
            series,
            parameters: task.parameters,
            findings,
            cpu,
            ..Report::default()
        };
        Ok(report
            .counted(Ends {
                completed,
                ..Ends::default()
            })
            .with(&granted, &cores, Role::Client))
    }
}
