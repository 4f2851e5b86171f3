//! Server: accepts connections, answers and closes them.

use super::netstat::{find_overflow, time_wait_overflows};
use super::{CrrParameters, is_blocked};
use crate::cpu::CpuLog;
use crate::event_loop::{SharedDeadline, TICK};
use crate::payload::incompressible_payload;
use crate::placement::TrafficRole;
use crate::ready_queue::{ReadyQueue, ReadySockets};
use crate::slices::progress::SliceProgress;
use crate::tcp::{
    AcceptedFlows, GREETING_LENGTH, GREETING_TIMEOUT, Greeting, TcpOptions, TcpServerThread,
};
use crate::workers::{self, WorkerOutput};
use crate::workloads::rr::message_buffer;
use crate::workloads::serving_state::ServingState;
use crate::{Error, SentBytes, Server, SideReport, TrialTask, clock, cpu};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest sleep of a thread whose trial runs in slices: it wakes seldom in others' slices, and notices soon that the
/// control connections of another thread have ended.
const SLICED_TICK: Duration = Duration::from_millis(100);

/// Backlog of connections not yet accepted: as many as the kernel allows (net.core.somaxconn).
const BACKLOG: u32 = 4096;

/// Most connections in progress in one thread that belong to the trial.
const MOST: usize = 8192;

/// Room in one thread for connections that have not greeted, and may be strangers'. Where it is used up, the oldest of
/// them is closed for a new one.
const MOST_UNGREETED: usize = 256;

/// Time between two searches for connections that have not greeted in time, ns.
const SWEEP_PERIOD: u64 = 250_000_000;

/// Most events handled between two looks at the clock.
const EVENTS: usize = 256;

/// Most connections accepted in one go before other events are handled.
const BATCH: usize = 64;

/// Connection in progress.
#[derive(Debug)]
struct ServedConnection {
    socket: OwnedFd,
    /// Time at which it was accepted, by the monotonic clock, ns.
    accepted: u64,
    /// Beginning of what it sends, as far as it has arrived.
    greeting: [u8; GREETING_LENGTH],
    /// Bytes of the greeting and the request that have arrived.
    taken: usize,
    given: usize,
    /// Events for which epoll watches it.
    watched: EventFlags,
}

/// Next step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionStep {
    Wait(EventFlags),
    /// The request has been answered, and the connection is closed.
    Answered,
    /// The connection is closed without an answer.
    Broken,
    /// The connection does not belong to the trial, and is closed.
    Stranger,
}

impl ServedConnection {
    fn new(socket: OwnedFd, accepted: u64) -> Self {
        let (greeting, watched) = ([0; GREETING_LENGTH], EventFlags::empty());
        Self { socket, accepted, greeting, taken: 0, given: 0, watched }
    }

    /// Adds bytes that have arrived. Returns the greeting if they complete it, `Some(None)` if it is invalid.
    fn add(&mut self, bytes: &[u8]) -> Option<Option<Greeting>> {
        let missing = self.greeting.get_mut(self.taken..).unwrap_or_default();
        let is_incomplete = !missing.is_empty();
        let fitting = missing.len().min(bytes.len());
        missing[..fitting].copy_from_slice(&bytes[..fitting]);
        self.taken += bytes.len();
        (is_incomplete && self.has_greeted()).then(|| Greeting::parse(&self.greeting))
    }

    fn has_greeted(&self) -> bool {
        self.taken >= GREETING_LENGTH
    }
}

/// Connections of one thread. Epoll's numbers stand for the listeners, then the control connections, then the measured
/// connections.
#[derive(Debug)]
struct CrrServerWorker {
    listeners: Vec<TcpListener>,
    controls: Vec<Option<TcpStream>>,
    /// Number of control connections of all threads that have not ended.
    alive: Arc<AtomicUsize>,
    connections: Vec<Option<ServedConnection>>,
    free: Vec<usize>,
    queue: ReadyQueue,
    /// Bytes of the greeting and the request of a connection.
    incoming: usize,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    accepted: u64,
    answered: u64,
    cpu: CpuLog,
    epoch: Option<u64>,
    shared: ServingState,
    task: TrialTask,
    /// Time by the monotonic clock when the thread last woke, ns.
    now: u64,
    /// Time of the next search for connections that have not greeted in time.
    next_sweep: u64,
}

impl CrrServerWorker {
    fn new(
        listeners: &[TcpListener],
        controls: Vec<TcpStream>,
        alive: &Arc<AtomicUsize>,
        task: &TrialTask,
        shared: &ServingState,
    ) -> io::Result<Self> {
        let plan = CrrParameters::from_parameters(&task.parameters).map_err(io::Error::other)?;
        let incoming = GREETING_LENGTH + plan.request;
        let capacity = (plan.slots * task.flows as usize).min(MOST) + MOST_UNGREETED;
        let this = Self {
            listeners: listeners.iter().map(TcpListener::try_clone).collect::<Result<_, _>>()?,
            controls: controls.into_iter().map(Some).collect(),
            alive: Arc::clone(alive),
            connections: (0..capacity).map(|_| None).collect(),
            free: (0..capacity).rev().collect(),
            queue: ReadyQueue::new()?,
            incoming,
            response: incompressible_payload(plan.response),
            buffer: message_buffer(incoming),
            accepted: 0,
            answered: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            epoch: None,
            shared: shared.clone(),
            task: task.clone(),
            now: 0,
            next_sweep: 0,
        };
        for (at, listener) in this.listeners.iter().enumerate() {
            // One of the threads that wait for the listener is enough.
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            this.queue.add(listener, at, flags)?;
        }
        for (at, control) in (this.listeners.len()..).zip(this.controls.iter().flatten()) {
            control.set_nonblocking(true)?;
            this.queue.add(control, at, EventFlags::IN)?;
        }
        Ok(this)
    }

    /// Serves until the control connections of all threads have ended.
    fn run(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        let mut ready = ReadySockets::with_room_for(EVENTS);
        let tick = if self.shared.slices.is_some() { SLICED_TICK } else { TICK };
        while self.alive.load(Ordering::Acquire) > 0 && !patience.is_past() {
            self.queue.wait(tick.as_nanos() as u64, &mut ready)?;
            self.now = clock::now().0;
            for number in ready.keys() {
                self.dispatch(number)?;
            }
            if let Some(epoch) = self.epoch {
                self.cpu.record(self.now.saturating_sub(epoch));
            }
            if self.now >= self.next_sweep {
                self.next_sweep = self.now + SWEEP_PERIOD;
                let timeout = GREETING_TIMEOUT.as_nanos() as u64;
                self.close_ungreeted(self.now.saturating_sub(timeout));
            }
        }
        self.cpu.end_slice();
        // A client closes its control connections after all others: connections still pending here were established
        // too, and have greeted.
        (0..self.listeners.len()).try_for_each(|at| self.accept(at, usize::MAX))?;
        self.close_ungreeted(u64::MAX);
        Ok(())
    }

    fn dispatch(&mut self, number: usize) -> io::Result<()> {
        let controls = self.listeners.len();
        let conversations = controls + self.controls.len();
        if number < controls {
            self.accept(number, BATCH)
        } else if number < conversations {
            self.read_control(number - controls);
            Ok(())
        } else {
            self.advance_connection(number - conversations)
        }
    }

    /// Accepts connections, and answers those whose request has arrived already.
    fn accept(&mut self, listener: usize, most: usize) -> io::Result<()> {
        for _ in 0..most {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match accept_with(&self.listeners[listener], flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                // Aborted by its client while it was pending (accept(2)).
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            self.accepted += 1;
            if self.free.is_empty() {
                self.close_oldest_ungreeted();
            }
            if let Some(at) = self.free.pop() {
                self.connections[at] = Some(ServedConnection::new(socket, self.now));
                self.advance_connection(at)?;
            }
        }
        Ok(())
    }

    /// Handles the greeting of a connection: CPU time counts from the first one of this thread, or of the slice.
    fn note_arrival(&mut self) {
        if let Some(slices) = &self.shared.slices {
            let now = clock::now().0;
            self.cpu.record_in_slice(&slices.window(now), now);
        } else if self.epoch.is_none() {
            self.epoch = Some(self.cpu.begin_at_shared_epoch(&self.shared.epoch));
        }
    }

    /// Reads a control connection, over which only the end of the stream can arrive.
    fn read_control(&mut self, at: usize) {
        let Some(control) = &self.controls[at] else {
            return;
        };
        match recv(control, &mut [0u8], RecvFlags::empty()) {
            Ok((_, 1..)) => {}
            Err(error) if is_blocked(error) => {}
            Ok(_) | Err(_) => {
                self.controls[at] = None;
                self.alive.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Advances a connection as far as possible without blocking.
    fn advance_connection(&mut self, at: usize) -> io::Result<()> {
        let Some(mut one) = self.connections[at].take() else {
            return Ok(());
        };
        match self.exchange(&mut one) {
            ConnectionStep::Wait(flags) => {
                self.watch_connection(at, &mut one, flags)?;
                self.connections[at] = Some(one);
                return Ok(());
            }
            ConnectionStep::Answered => self.answered += 1,
            ConnectionStep::Broken => {}
            ConnectionStep::Stranger => self.accepted -= 1,
        }
        self.free.push(at);
        Ok(())
    }

    /// Closes connections that have not greeted and were accepted at this time or before.
    fn close_ungreeted(&mut self, latest: u64) {
        let is_late = |one: &mut ServedConnection| !one.has_greeted() && one.accepted <= latest;
        for (at, place) in self.connections.iter_mut().enumerate() {
            if place.take_if(is_late).is_some() {
                self.accepted -= 1;
                self.free.push(at);
            }
        }
    }

    /// Closes the connection that has not greeted for the longest time.
    fn close_oldest_ungreeted(&mut self) {
        let ungreeted = self.connections.iter().flatten().filter(|one| !one.has_greeted());
        if let Some(oldest) = ungreeted.map(|one| one.accepted).min() {
            self.close_ungreeted(oldest);
        }
    }

    fn exchange(&mut self, one: &mut ServedConnection) -> ConnectionStep {
        while one.taken < self.incoming {
            let most = self.buffer.len().min(self.incoming - one.taken);
            match recv(&one.socket, &mut self.buffer[..most], RecvFlags::empty()) {
                Ok((_, bytes)) if bytes > 0 => {
                    if let Some(greeting) = one.add(&self.buffer[..bytes]) {
                        if !greeting.is_some_and(|greeting| greeting.is_of_trial(&self.task)) {
                            return ConnectionStep::Stranger;
                        }
                        self.note_arrival();
                    }
                }
                Err(error) if is_blocked(error) => return ConnectionStep::Wait(EventFlags::IN),
                Ok(_) | Err(_) if one.has_greeted() => return ConnectionStep::Broken,
                Ok(_) | Err(_) => return ConnectionStep::Stranger,
            }
        }
        // The FIN follows: with this flag it goes out in one segment with the last of the response.
        let flags = SendFlags::NOSIGNAL | SendFlags::MORE;
        while one.given < self.response.len() {
            match send(&one.socket, &self.response[one.given..], flags) {
                Ok(bytes) => one.given += bytes,
                Err(error) if is_blocked(error) => return ConnectionStep::Wait(EventFlags::OUT),
                Err(_) => return ConnectionStep::Broken,
            }
        }
        ConnectionStep::Answered
    }

    /// Updates the events for which epoll watches a connection.
    fn watch_connection(
        &self,
        at: usize,
        one: &mut ServedConnection,
        flags: EventFlags,
    ) -> io::Result<()> {
        let number = self.listeners.len() + self.controls.len() + at;
        self.queue.watch(&one.socket, number, &mut one.watched, flags)
    }
}

/// Server of `tcp-crr`.
pub(super) struct CrrServer {
    serving: TcpServerThread<CrrServerWorker>,
    /// Slices of the trial. `None` if it runs in one piece.
    progress: Option<Arc<SliceProgress>>,
    overflows: Option<u64>,
}

impl CrrServer {
    /// Listens. Connections are accepted and answered on threads of its own.
    pub(super) fn start(task: &TrialTask) -> Result<Self, Error> {
        CrrParameters::from_parameters(&task.parameters)?;
        let overflows = time_wait_overflows();
        let progress = SliceProgress::for_task(task);
        let shared = ServingState::new(task, progress.clone());
        let options = TcpOptions::from_parameters(&task.parameters);
        let serving = TcpServerThread::start_with(task, &options, BACKLOG, move |gathered| {
            let AcceptedFlows { flows, listeners, task, cores, patience } = gathered;
            let alive = Arc::new(AtomicUsize::new(flows.len()));
            let controls = flows.into_iter().map(|flow| flow.stream).collect();
            let lanes = workers::distribute(controls, &cores, &task.parameters)
                .into_iter()
                .map(|controls| CrrServerWorker::new(&listeners, controls, &alive, &task, &shared))
                .collect::<Result<_, _>>()
                .map_err(|error| Error::io("prepare to accept connections", error))?;
            workers::run_workers(lanes, &cores, &task, &patience, CrrServerWorker::run)
        })?;
        Ok(Self { serving, progress, overflows })
    }
}

impl Server for CrrServer {
    fn settle(&mut self, sent: u64) -> Result<SentBytes, Error> {
        self.progress.as_ref().ok_or_else(Error::not_in_slices)?.settle(sent)
    }

    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let WorkerOutput { lanes, cpu, mut findings } = self.serving.finish()?;
        findings.extend(find_overflow(self.overflows));
        let mut report = SideReport { findings, cpu, ..SideReport::default() };
        for lane in lanes {
            report.ends.accepted += lane.accepted;
            report.ends.answered += lane.answered;
            cpu::add_rows(&mut report.cpu_by_interval, lane.cpu.rows());
        }
        Ok(report.with_granted(&self.serving.granted, &self.serving.cores, TrafficRole::Server))
    }
}
