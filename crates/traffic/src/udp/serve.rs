//! Server of a UDP workload: listens, learns its flows by the handshake, and receives their datagrams on several
//! threads.

use super::control::{UdpControlLink, UdpControlMessage};
use super::flow_end::FlowEnd;
use super::handshake::{EstablishedFlows, UdpFlow, UdpListeners};
use super::interval_counters::IntervalCounters;
use super::options::Options;
use super::receive::UdpReceiver;
use super::sleeping_sockets::stop_receiving;
use crate::event_loop::SharedDeadline;
use crate::flow_group::server_tick;
use crate::placement::{SideCores, TrafficRole};
use crate::slices::progress::SliceProgress;
use crate::stall::StallTracker;
use crate::tcp::DRAIN_TIMEOUT;
use crate::workers::{self, WorkerOutput};
use crate::{Error, TrialTask};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Server on a thread of its own. Dropping it ends the server.
#[derive(Debug)]
pub(crate) struct UdpServer<T> {
    patience: Arc<SharedDeadline>,
    thread: Option<JoinHandle<Result<T, Error>>>,
    /// Cores of its receiving threads.
    pub(crate) cores: SideCores,
    /// Slices of the trial. `None` if it runs in one piece.
    pub(crate) progress: Option<Arc<SliceProgress>>,
}

impl<T: Send + 'static> UdpServer<T> {
    /// Starts to listen. Once the task's flows are known, `work` runs with them on the server's thread.
    pub(crate) fn start(
        task: &TrialTask,
        options: &Options,
        work: impl FnOnce(EstablishedFlows, &UdpServerContext<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let doors = UdpListeners::open(task)?;
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Server);
        let patience = Arc::new(SharedDeadline::default());
        let progress = SliceProgress::for_task(task);
        let thread = thread::spawn({
            let (task, options, slices) = (task.clone(), *options, progress.clone());
            let (cores, patience) = (cores.clone(), Arc::clone(&patience));
            move || {
                let introduced = doors.accept_flows(&task, &options, &patience)?;
                let station = UdpServerContext {
                    task: &task,
                    options: &options,
                    cores: &cores,
                    patience: &patience,
                    slices: slices.as_ref(),
                };
                work(introduced, &station)
            }
        });
        Ok(Self { patience, thread: Some(thread), cores, progress })
    }

    /// Waits until all flows have ended, at most for [`DRAIN_TIMEOUT`].
    pub(crate) fn finish(&mut self) -> Result<T, Error> {
        self.patience.set(Instant::now() + DRAIN_TIMEOUT);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => {
                Err(Error::io("serve flows", io::Error::other("the thread of the server panicked")))
            }
        }
    }
}

impl<T> Drop for UdpServer<T> {
    fn drop(&mut self) {
        self.patience.set(Instant::now());
        if let Some(thread) = self.thread.take() {
            // Its counts are not needed any more.
            let _ = thread.join();
        }
    }
}

/// Context that a server's trials share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UdpServerContext<'s> {
    /// Task of the server.
    pub(crate) task: &'s TrialTask,
    /// Options with which datagrams are carried.
    pub(crate) options: &'s Options,
    /// Cores of its receiving threads.
    pub(crate) cores: &'s SideCores,
    /// Limit on the server's running time.
    pub(crate) patience: &'s Arc<SharedDeadline>,
    /// Slices of the trial. `None` if it runs in one piece.
    pub(crate) slices: Option<&'s Arc<SliceProgress>>,
}

/// Receivers of a trial, ready for its datagrams.
#[derive(Debug)]
pub(crate) struct PreparedReceivers {
    lanes: Vec<UdpReceiver>,
    endings: Vec<Arc<FlowEnd>>,
}

/// Result of receiving a trial.
#[derive(Debug)]
pub(crate) struct UdpReceiveResult {
    /// Receivers with their counts.
    pub(crate) output: WorkerOutput<UdpReceiver>,
    /// Number of datagrams that the clients report as sent. `None` if it is not known for all flows.
    pub(crate) sent: Option<u64>,
}

impl PreparedReceivers {
    /// Leaves out what the flows' buffers have dropped in earlier trials. To be called before the clients are told to
    /// send.
    pub(crate) fn forget_earlier_drops(&mut self) -> Result<(), Error> {
        self.lanes
            .iter_mut()
            .try_for_each(UdpReceiver::forget_buffer_drops)
            .map_err(|error| Error::io("prepare to receive", error))
    }
}

impl UdpServerContext<'_> {
    /// Prepares the receivers of a trial of this number over these flows.
    pub(crate) fn prepare(
        &self,
        flows: &[UdpFlow],
        trial: u32,
    ) -> Result<PreparedReceivers, Error> {
        let endings: Vec<_> = flows.iter().map(|_| Arc::new(FlowEnd::new())).collect();
        let ended = flows.iter().cloned().zip(endings.iter().cloned()).collect();
        let lanes = workers::distribute(ended, self.cores, &self.task.parameters)
            .into_iter()
            .map(|flows| UdpReceiver::new(flows, self.task, self.options, trial, self.slices))
            .collect::<io::Result<_>>()
            .map_err(|error| Error::io("prepare to receive", error))?;
        Ok(PreparedReceivers { lanes, endings })
    }

    /// Receives until all datagrams have arrived, or none arrive any more.
    pub(crate) fn receive(
        &self,
        prepared: PreparedReceivers,
        links: &mut [UdpControlLink],
        flows: &[UdpFlow],
    ) -> Result<UdpReceiveResult, Error> {
        let PreparedReceivers { lanes, endings } = prepared;
        let (endings, over) = (&endings, &AtomicBool::new(false));
        let driven = thread::scope(|scope| {
            let is_sliced = self.slices.is_some();
            scope.spawn(move || {
                await_sent_counts(links, flows, endings, over, server_tick(is_sliced));
                if is_sliced {
                    // Each slice has been settled: nothing is on its way.
                    flows.iter().for_each(|flow| stop_receiving(&flow.socket));
                }
            });
            let (patience, work) = (self.patience, UdpReceiver::run);
            let driven = workers::run_workers(lanes, self.cores, self.task, patience, work);
            over.store(true, Ordering::Release);
            driven
        })?;
        let sent = endings.iter().map(|ending| ending.sent()).sum();
        Ok(UdpReceiveResult { output: driven, sent })
    }
}

/// Receives the clients' reports of what they sent, until all have come or the trial is over.
fn await_sent_counts(
    links: &mut [UdpControlLink],
    flows: &[UdpFlow],
    endings: &[Arc<FlowEnd>],
    over: &AtomicBool,
    tick: Duration,
) {
    const PIECE: Duration = Duration::from_millis(1);
    let open = |link: usize| {
        flows.iter().zip(endings).any(|(flow, ending)| flow.link == link && !ending.has_ended())
    };
    while !over.load(Ordering::Acquire) {
        let waiting: Vec<usize> = (0..links.len()).filter(|link| open(*link)).collect();
        if waiting.is_empty() {
            return;
        }
        for link in readable_links(links, &waiting, tick) {
            match links[link].receive(PIECE) {
                Ok(Some(UdpControlMessage::Sent { flow, datagrams })) => {
                    let known = flows.iter().position(|one| one.link == link && one.number == flow);
                    known.into_iter().for_each(|place| endings[place].set_sent(datagrams));
                }
                Ok(None) => {}
                // The client is gone, or sends invalid messages: nothing more is expected from it.
                Ok(Some(_)) | Err(_) => flows
                    .iter()
                    .zip(endings)
                    .filter(|(flow, _)| flow.link == link)
                    .for_each(|(_, ending)| ending.set_lost()),
            }
        }
    }
}

/// Returns the links that become readable within a tick.
fn readable_links(links: &[UdpControlLink], waiting: &[usize], tick: Duration) -> Vec<usize> {
    let mut waits: Vec<_> =
        waiting.iter().map(|link| PollFd::new(links[*link].stream(), PollFlags::IN)).collect();
    let tick = Timespec { tv_sec: 0, tv_nsec: tick.subsec_nanos().into() };
    if poll(&mut waits, Some(&tick)).is_err() {
        return Vec::new();
    }
    let heard = waits.iter().map(|wait| !wait.revents().is_empty());
    waiting.iter().zip(heard).filter(|(_, heard)| *heard).map(|(link, _)| *link).collect()
}

/// Adds up the counts of all receivers, by client.
pub(crate) fn counts_by_client(
    lanes: &[UdpReceiver],
) -> BTreeMap<u32, (IntervalCounters, StallTracker)> {
    let mut clients: BTreeMap<u32, (IntervalCounters, StallTracker)> = BTreeMap::new();
    for count in lanes.iter().flat_map(UdpReceiver::counts) {
        match clients.get_mut(&count.client) {
            Some((tally, gaps)) => {
                tally.merge(&count.tally);
                gaps.merge(count.gaps);
            }
            None => drop(clients.insert(count.client, (count.tally.clone(), count.gaps))),
        }
    }
    clients
}
