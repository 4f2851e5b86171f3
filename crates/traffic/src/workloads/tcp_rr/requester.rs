//! The requesting side: the closed loop, and the clock around every transaction.

use super::{Sizes, Stage, buffer, no_delay, receive};
use crate::drive::{Lane, Patience, Wish};
use crate::lanes::{self, Driven};
use crate::latency::LatencyLog;
use crate::payload::payload;
use crate::placement::{Cores, Role};
use crate::tcp::{GRACE, Granted, connect, shut};
use crate::{Client, Error, Report, Task, merge};
use std::io::{self, Write};
use std::net::{self, Shutdown};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tare_record::{Ends, HistogramError, Nanos, Series};

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
        sizes: Sizes,
        sharing: u64,
        epoch: &Arc<OnceLock<Instant>>,
        patience: &Arc<Patience>,
    ) -> Self {
        let now = Instant::now();
        let stage = Stage::Sending(sizes.request);
        Self {
            flows: flows.into_iter().map(|stream| Outgoing { stream, stage, asked: now }).collect(),
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
        self.log.add(Nanos::from(at).0, Nanos::from(now - self.flows[flow].asked).0)?;
        Ok(if at < self.duration { Stage::Sending(self.sizes.request) } else { Stage::Closing })
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
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
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
        let Outgoing { stream, stage, asked } = &mut self.flows[flow];
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
pub(super) struct Requesting {
    lanes: Vec<Requester>,
    granted: Granted,
    cores: Cores,
    patience: Arc<Patience>,
    task: Task,
}

impl Requesting {
    /// Connects all flows, and prepares everything that the loop will use.
    pub(super) fn connect(task: &Task) -> Result<Self, Error> {
        let sizes = Sizes::of(&task.parameters)?;
        let (streams, granted) = connect(task, &no_delay())?;
        let cores = Cores::of(&task.cpus, Role::Client);
        let hands = lanes::deal(streams, &cores, &task.parameters);
        let sharing = hands.len() * task.peers as usize / cores.list().len().max(1);
        let (epoch, patience) = (Arc::new(OnceLock::new()), Arc::new(Patience::default()));
        let lanes = hands
            .into_iter()
            .map(|flows| Requester::new(flows, task, sizes, sharing as u64, &epoch, &patience))
            .collect();
        Ok(Self { lanes, granted, cores, patience, task: task.clone() })
    }
}

impl Client for Requesting {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { lanes, granted, cores, patience, task } = *self;
        let Driven { lanes, cpu, mut findings } = lanes::run(lanes, &cores, &task, &patience)?;
        let completed = lanes.iter().map(|lane| lane.log.completed()).sum();
        let mut intervals = Vec::new();
        for lane in lanes {
            findings.extend(lane.log.gaps().finding(task.interval));
            merge::intervals(&mut intervals, lane.log.intervals()?)?;
        }
        let series = vec![Series { client: task.client, intervals }];
        let report =
            Report { series, parameters: task.parameters, findings, cpu, ..Report::default() };
        Ok(report.counted(Ends { completed, ..Ends::default() }).with(
            &granted,
            &cores,
            Role::Client,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::welcome;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    /// A server that does not answer before this time has passed; it says how many requests it got.
    fn slow_server(listener: TcpListener, token: u64, delay: Duration) -> u64 {
        let mut stream = welcome(listener.accept().unwrap().0, token).unwrap().stream;
        let mut requests = 0;
        while stream.read(&mut [0]).unwrap() == 1 {
            requests += 1;
            thread::sleep(delay);
            stream.write_all(&[0]).unwrap();
        }
        requests
    }

    #[test]
    fn a_server_that_delays_is_seen_to_delay() {
        const DELAY: Duration = Duration::from_millis(3);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let task = crate::workload::tests::task("tcp-rr", vec![listener.local_addr().unwrap()]);
        let token = task.token;
        let server = thread::spawn(move || slow_server(listener, token, DELAY));
        let report = Box::new(Requesting::connect(&task).unwrap()).run().unwrap();
        assert!(report.ends.completed > 0);
        assert_eq!(report.ends.completed, server.join().unwrap());
        // Histograms keep three digits.
        let least = Nanos::from(DELAY).0 * 999 / 1000;
        for latency in report.series[0].intervals.iter().filter_map(|one| one.latency.as_ref()) {
            assert!(latency.iter().all(|(nanos, _)| nanos >= least));
        }
    }

    #[test]
    fn a_server_that_goes_away_breaks_the_flow() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let task = crate::workload::tests::task("tcp-rr", vec![listener.local_addr().unwrap()]);
        let token = task.token;
        let server = thread::spawn(move || drop(welcome(listener.accept().unwrap().0, token)));
        let client = Box::new(Requesting::connect(&task).unwrap());
        server.join().unwrap();
        assert!(matches!(client.run(), Err(Error::Io { .. })));
    }
}
