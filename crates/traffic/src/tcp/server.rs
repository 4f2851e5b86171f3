//! TCP server of a trial: listens, accepts the expected flows, and drives them on worker threads.

use super::granted_options::GrantedOptions;
use super::greeting::AcceptedFlow;
use super::greeting_queue::GreetingQueue;
use super::socket::{TcpOptions, listen};
use crate::event_loop::{SharedDeadline, TICK};
use crate::flow_group::FlowGroup;
use crate::placement::{SideCores, TrafficRole};
use crate::wait_mode::sleep_until_readable;
use crate::workers::{self, WorkerOutput};
use crate::{Error, TrialTask};
use std::collections::BTreeSet;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time that the server waits, after the clients have finished, for data on the way.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Server on a thread of its own. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct TcpServerThread<L> {
    patience: Arc<SharedDeadline>,
    thread: Option<JoinHandle<Result<WorkerOutput<L>, Error>>>,
    /// Effective options of the server's sockets.
    pub(crate) granted: GrantedOptions,
    /// Cores of the worker threads.
    pub(crate) cores: SideCores,
}

/// Flows of a server once all that it expects have been accepted.
#[derive(Debug)]
pub(crate) struct AcceptedFlows {
    /// The flows.
    pub(crate) flows: Vec<AcceptedFlow>,
    /// Sockets that accepted the flows; they still listen.
    pub(crate) listeners: Vec<TcpListener>,
    /// Task of the server.
    pub(crate) task: TrialTask,
    /// Cores of the worker threads.
    pub(crate) cores: SideCores,
    /// Deadline of the server.
    pub(crate) patience: Arc<SharedDeadline>,
}

impl<L: FlowGroup + 'static> TcpServerThread<L> {
    /// Listens, and begins to accept. Once the task's flows are there they are distributed over flow groups, which
    /// `lane` creates.
    pub(crate) fn start(
        task: &TrialTask,
        options: &TcpOptions,
        lane: impl Fn(Vec<AcceptedFlow>) -> L + Send + 'static,
    ) -> Result<Self, Error> {
        Self::try_start(task, options, move |flows| Ok(lane(flows)))
    }

    /// Starts a server as [`Self::start`] does, with flow groups whose creation may fail.
    pub(crate) fn try_start(
        task: &TrialTask,
        options: &TcpOptions,
        lane: impl Fn(Vec<AcceptedFlow>) -> Result<L, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        Self::start_with(task, options, task.flows, move |gathered| {
            let AcceptedFlows { flows, listeners, task, cores, patience } = gathered;
            drop(listeners);
            let hands = workers::distribute(flows, &cores, &task.parameters);
            let lanes = hands.into_iter().map(lane).collect::<Result<Vec<_>, Error>>()?;
            workers::run_flow_groups(lanes, &cores, &task, &patience)
        })
    }
}

impl<L: Send + 'static> TcpServerThread<L> {
    /// Listens with this backlog of connections not yet accepted, and begins to accept. Once the task's flows are
    /// there, `work` continues on the same thread.
    pub(crate) fn start_with(
        task: &TrialTask,
        options: &TcpOptions,
        backlog: u32,
        work: impl FnOnce(AcceptedFlows) -> Result<WorkerOutput<L>, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        let mut granted = GrantedOptions::default();
        // Clients that are routed to the same address share its listener.
        for &address in &task.addresses.iter().collect::<BTreeSet<_>>() {
            let (listener, got) = listen(*address, backlog, options)?;
            listeners.push(listener);
            granted = got;
        }
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Server);
        let patience = Arc::new(SharedDeadline::default());
        let thread = thread::spawn({
            let (task, cores, patience) = (task.clone(), cores.clone(), Arc::clone(&patience));
            let no_delay = options.no_delay;
            move || {
                let flows = accept_expected(&listeners, &task, no_delay, &patience)?;
                work(AcceptedFlows { flows, listeners, task, cores, patience })
            }
        });
        Ok(Self { patience, thread: Some(thread), granted, cores })
    }

    /// Waits until all flows have finished, up to [`DRAIN_TIMEOUT`].
    pub(crate) fn finish(&mut self) -> Result<WorkerOutput<L>, Error> {
        self.patience.set(Instant::now() + DRAIN_TIMEOUT);
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => {
                Err(Error::io("serve flows", io::Error::other("the thread of the server panicked")))
            }
        }
    }
}

impl<L> Drop for TcpServerThread<L> {
    fn drop(&mut self) {
        self.patience.set(Instant::now());
        if let Some(thread) = self.thread.take() {
            // The counts of a dropped server are no longer needed.
            let _ = thread.join();
        }
    }
}

/// Accepts until all expected flows are there, or the deadline passes.
fn accept_expected(
    listeners: &[TcpListener],
    task: &TrialTask,
    no_delay: bool,
    patience: &SharedDeadline,
) -> Result<Vec<AcceptedFlow>, Error> {
    let refused = |error| Error::io("accept a flow", error);
    let expected = task.flows as usize;
    let mut flows = Vec::with_capacity(expected);
    let mut queue = GreetingQueue::new(task);
    while flows.len() < expected && !patience.is_past() {
        let sockets = listeners.iter().map(AsFd::as_fd).chain(queue.sockets());
        sleep_until_readable(sockets, TICK).map_err(refused)?;
        for listener in listeners {
            queue.accept_pending(listener).map_err(refused)?;
        }
        for flow in queue.take_greeted() {
            flow.stream.set_nodelay(no_delay).map_err(refused)?;
            flows.push(flow);
        }
    }
    flows.truncate(expected);
    Ok(flows)
}
