//! Thread of a client: a fixed number of connections in progress at once, each in a slot of its own.

use super::{CloseMode, CrrParameters, closed_early, is_blocked};
use crate::cpu::CpuLog;
use crate::event_loop::{SharedDeadline, TICK};
use crate::latency::{LatencyLog, set_round_trips};
use crate::payload::incompressible_payload;
use crate::ready_queue::{ReadyQueue, ReadySockets};
use crate::slices::window::SliceWindow;
use crate::tcp::{DRAIN_TIMEOUT, Greeting, TcpOptions, default_congestion, set_congestion};
use crate::workloads::rr::message_buffer;
use crate::{Error, TrialTask, clock};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tare_record::Interval;

/// Time that a slot rests after it found no free port, ns.
const NO_PORT_PAUSE: u64 = 1_000_000;

/// Size above which a request may take more than one segment, and must not wait for the acknowledgement of the first
/// (RFC 896).
const SEGMENT: usize = 500;

/// State of a slot.
#[derive(Debug)]
enum ConnectionSlot {
    /// No connection is in progress.
    Free,
    Connecting(PendingConnection),
    Sending(PendingConnection, usize),
    Receiving(PendingConnection, usize),
}

/// Connection in progress.
#[derive(Debug)]
struct PendingConnection {
    socket: OwnedFd,
    /// Time at which it was begun, by the monotonic clock, ns.
    begun: u64,
    /// Events for which epoll watches it.
    watched: EventFlags,
}

/// Slots of one thread.
#[derive(Debug)]
pub(super) struct CrrClientWorker {
    /// Address of the server.
    address: SocketAddr,
    plan: CrrParameters,
    /// Congestion control to set on every connection. `None` if new sockets have it already.
    congestion: Option<String>,
    slots: Vec<ConnectionSlot>,
    /// Number of free slots.
    free: usize,
    queue: ReadyQueue,
    /// Greeting and request.
    request: Box<[u8]>,
    buffer: Box<[u8]>,
    pub(super) exchanges: LatencyLog,
    pub(super) connects: LatencyLog,
    pub(super) cpu: CpuLog,
    pub(super) exhausted: u64,
    /// Time until which free slots rest.
    resume: u64,
    shared_epoch: Arc<OnceLock<u64>>,
    duration: u64,
    /// Window of the present slice, or of the trial in one piece.
    window: SliceWindow,
    /// True in a trial in slices.
    in_slices: bool,
}

impl CrrClientWorker {
    /// Creates a thread's slots, all free, for connections to this address.
    pub(super) fn new(
        address: SocketAddr,
        task: &TrialTask,
        plan: CrrParameters,
        sharing: u64,
        epoch: &Arc<OnceLock<u64>>,
    ) -> Result<Self, Error> {
        let queue =
            ReadyQueue::new().map_err(|error| Error::io("create an epoll instance", error))?;
        let log = || LatencyLog::new(task.duration, task.interval, sharing);
        Ok(Self {
            address,
            plan,
            congestion: congestion_to_set(&TcpOptions::from_parameters(&task.parameters)),
            slots: (0..plan.slots).map(|_| ConnectionSlot::Free).collect(),
            free: plan.slots,
            queue,
            request: greeted_request(task, plan.request),
            buffer: message_buffer(plan.response),
            exchanges: log(),
            connects: log(),
            cpu: CpuLog::new(task.duration, task.interval),
            exhausted: 0,
            resume: 0,
            shared_epoch: Arc::clone(epoch),
            duration: task.duration.0,
            window: SliceWindow::whole_trial(0, task.duration.0),
            in_slices: false,
        })
    }

    /// Keeps all slots busy for the trial's duration, then lets them finish.
    pub(super) fn run(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        let mut ready = ReadySockets::with_room_for(self.slots.len());
        self.begin();
        loop {
            let now = clock::now().0;
            self.record_cpu(now);
            if now < self.window.ends {
                self.fill_slots(now)?;
            } else {
                patience.set(Instant::now() + DRAIN_TIMEOUT);
                if self.free == self.slots.len() || patience.is_past() {
                    self.cpu.end_slice();
                    return Ok(());
                }
            }
            self.wait(&mut ready, now)?;
            for slot in ready.keys() {
                self.advance_slot(slot)?;
            }
        }
    }

    /// Begins the trial, unless it runs in slices, whose windows are set from outside.
    fn begin(&mut self) {
        let epoch = *self.shared_epoch.get_or_init(|| clock::now().0);
        if !self.in_slices {
            self.window = SliceWindow::whole_trial(epoch, self.duration);
            self.cpu.begin(clock::now().0 - epoch);
        }
    }

    /// Sets the window of the next slice.
    pub(super) fn begin_slice(&mut self, window: SliceWindow) {
        (self.in_slices, self.window) = (true, window);
    }

    fn record_cpu(&mut self, now: u64) {
        if self.in_slices {
            self.cpu.record_in_slice(&self.window, now);
        } else if let Some(at) = self.window.slice_time(now) {
            self.cpu.record(at);
        }
    }

    /// Begins connections in free slots, unless ports ran out just now.
    fn fill_slots(&mut self, now: u64) -> io::Result<()> {
        if self.free == 0 || now < self.resume {
            return Ok(());
        }
        for at in 0..self.slots.len() {
            if matches!(self.slots[at], ConnectionSlot::Free) {
                self.begin_connection(at)?;
            }
        }
        Ok(())
    }

    /// Waits for connections. Afterwards `ready` holds the slots of those that can advance.
    fn wait(&self, ready: &mut ReadySockets, now: u64) -> io::Result<()> {
        let tick = TICK.as_nanos() as u64;
        let nanos = if self.free > 0 && now < self.window.ends { NO_PORT_PAUSE } else { tick };
        self.queue.wait(nanos, ready)
    }

    /// Begins a connection in a free slot.
    fn begin_connection(&mut self, at: usize) -> io::Result<()> {
        let begun = clock::now().0;
        let socket = self.socket()?;
        match rustix::net::connect(&socket, &self.address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(Errno::ADDRNOTAVAIL) => {
                self.exhausted += 1;
                self.resume = begun + NO_PORT_PAUSE;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        self.free -= 1;
        self.slots[at] = ConnectionSlot::Connecting(PendingConnection {
            socket,
            begun,
            watched: EventFlags::empty(),
        });
        // On one machine the handshake has often completed when the call returns.
        self.advance_slot(at)
    }

    fn socket(&self) -> io::Result<OwnedFd> {
        let family =
            if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        if self.plan.close == CloseMode::Rst {
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        if self.request.len() > SEGMENT {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        if let Some(name) = &self.congestion {
            set_congestion(&socket, name);
        }
        Ok(socket)
    }

    /// Advances a slot as far as possible without blocking.
    fn advance_slot(&mut self, at: usize) -> io::Result<()> {
        self.slots[at] = match std::mem::replace(&mut self.slots[at], ConnectionSlot::Free) {
            ConnectionSlot::Free => ConnectionSlot::Free,
            ConnectionSlot::Connecting(call) => self.advance_connecting(at, call)?,
            ConnectionSlot::Sending(call, given) => self.advance_sending(at, call, given)?,
            ConnectionSlot::Receiving(call, taken) => self.advance_receiving(at, call, taken)?,
        };
        Ok(())
    }

    /// Sends the request; success shows that the connection has been established.
    fn advance_connecting(
        &mut self,
        at: usize,
        mut call: PendingConnection,
    ) -> io::Result<ConnectionSlot> {
        let given = match send(&call.socket, &self.request, SendFlags::NOSIGNAL) {
            Ok(given) => given,
            Err(error) if is_blocked(error) => {
                self.watch_call(at, &mut call, EventFlags::OUT)?;
                return Ok(ConnectionSlot::Connecting(call));
            }
            Err(error) => return Err(error.into()),
        };
        let now = clock::now().0;
        log_time(&mut self.connects, &self.window, now, call.begun)?;
        self.after_sending(at, call, given)
    }

    fn advance_sending(
        &mut self,
        at: usize,
        call: PendingConnection,
        given: usize,
    ) -> io::Result<ConnectionSlot> {
        match send(&call.socket, &self.request[given..], SendFlags::NOSIGNAL) {
            Ok(more) => self.after_sending(at, call, given + more),
            Err(error) if is_blocked(error) => self.after_sending(at, call, given),
            Err(error) => Err(error.into()),
        }
    }

    /// Continues after `given` bytes of the request have been sent.
    fn after_sending(
        &mut self,
        at: usize,
        mut call: PendingConnection,
        given: usize,
    ) -> io::Result<ConnectionSlot> {
        if given < self.request.len() {
            self.watch_call(at, &mut call, EventFlags::OUT)?;
            return Ok(ConnectionSlot::Sending(call, given));
        }
        self.watch_call(at, &mut call, EventFlags::IN)?;
        Ok(ConnectionSlot::Receiving(call, 0))
    }

    fn advance_receiving(
        &mut self,
        at: usize,
        call: PendingConnection,
        taken: usize,
    ) -> io::Result<ConnectionSlot> {
        let most = self.buffer.len().min(self.plan.response - taken);
        let bytes = match recv(&call.socket, &mut self.buffer[..most], RecvFlags::empty()) {
            Ok((_, 0)) => return Err(closed_early()),
            Ok((_, bytes)) => bytes,
            Err(error) if is_blocked(error) => 0,
            Err(error) => return Err(error.into()),
        };
        if taken + bytes < self.plan.response {
            return Ok(ConnectionSlot::Receiving(call, taken + bytes));
        }
        let now = clock::now().0;
        log_time(&mut self.exchanges, &self.window, now, call.begun)?;
        drop(call);
        self.free += 1;
        if now < self.window.ends && now >= self.resume {
            self.begin_connection(at)?;
        }
        // A connection begun above is in the slot already.
        Ok(std::mem::replace(&mut self.slots[at], ConnectionSlot::Free))
    }

    /// Updates the events for which epoll watches a connection.
    fn watch_call(
        &self,
        at: usize,
        call: &mut PendingConnection,
        flags: EventFlags,
    ) -> io::Result<()> {
        self.queue.watch(&call.socket, at, &mut call.watched, flags)
    }

    /// Returns everything that the thread logged, by interval.
    pub(super) fn intervals(self) -> Result<Vec<Interval>, Error> {
        let mut intervals = self.exchanges.intervals(set_round_trips)?;
        for (interval, histogram) in intervals.iter_mut().zip(self.connects.histograms()?) {
            interval.connect = Some(histogram);
        }
        Ok(intervals)
    }
}

/// Returns what every connection sends: the greeting of the trial, and a request of this many bytes.
fn greeted_request(task: &TrialTask, size: usize) -> Box<[u8]> {
    let greeting = Greeting::from_task(task).to_bytes();
    [&greeting[..], &incompressible_payload(size)].concat().into_boxed_slice()
}

/// Logs the time from a moment to now, if now counts.
fn log_time(log: &mut LatencyLog, window: &SliceWindow, now: u64, since: u64) -> io::Result<()> {
    match window.slice_time(now) {
        Some(at) => log.add(at, now - since).map_err(io::Error::other),
        None => {
            log.add_outside();
            Ok(())
        }
    }
}

/// Returns the congestion control to set on every connection. Returns `None` if new sockets have it already, so that the
/// measured connections do not pay for a call that changes nothing.
fn congestion_to_set(options: &TcpOptions) -> Option<String> {
    let asked = options.loaded_congestion()?;
    (default_congestion().as_deref() != Some(asked)).then(|| asked.to_owned())
}
