//! The flows of one thread on either side: each of them sends or receives.

use super::count::{Count, Shared, now};
use super::feed::Feed;
use super::sink::Sink;
use crate::cpu::CpuLog;
use crate::drive::{Lane, Patience, Wish};
use crate::placement::{Cores, Role};
use crate::sys::pace;
use crate::tcp::{Accepted, GRACE, Way, shut};
use crate::{Error, Load, Task, parameters};
use std::io::{self, Read, Write};
use std::net::{self, Shutdown};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

/// What a client that receives says when it begins: ASCII ENQ. It is not payload.
const BEGIN: [u8; 1] = [5];

/// What each flow sends at most, bits of payload per second; nothing where it goes as fast as it can.
pub(super) fn pacing_rate(task: &Task) -> Option<u64> {
    match parameters::load(&task.parameters, "pacing_rate")? {
        Load::Bits(bits) => Some(bits),
        Load::Packets(_) => None,
    }
}

/// What a flow is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A client that will receive: it has not said yet that it begins.
    Asking,
    /// A server that will send: it waits for that word.
    Waiting,
    /// A receiver to which no payload has come yet.
    Silent,
    /// A receiver of payload.
    Taking,
    /// A sender of payload.
    Giving,
    /// A sender that has sent everything and waits for the receiver to close.
    Closing,
    /// Both ends are closed.
    Over,
}

impl Stage {
    /// Where a flow begins.
    fn first(role: Role, way: Way) -> Self {
        match (role, way) {
            (Role::Client, Way::Up) => Self::Giving,
            (Role::Client, Way::Down) => Self::Asking,
            (Role::Server, Way::Up) => Self::Silent,
            (Role::Server, Way::Down) => Self::Waiting,
        }
    }
}

#[derive(Debug)]
struct Flow {
    stream: net::TcpStream,
    /// An index into the lane's counts.
    count: usize,
    stage: Stage,
}

/// The flows of one thread.
#[derive(Debug)]
pub(super) struct Bulk {
    flows: Vec<Flow>,
    pub(super) counts: Vec<Count>,
    /// Payload bytes handed to the kernel.
    pub(super) sent: u64,
    pub(super) cpu: CpuLog,
    feed: Feed,
    sink: Sink,
    role: Role,
    duration: u64,
    shared: Arc<Shared>,
    /// When the side began; nothing before it has.
    began: Option<u64>,
    patience: Option<Arc<Patience>>,
    /// Whether a sender lets others run after every write (sched_yield(2)): where the receiver may wait for its core.
    ///
    /// Else it fills the socket's buffers first, which are larger than the caches, and all of it is copied from memory.
    /// On a virtual machine of two cores, over a veth pair, that is 1.7 times the throughput of one flow on one core, and
    /// 1.8 times that of eight flows on two (medians of 6 interleaved trials of one second).
    gives_way: bool,
}

impl Bulk {
    /// The flows of a thread on one side. A client's ends `patience` some time after the trial; a server's is ended
    /// for it.
    pub(super) fn new(
        flows: Vec<Accepted>,
        task: &Task,
        role: Role,
        shared: &Arc<Shared>,
        patience: Option<&Arc<Patience>>,
    ) -> Result<Self, Error> {
        let gives = if role == Role::Client { Way::Up } else { Way::Down };
        let counts = Count::all(&flows, gives, task, shared)?;
        for flow in flows.iter().filter(|flow| flow.way == gives) {
            if let Some(rate) = pacing_rate(task) {
                pace(flow.stream.as_fd(), rate.div_ceil(8))
                    .map_err(|error| Error::io("pace a flow (--pacing-rate)", error))?;
            }
        }
        let place = |client| counts.binary_search_by_key(&client, |count| count.client);
        let flows = flows
            .into_iter()
            .map(|Accepted { stream, client, way }| Flow {
                stream,
                count: place(client).unwrap_or_default(),
                stage: Stage::first(role, way),
            })
            .collect();
        Ok(Self {
            flows,
            counts,
            sent: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            feed: Feed::of(&task.parameters)?,
            sink: Sink::of(&task.parameters)?,
            role,
            duration: task.duration.0,
            shared: Arc::clone(shared),
            began: None,
            patience: patience.map(Arc::clone),
            gives_way: task.one_clock && Cores::are_shared(&task.cpus),
        })
    }

    /// Notes the time on the side's own clock, and begins it.
    fn note(&mut self, now: u64) {
        let began = match self.began {
            Some(began) => began,
            None => {
                let began = *self.began.insert(self.shared.side.begun(now));
                self.cpu.begin(now.saturating_sub(began));
                began
            }
        };
        self.cpu.at(now.saturating_sub(began));
    }

    /// After the trial's end a client waits for what is on its way, but not for ever.
    fn tire(&self) {
        let Some((patience, began)) = self.patience.as_ref().zip(self.began) else { return };
        let left = (began + self.duration).checked_sub(now());
        if left.is_none_or(|left| left == 0) {
            patience.limit(Instant::now() + GRACE);
        }
    }

    fn step(&mut self, flow: usize) -> io::Result<()> {
        match self.flows[flow].stage {
            Stage::Asking => self.ask(flow),
            Stage::Waiting => self.await_word(flow),
            Stage::Silent => self.hear(flow),
            Stage::Taking => self.take(flow),
            Stage::Giving => self.give(flow),
            Stage::Closing => self.close(flow),
            Stage::Over => Ok(()),
        }
    }

    /// Says that the server may begin to send.
    fn ask(&mut self, flow: usize) -> io::Result<()> {
        let Flow { stream, stage, .. } = &mut self.flows[flow];
        stream.write_all(&BEGIN)?;
        *stage = Stage::Silent;
        Ok(())
    }

    /// Waits for the client's word to begin, or for its end.
    fn await_word(&mut self, flow: usize) -> io::Result<()> {
        let Flow { stream, stage, .. } = &mut self.flows[flow];
        *stage = match stream.read(&mut [0])? {
            0 => Stage::Over,
            _ => Stage::Giving,
        };
        Ok(())
    }

    /// The clock begins when the first byte is there, not when a whole buffer of them has been copied.
    fn hear(&mut self, flow: usize) -> io::Result<()> {
        let Flow { stream, stage, count } = &mut self.flows[flow];
        stream.peek(&mut [0])?;
        *stage = Stage::Taking;
        let now = now();
        self.counts[*count].clocks.taking.begun(now);
        self.note(now);
        self.take(flow)
    }

    fn take(&mut self, flow: usize) -> io::Result<()> {
        let bytes = self.sink.take(&self.flows[flow].stream)?;
        let now = now();
        self.note(now);
        let Flow { stream, stage, count } = &mut self.flows[flow];
        let Count { clocks, meter, .. } = &mut self.counts[*count];
        let at = now.saturating_sub(clocks.taking.begun(now));
        let Some(meter) = meter else { return Ok(()) };
        if bytes > 0 {
            meter.add(at, bytes as u64);
            return Ok(());
        }
        meter.ended(at);
        *stage = Stage::Over;
        shut(stream, Shutdown::Both)
    }

    fn give(&mut self, flow: usize) -> io::Result<()> {
        let now = now();
        self.note(now);
        let count = &mut self.counts[self.flows[flow].count];
        let at = now.saturating_sub(count.clocks.giving.begun(now));
        count.watch(at, |flow| &self.flows[flow].stream)?;
        let Flow { stream, stage, .. } = &mut self.flows[flow];
        if at < self.duration {
            self.sent += self.feed.give(stream)? as u64;
            if self.gives_way {
                std::thread::yield_now();
            }
            return Ok(());
        }
        *stage = Stage::Closing;
        shut(stream, Shutdown::Write)?;
        self.tire();
        Ok(())
    }

    /// Nothing but the end comes from a receiver, once it has everything; one that would wait no longer, or is gone,
    /// shows in what it counted.
    fn close(&mut self, flow: usize) -> io::Result<()> {
        let Flow { stream, stage, .. } = &mut self.flows[flow];
        match stream.read(&mut [0]) {
            Ok(0) => *stage = Stage::Over,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => *stage = Stage::Over,
            other => drop(other?),
        }
        Ok(())
    }
}

impl Lane for Bulk {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].stream.as_fd()
    }

    fn begin(&mut self) {
        if self.role == Role::Client {
            self.note(now());
        }
    }

    fn wish(&self, flow: usize) -> Wish {
        match self.flows[flow].stage {
            Stage::Asking | Stage::Giving => Wish::Write,
            Stage::Waiting | Stage::Silent | Stage::Taking | Stage::Closing => Wish::Read,
            Stage::Over => Wish::Over,
        }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let result = self.step(flow);
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.tire();
        }
        result
    }
}
