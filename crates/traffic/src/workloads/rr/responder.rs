//! The serving side: a whole response for every whole request.

use super::stamp::{LENGTH, Stamp};
use super::{Sizes, Taken, Wire, buffer};
use crate::cpu::CpuLog;
use crate::drive::{Lane, Wish};
use crate::lanes::Driven;
use crate::latency::LatencyLog;
use crate::payload::payload;
use crate::{Error, Report, Task, clock, cpu, merge};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use tare_record::{Ends, Interval, Series};

/// What a flow is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Receiving,
    Sending,
    Over,
}

/// A serving flow.
#[derive(Debug)]
struct Incoming<W> {
    wire: W,
    stage: Stage,
    /// An index into the lane's clients.
    client: usize,
    /// When its client's trial began, by the clock of both; told by its first request.
    epoch: Option<u64>,
    /// Whether anything has come since the last look.
    moved: bool,
}

/// The times from client to server, of one client.
#[derive(Debug)]
struct OneWay {
    client: u32,
    log: LatencyLog,
}

/// The serving flows of one thread.
#[derive(Debug)]
pub(in crate::workloads) struct Responder<W> {
    flows: Vec<Incoming<W>>,
    /// Every client's times; none where they cannot be told.
    one_way: Vec<OneWay>,
    sizes: Sizes,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    answered: u64,
    cpu: CpuLog,
    /// When the first request came to this side.
    shared_epoch: Arc<OnceLock<u64>>,
    epoch: Option<u64>,
}

impl<W: Wire> Responder<W> {
    /// For flows with the client that each is from.
    pub(in crate::workloads) fn new(
        flows: Vec<(W, u32)>,
        task: &Task,
        epoch: &Arc<OnceLock<u64>>,
    ) -> Result<Self, Error> {
        let sizes = Sizes::of(&task.parameters)?;
        let mut clients: Vec<u32> = flows.iter().map(|&(_, client)| client).collect();
        clients.sort_unstable();
        clients.dedup();
        let flows = flows
            .into_iter()
            .map(|(wire, client)| Incoming {
                wire,
                stage: Stage::Receiving,
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
            .map(|client| OneWay {
                client,
                log: LatencyLog::new(task.duration, task.interval, sharing),
            })
            .collect();
        Ok(Self {
            flows,
            one_way,
            sizes,
            response: payload(sizes.response),
            buffer: buffer(sizes.request),
            answered: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            shared_epoch: Arc::clone(epoch),
            epoch: None,
        })
    }

    /// Logs how long a request was on its way that has come now.
    fn log_one_way(&mut self, flow: usize, stamp: Stamp, now: u64) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let Some(epoch) = one.epoch else {
            one.epoch = Some(stamp.time());
            return Ok(());
        };
        // Its first request, sent again.
        if stamp.time() == epoch {
            return Ok(());
        }
        let at = Stamp::new(0, epoch).until(now);
        self.one_way[one.client].log.add(at, stamp.until(now)).map_err(io::Error::other)
    }

    fn take(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        let taken = one.wire.take(&mut self.buffer, self.sizes.request)?;
        one.moved = true;
        match taken {
            Taken::Part => return Ok(()),
            Taken::Whole => {}
            Taken::End => {
                one.stage = Stage::Over;
                return one.wire.hang_up();
            }
        }
        one.stage = Stage::Sending;
        let stamp = Stamp::read(one.wire.head());
        let came = (!self.one_way.is_empty()).then(|| clock::now().0);
        if self.epoch.is_none() {
            self.first();
        }
        // The books are kept while the response is on its way.
        let given = self.give(flow);
        if let Some(came) = came {
            self.log_one_way(flow, stamp, came)?;
        }
        given
    }

    fn give(&mut self, flow: usize) -> io::Result<()> {
        let one = &mut self.flows[flow];
        Stamp::read(one.wire.head()).write(&mut self.response);
        if one.wire.give(&self.response)? {
            one.stage = Stage::Receiving;
            self.answered += 1;
        }
        Ok(())
    }

    /// The first request of this thread: its CPU time counts from now.
    fn first(&mut self) {
        self.epoch = Some(self.cpu.begin_by(&self.shared_epoch));
    }
}

impl<W: Wire> Lane for Responder<W> {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].wire.socket()
    }

    fn wish(&self, flow: usize) -> Wish {
        match self.flows[flow].stage {
            Stage::Receiving => Wish::Read,
            Stage::Sending => Wish::Write,
            Stage::Over => Wish::Over,
        }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            Stage::Receiving => self.take(flow),
            Stage::Sending => self.give(flow),
            Stage::Over => Ok(()),
        }
    }

    fn look(&mut self, now: u64) -> io::Result<()> {
        if let Some(epoch) = self.epoch {
            self.cpu.at(now.saturating_sub(epoch));
        }
        for one in &mut self.flows {
            if one.stage != Stage::Over && !std::mem::take(&mut one.moved) && one.wire.is_left()? {
                one.stage = Stage::Over;
            }
        }
        Ok(())
    }
}

/// What the lanes of a server counted.
pub(in crate::workloads) fn report<W: Wire>(driven: Driven<Responder<W>>) -> Result<Report, Error> {
    let Driven { lanes, cpu, findings } = driven;
    let mut report = Report { findings, cpu, ..Report::default() };
    let mut series: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    for lane in lanes {
        add(&mut report.ends, lane.answered, W::LOST_AFTER.is_some());
        cpu::add(&mut report.cpu_by_interval, lane.cpu.rows());
        for OneWay { client, log } in lane.one_way {
            let more = log.intervals(|interval, histogram| interval.one_way = Some(histogram))?;
            merge::intervals(series.entry(client).or_default(), more)?;
        }
    }
    let series = series.into_iter().map(|(client, intervals)| Series::of(client, intervals));
    report.series = series.collect();
    Ok(report)
}

/// Adds what a thread answered. A request that came is a datagram received, and its response one sent.
fn add(ends: &mut Ends, answered: u64, datagrams: bool) {
    ends.answered += answered;
    if datagrams {
        ends.datagrams_sent += answered;
        ends.datagrams_received += answered;
    }
}
