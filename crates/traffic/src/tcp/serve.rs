//! A TCP server's side of a trial: it listens, accepts the flows that it expects, and drives them on lanes.

use super::hello::{Accepted, welcome};
use super::socket::{Granted, Options, listen};
use crate::drive::{Lane, Patience, TICK};
use crate::lanes::{self, Driven};
use crate::placement::{Cores, Role};
use crate::{Error, Task};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a connection may take to greet: a stranger that says nothing holds up the others for so long.
const GREETING: Duration = Duration::from_secs(1);

/// How long the server waits, after the clients are done, for what they sent.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// A server that works on a thread of its own. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Serving<L> {
    patience: Arc<Patience>,
    thread: Option<JoinHandle<Result<Driven<L>, Error>>>,
    /// What is in force on its sockets.
    pub(crate) granted: Granted,
    /// The cores of its lanes.
    pub(crate) cores: Cores,
}

/// What a server has once all flows that it expects are there.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The flows.
    pub(crate) flows: Vec<Accepted>,
    /// Where they came from: they listen still.
    pub(crate) listeners: Vec<TcpListener>,
    /// What the server was told.
    pub(crate) task: Task,
    /// The cores of its lanes.
    pub(crate) cores: Cores,
    /// How long it waits.
    pub(crate) patience: Arc<Patience>,
}

impl<L: Lane + 'static> Serving<L> {
    /// Listens, and begins to accept. Once the task's flows are there they are dealt over lanes, which `lane` makes.
    pub(crate) fn start(
        task: &Task,
        options: &Options,
        lane: impl Fn(Vec<Accepted>) -> L + Send + 'static,
    ) -> Result<Self, Error> {
        Self::try_start(task, options, move |flows| Ok(lane(flows)))
    }

    /// The same with lanes that may fail to be made.
    pub(crate) fn try_start(
        task: &Task,
        options: &Options,
        lane: impl Fn(Vec<Accepted>) -> Result<L, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        Self::start_with(task, options, task.flows, move |gathered| {
            let Gathered { flows, listeners, task, cores, patience } = gathered;
            drop(listeners);
            let hands = lanes::deal(flows, &cores, &task.parameters);
            let lanes = hands.into_iter().map(lane).collect::<Result<Vec<_>, Error>>()?;
            lanes::run(lanes, &cores, &task, &patience)
        })
    }
}

impl<L: Send + 'static> Serving<L> {
    /// Listens with room for so many that have not been accepted, and begins to accept. Once the task's flows are
    /// there, `work` does the rest on the same thread.
    pub(crate) fn start_with(
        task: &Task,
        options: &Options,
        backlog: u32,
        work: impl FnOnce(Gathered) -> Result<Driven<L>, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        let mut granted = Granted::default();
        // Clients that are routed to the same address share its listener.
        for &address in &task.addresses.iter().collect::<BTreeSet<_>>() {
            let (listener, got) = listen(*address, backlog, options)?;
            listeners.push(listener);
            granted = got;
        }
        let cores = Cores::of(&task.cpus, Role::Server);
        let patience = Arc::new(Patience::default());
        let thread = thread::spawn({
            let (task, cores, patience) = (task.clone(), cores.clone(), Arc::clone(&patience));
            let no_delay = options.no_delay;
            move || {
                let flows = accept(&listeners, &task, no_delay, &patience)?;
                work(Gathered { flows, listeners, task, cores, patience })
            }
        });
        Ok(Self { patience, thread: Some(thread), granted, cores })
    }

    /// Waits until all flows have come to their end, but no longer than the grace.
    pub(crate) fn finish(&mut self) -> Result<Driven<L>, Error> {
        self.patience.limit(Instant::now() + GRACE);
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(Error::io("serve", io::Error::other("its thread died"))),
        }
    }
}

impl<L> Drop for Serving<L> {
    fn drop(&mut self) {
        self.patience.limit(Instant::now());
        if let Some(thread) = self.thread.take() {
            // Whatever it counted, nobody asks for it any more.
            let _ = thread.join();
        }
    }
}

/// Accepts until all expected flows are there, or patience is over.
fn accept(
    listeners: &[TcpListener],
    task: &Task,
    no_delay: bool,
    patience: &Patience,
) -> Result<Vec<Accepted>, Error> {
    let refused = |error| Error::io("accept a flow", error);
    let mut flows = Vec::with_capacity(task.flows as usize);
    while flows.len() < task.flows as usize && !patience.is_over() {
        wait_for_any(listeners).map_err(refused)?;
        for listener in listeners {
            if let Some(Some(flow)) = accept_one(listener, task.token).map_err(refused)? {
                flow.stream.set_nodelay(no_delay).map_err(refused)?;
                flows.push(flow);
            }
        }
    }
    Ok(flows)
}

/// Accepts one connection: nothing where nobody is there, nothing inside for whoever does not greet with this token.
pub(crate) fn accept_one(
    listener: &TcpListener,
    token: u64,
) -> io::Result<Option<Option<Accepted>>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(GREETING))?;
            Ok(Some(welcome(stream, token)))
        }
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the next call may well succeed: nobody there, a signal, a connection that was given up (accept(2)).
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted)
}

/// Waits until a listener has somebody, or for a tick.
fn wait_for_any(listeners: &[TcpListener]) -> io::Result<()> {
    let mut waits: Vec<_> =
        listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
    let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
    match poll(&mut waits, Some(&tick)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
