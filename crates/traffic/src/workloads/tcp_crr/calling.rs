//! The client: so many connections in progress at once, each in a slot of its own.

use super::netstat::{overflow, time_wait_overflows};
use super::{Close, Plan, ended_early, is_blocked};
use crate::cpu::CpuLog;
use crate::drive::{Patience, TICK};
use crate::lanes::{self, Driven};
use crate::latency::{LatencyLog, round_trips};
use crate::payload::payload;
use crate::placement::{Cores, Role};
use crate::tcp::{GRACE, Granted, Options, connect, shut};
use crate::wait::timespec;
use crate::workloads::rr::buffer;
use crate::{Client, Error, Report, Task, clock, cpu, merge};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tare_record::{Finding, Interval, Nanos, Series};

/// How long a slot rests that found no free port, ns.
const PAUSE: u64 = 1_000_000;

/// A request that may take more than one segment must not wait for the acknowledgement of its first (RFC 896).
const SEGMENT: usize = 500;

/// What a slot is at.
#[derive(Debug)]
enum Slot {
    /// Nothing is in progress.
    Free,
    Connecting(Call),
    Sending(Call, usize),
    Receiving(Call, usize),
}

/// A connection in progress.
#[derive(Debug)]
struct Call {
    socket: OwnedFd,
    /// When it was begun, by the monotonic clock, ns.
    begun: u64,
    /// What epoll watches of it.
    watched: EventFlags,
}

/// The slots of one thread.
#[derive(Debug)]
struct Caller {
    /// Where to.
    address: SocketAddr,
    plan: Plan,
    slots: Vec<Slot>,
    /// How many are free.
    free: usize,
    queue: OwnedFd,
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    exchanges: LatencyLog,
    connects: LatencyLog,
    cpu: CpuLog,
    exhausted: u64,
    /// Until when free slots rest.
    resume: u64,
    shared_epoch: Arc<OnceLock<u64>>,
    epoch: u64,
    end: u64,
}

impl Caller {
    fn new(
        address: SocketAddr,
        task: &Task,
        plan: Plan,
        sharing: u64,
        epoch: &Arc<OnceLock<u64>>,
    ) -> Result<Self, Error> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Error::io("open an epoll queue", error))?;
        let log = || LatencyLog::new(task.duration, task.interval, sharing);
        Ok(Self {
            address,
            plan,
            slots: (0..plan.slots).map(|_| Slot::Free).collect(),
            free: plan.slots,
            queue,
            request: payload(plan.request),
            buffer: buffer(plan.response),
            exchanges: log(),
            connects: log(),
            cpu: CpuLog::new(task.duration, task.interval),
            exhausted: 0,
            resume: 0,
            shared_epoch: Arc::clone(epoch),
            epoch: 0,
            end: task.duration.0,
        })
    }

    /// Keeps all slots busy for the trial's duration, then lets them come to their end.
    fn work(&mut self, patience: &Patience) -> io::Result<()> {
        let mut events = Vec::with_capacity(self.slots.len());
        self.epoch = *self.shared_epoch.get_or_init(|| clock::now().0);
        self.end += self.epoch;
        self.cpu.begin(clock::now().0 - self.epoch);
        loop {
            let now = clock::now().0;
            self.cpu.at(now - self.epoch);
            if now < self.end {
                self.fill(now)?;
            } else {
                patience.limit(Instant::now() + GRACE);
                if self.free == self.slots.len() || patience.is_over() {
                    return Ok(());
                }
            }
            self.wait(&mut events, now)?;
            for event in &events {
                self.step(event.data.u64() as usize)?;
            }
        }
    }

    /// Begins connections in free slots, unless there were no ports just now.
    fn fill(&mut self, now: u64) -> io::Result<()> {
        if self.free == 0 || now < self.resume {
            return Ok(());
        }
        for at in 0..self.slots.len() {
            if matches!(self.slots[at], Slot::Free) {
                self.begin(at)?;
            }
        }
        Ok(())
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, now: u64) -> io::Result<()> {
        let tick = TICK.as_nanos() as u64;
        let nanos = if self.free > 0 && now < self.end { PAUSE } else { tick };
        events.clear();
        match epoll::wait(&self.queue, spare_capacity(events), Some(&timespec(nanos))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a connection in a free slot.
    fn begin(&mut self, at: usize) -> io::Result<()> {
        let begun = clock::now().0;
        let socket = self.socket()?;
        match rustix::net::connect(&socket, &self.address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(Errno::ADDRNOTAVAIL) => {
                self.exhausted += 1;
                self.resume = begun + PAUSE;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        self.free -= 1;
        self.slots[at] = Slot::Connecting(Call { socket, begun, watched: EventFlags::empty() });
        // On one machine the handshake is often over when the call returns.
        self.step(at)
    }

    fn socket(&self) -> io::Result<OwnedFd> {
        let family =
            if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        if self.plan.close == Close::Rst {
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        if self.plan.request > SEGMENT {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        Ok(socket)
    }

    /// Takes a slot as far as it goes now.
    fn step(&mut self, at: usize) -> io::Result<()> {
        self.slots[at] = match std::mem::replace(&mut self.slots[at], Slot::Free) {
            Slot::Free => Slot::Free,
            Slot::Connecting(call) => self.connecting(at, call)?,
            Slot::Sending(call, given) => self.sending(at, call, given)?,
            Slot::Receiving(call, taken) => self.receiving(at, call, taken)?,
        };
        Ok(())
    }

    /// A request that can be sent is the sign of a connection that has been made.
    fn connecting(&mut self, at: usize, mut call: Call) -> io::Result<Slot> {
        let given = match send(&call.socket, &self.request, SendFlags::NOSIGNAL) {
            Ok(given) => given,
            Err(error) if is_blocked(error) => {
                self.watch(at, &mut call, EventFlags::OUT)?;
                return Ok(Slot::Connecting(call));
            }
            Err(error) => return Err(error.into()),
        };
        let now = clock::now().0;
        let log = &mut self.connects;
        log.add(now - self.epoch, now - call.begun).map_err(io::Error::other)?;
        self.given(at, call, given)
    }

    fn sending(&mut self, at: usize, call: Call, given: usize) -> io::Result<Slot> {
        match send(&call.socket, &self.request[given..], SendFlags::NOSIGNAL) {
            Ok(more) => self.given(at, call, given + more),
            Err(error) if is_blocked(error) => self.given(at, call, given),
            Err(error) => Err(error.into()),
        }
    }

    /// So much of the request has gone.
    fn given(&mut self, at: usize, mut call: Call, given: usize) -> io::Result<Slot> {
        if given < self.request.len() {
            self.watch(at, &mut call, EventFlags::OUT)?;
            return Ok(Slot::Sending(call, given));
        }
        self.watch(at, &mut call, EventFlags::IN)?;
        Ok(Slot::Receiving(call, 0))
    }

    fn receiving(&mut self, at: usize, call: Call, taken: usize) -> io::Result<Slot> {
        let most = self.buffer.len().min(self.plan.response - taken);
        let bytes = match recv(&call.socket, &mut self.buffer[..most], RecvFlags::empty()) {
            Ok((_, 0)) => return Err(ended_early()),
            Ok((_, bytes)) => bytes,
            Err(error) if is_blocked(error) => 0,
            Err(error) => return Err(error.into()),
        };
        if taken + bytes < self.plan.response {
            return Ok(Slot::Receiving(call, taken + bytes));
        }
        let now = clock::now().0;
        let log = &mut self.exchanges;
        log.add(now - self.epoch, now - call.begun).map_err(io::Error::other)?;
        drop(call);
        self.free += 1;
        if now < self.end && now >= self.resume {
            self.begin(at)?;
        }
        // What has been begun stands in the slot already.
        Ok(std::mem::replace(&mut self.slots[at], Slot::Free))
    }

    /// Lets epoll watch a connection, where it does not yet.
    fn watch(&self, at: usize, call: &mut Call, flags: EventFlags) -> io::Result<()> {
        let data = EventData::new_u64(at as u64);
        if call.watched.is_empty() {
            epoll::add(&self.queue, &call.socket, data, flags)?;
        } else if call.watched != flags {
            epoll::modify(&self.queue, &call.socket, data, flags)?;
        }
        call.watched = flags;
        Ok(())
    }

    /// Everything it logged, by interval.
    fn intervals(self) -> Result<Vec<Interval>, Error> {
        let mut intervals = self.exchanges.intervals(round_trips)?;
        for (interval, histogram) in intervals.iter_mut().zip(self.connects.histograms()?) {
            interval.connect = Some(histogram);
        }
        Ok(intervals)
    }
}

/// The generating side.
pub(super) struct Calling {
    /// Kept open: their end is the trial's.
    controls: Vec<TcpStream>,
    callers: Vec<Caller>,
    granted: Granted,
    cores: Cores,
    epoch: Arc<OnceLock<u64>>,
    overflows: Option<u64>,
    task: Task,
}

impl Calling {
    pub(super) fn connect(task: &Task) -> Result<Self, Error> {
        let plan = Plan::of(&task.parameters)?;
        let (controls, granted) = connect(task, &Options::default())?;
        let cores = Cores::of(&task.cpus, Role::Client);
        let epoch = Arc::new(OnceLock::new());
        let addresses = task.addresses.iter().copied().cycle().take(controls.len()).collect();
        let hands = lanes::deal::<SocketAddr>(addresses, &cores, &task.parameters);
        let sharing = (hands.len() * task.peers as usize / cores.list().len().max(1)) as u64;
        let callers = hands
            .iter()
            .map(|hand| Caller::new(hand[0], task, plan, sharing, &epoch))
            .collect::<Result<_, _>>()?;
        let overflows = time_wait_overflows();
        Ok(Self { controls, callers, granted, cores, epoch, overflows, task: task.clone() })
    }
}

impl Client for Calling {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { controls, callers, granted, cores, epoch, overflows, task } = *self;
        let patience = Patience::default();
        let driven =
            lanes::run_by(callers, &cores, &task, &patience, |caller| caller.work(&patience));
        controls
            .iter()
            .try_for_each(|control| shut(control, Shutdown::Both))
            .map_err(|error| Error::io("end the control connections", error))?;
        let Driven { lanes: callers, cpu, mut findings } = driven?;
        let times = callers.iter().map(|caller| caller.exhausted).sum();
        findings.extend((times > 0).then_some(Finding::PortsExhausted { times }));
        findings.extend(overflow(overflows));
        let mut report = Report { findings, cpu, ..Report::default() };
        report.epoch = epoch.get().copied().map(Nanos);
        let mut intervals = Vec::new();
        for caller in callers {
            report.ends.connected += caller.connects.completed();
            report.ends.completed += caller.exchanges.completed();
            report.findings.extend(caller.exchanges.gaps().finding(task.interval));
            cpu::add(&mut report.cpu_by_interval, caller.cpu.rows());
            merge::intervals(&mut intervals, caller.intervals()?)?;
        }
        report.series = vec![Series::of(task.client, intervals)];
        report.parameters = task.parameters;
        Ok(report.with(&granted, &cores, Role::Client))
    }
}
