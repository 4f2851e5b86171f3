//! The server: it accepts, answers and closes.

use super::netstat::{overflow, time_wait_overflows};
use super::{Plan, is_blocked};
use crate::cpu::CpuLog;
use crate::drive::{Patience, TICK};
use crate::lanes::{self, Driven};
use crate::payload::payload;
use crate::placement::Role;
use crate::tcp::{Gathered, Options, Serving};
use crate::wait::timespec;
use crate::workloads::rr::buffer;
use crate::{Error, Report, Server, Task, clock, cpu};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Connections that wait to be accepted: as many as the kernel lets (net.core.somaxconn).
const BACKLOG: u32 = 4096;

/// Connections in progress in one thread: beyond them new ones are closed at once.
const MOST: usize = 8192;

/// Connections accepted in one go before others are looked at.
const BATCH: usize = 64;

/// A connection in progress.
#[derive(Debug)]
struct Conversation {
    socket: OwnedFd,
    taken: usize,
    given: usize,
    /// What epoll watches of it.
    watched: EventFlags,
}

/// Whether a conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Wait(EventFlags),
    /// It has been answered, and is closed.
    Answered,
    /// It is closed without.
    Broken,
}

/// What epoll's numbers stand for: first the listeners, then the control connections, then the conversations.
#[derive(Debug)]
struct Answerer {
    listeners: Vec<TcpListener>,
    controls: Vec<Option<TcpStream>>,
    /// Control connections of all threads that have not ended.
    alive: Arc<AtomicUsize>,
    conversations: Vec<Option<Conversation>>,
    free: Vec<usize>,
    queue: OwnedFd,
    request: usize,
    response: Box<[u8]>,
    buffer: Box<[u8]>,
    accepted: u64,
    answered: u64,
    cpu: CpuLog,
    /// When the first connection came to this side.
    shared_epoch: Arc<OnceLock<u64>>,
    epoch: Option<u64>,
}

impl Answerer {
    fn new(
        listeners: &[TcpListener],
        controls: Vec<TcpStream>,
        alive: &Arc<AtomicUsize>,
        task: &Task,
        epoch: &Arc<OnceLock<u64>>,
    ) -> io::Result<Self> {
        let plan = Plan::of(&task.parameters).map_err(io::Error::other)?;
        let this = Self {
            listeners: listeners.iter().map(TcpListener::try_clone).collect::<Result<_, _>>()?,
            controls: controls.into_iter().map(Some).collect(),
            alive: Arc::clone(alive),
            conversations: (0..MOST).map(|_| None).collect(),
            free: (0..MOST).rev().collect(),
            queue: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            request: plan.request,
            response: payload(plan.response),
            buffer: buffer(plan.request),
            accepted: 0,
            answered: 0,
            cpu: CpuLog::new(task.duration, task.interval),
            shared_epoch: Arc::clone(epoch),
            epoch: None,
        };
        for (at, listener) in this.listeners.iter().enumerate() {
            // One of the threads that wait for it is enough.
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            epoll::add(&this.queue, listener, EventData::new_u64(at as u64), flags)?;
        }
        for (at, control) in (this.listeners.len() as u64..).zip(this.controls.iter().flatten()) {
            control.set_nonblocking(true)?;
            epoll::add(&this.queue, control, EventData::new_u64(at), EventFlags::IN)?;
        }
        Ok(this)
    }

    /// Serves until the control connections of all threads have ended.
    fn work(&mut self, patience: &Patience) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        let tick = timespec(TICK.as_nanos() as u64);
        while self.alive.load(Ordering::Acquire) > 0 && !patience.is_over() {
            events.clear();
            match epoll::wait(&self.queue, spare_capacity(&mut events), Some(&tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.on(event.data.u64() as usize)?;
            }
            if let Some(epoch) = self.epoch {
                self.cpu.at(clock::now().0.saturating_sub(epoch));
            }
        }
        // A client closes its control connections after all others: what is left here was made all the same.
        (0..self.listeners.len()).try_for_each(|at| self.accept(at, usize::MAX))
    }

    fn on(&mut self, number: usize) -> io::Result<()> {
        let controls = self.listeners.len();
        let conversations = controls + self.controls.len();
        if number < controls {
            self.accept(number, BATCH)
        } else if number < conversations {
            self.listen_to(number - controls);
            Ok(())
        } else {
            self.converse(number - conversations)
        }
    }

    /// Accepts connections, and answers those whose request is there already.
    fn accept(&mut self, listener: usize, most: usize) -> io::Result<()> {
        for _ in 0..most {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match accept_with(&self.listeners[listener], flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                // Given up by its client while it waited (accept(2)).
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            self.accepted += 1;
            if self.epoch.is_none() {
                self.first();
            }
            if let Some(at) = self.free.pop() {
                let watched = EventFlags::empty();
                self.conversations[at] = Some(Conversation { socket, taken: 0, given: 0, watched });
                self.converse(at)?;
            }
        }
        Ok(())
    }

    /// The first connection of this thread: its CPU time counts from now.
    fn first(&mut self) {
        self.epoch = Some(self.cpu.begin_by(&self.shared_epoch));
    }

    /// Nothing but the end comes over a control connection.
    fn listen_to(&mut self, at: usize) {
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

    /// Takes a conversation as far as it goes now.
    fn converse(&mut self, at: usize) -> io::Result<()> {
        let Some(mut one) = self.conversations[at].take() else {
            return Ok(());
        };
        match self.exchange(&mut one) {
            Next::Wait(flags) => {
                self.watch(at, &mut one, flags)?;
                self.conversations[at] = Some(one);
                return Ok(());
            }
            Next::Answered => self.answered += 1,
            Next::Broken => {}
        }
        self.free.push(at);
        Ok(())
    }

    fn exchange(&mut self, one: &mut Conversation) -> Next {
        while one.taken < self.request {
            let most = self.buffer.len().min(self.request - one.taken);
            match recv(&one.socket, &mut self.buffer[..most], RecvFlags::empty()) {
                Ok((_, bytes)) if bytes > 0 => one.taken += bytes,
                Err(error) if is_blocked(error) => return Next::Wait(EventFlags::IN),
                Ok(_) | Err(_) => return Next::Broken,
            }
        }
        // More is to come, namely the end: it goes out in one segment with the last of the response.
        let flags = SendFlags::NOSIGNAL | SendFlags::MORE;
        while one.given < self.response.len() {
            match send(&one.socket, &self.response[one.given..], flags) {
                Ok(bytes) => one.given += bytes,
                Err(error) if is_blocked(error) => return Next::Wait(EventFlags::OUT),
                Err(_) => return Next::Broken,
            }
        }
        Next::Answered
    }

    /// Lets epoll watch a conversation, where it does not yet.
    fn watch(&self, at: usize, one: &mut Conversation, flags: EventFlags) -> io::Result<()> {
        let number = self.listeners.len() + self.controls.len() + at;
        let data = EventData::new_u64(number as u64);
        if one.watched.is_empty() {
            epoll::add(&self.queue, one.socket.as_fd(), data, flags)?;
        } else if one.watched != flags {
            epoll::modify(&self.queue, one.socket.as_fd(), data, flags)?;
        }
        one.watched = flags;
        Ok(())
    }
}

/// The serving side.
pub(super) struct Answering {
    serving: Serving<Answerer>,
    overflows: Option<u64>,
}

impl Answering {
    /// Listens.
    pub(super) fn start(task: &Task) -> Result<Self, Error> {
        Plan::of(&task.parameters)?;
        let overflows = time_wait_overflows();
        let serving = Serving::start_with(task, &Options::default(), BACKLOG, |gathered| {
            let Gathered { flows, listeners, task, cores, patience } = gathered;
            let (epoch, alive) = (Arc::default(), Arc::new(AtomicUsize::new(flows.len())));
            let controls = flows.into_iter().map(|flow| flow.stream).collect();
            let lanes = lanes::deal(controls, &cores, &task.parameters)
                .into_iter()
                .map(|controls| Answerer::new(&listeners, controls, &alive, &task, &epoch))
                .collect::<Result<_, _>>()
                .map_err(|error| Error::io("prepare to accept", error))?;
            lanes::run_by(lanes, &cores, &task, &patience, |lane| lane.work(&patience))
        })?;
        Ok(Self { serving, overflows })
    }
}

impl Server for Answering {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Driven { lanes, cpu, mut findings } = self.serving.finish()?;
        findings.extend(overflow(self.overflows));
        let mut report = Report { findings, cpu, ..Report::default() };
        for lane in lanes {
            report.ends.accepted += lane.accepted;
            report.ends.answered += lane.answered;
            cpu::add(&mut report.cpu_by_interval, lane.cpu.rows());
        }
        Ok(report.with(&self.serving.granted, &self.serving.cores, Role::Server))
    }
}
