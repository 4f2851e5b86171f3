//! Client of a UDP workload: distributes its flows over threads, and sends one trial after another.

use super::control::{UdpControlLink, UdpControlMessage};
use super::handshake::{EstablishedFlows, UdpFlow, announce_flows};
use super::options::Options;
use super::send::{SendPace, UdpSender};
use crate::event_loop::SharedDeadline;
use crate::placement::{SideCores, TrafficRole};
use crate::slices::client::ClientSlices;
use crate::workers::{self, WorkerOutput};
use crate::{Error, TrialTask};
use std::sync::{Arc, OnceLock};
use tare_record::Nanos;

/// Client whose flows are known to their servers.
#[derive(Debug)]
pub(crate) struct UdpTransmitter {
    /// Task of the client.
    pub(crate) task: TrialTask,
    /// Options with which datagrams are carried.
    pub(crate) options: Options,
    /// Control connections to its servers.
    pub(crate) links: Vec<UdpControlLink>,
    /// Flows of the client.
    pub(crate) flows: Vec<UdpFlow>,
    /// Cores of its sending threads.
    pub(crate) cores: SideCores,
}

/// Result of sending a trial.
#[derive(Debug)]
pub(crate) struct UdpSendResult {
    /// Senders with their counts.
    pub(crate) output: WorkerOutput<UdpSender>,
    /// Beginning of the trial, by the monotonic clock, ns. `None` if no thread began to send.
    pub(crate) epoch: Option<u64>,
}

/// Senders of a trial, ready to send.
#[derive(Debug)]
pub(crate) struct PreparedSenders {
    lanes: Vec<UdpSender>,
    epoch: Arc<OnceLock<u64>>,
    /// Time for which they have sent in slices, ns.
    sent_for: u64,
}

impl UdpTransmitter {
    /// Connects to all servers and announces all flows.
    pub(crate) fn connect(task: &TrialTask, options: Options) -> Result<Self, Error> {
        let EstablishedFlows { links, flows } = announce_flows(task, &options)?;
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        Ok(Self { task: task.clone(), options, links, flows, cores })
    }

    /// Prepares the senders of a trial of this number, at `per_second` datagrams per second together. Allocates
    /// everything that sending uses. `task` states the duration.
    pub(crate) fn prepare(&self, task: &TrialTask, per_second: f64, trial: u32) -> PreparedSenders {
        let all = self.flows.len().max(1) as f64;
        let epoch = Arc::new(OnceLock::new());
        let hands = workers::distribute(self.flows.clone(), &self.cores, &task.parameters);
        let lane = |(nth, flows): (usize, Vec<UdpFlow>)| {
            let pace = SendPace {
                per_second: per_second * flows.len() as f64 / all,
                origin: (nth as f64 + task.stagger()) * 1e9 / per_second,
                trial,
            };
            UdpSender::new(flows, task, &self.options, pace, &epoch)
        };
        let lanes = hands.into_iter().enumerate().map(lane).collect();
        PreparedSenders { lanes, epoch, sent_for: 0 }
    }

    /// Sends the datagrams of a trial, then tells the servers how many they were.
    pub(crate) fn send(
        &self,
        loaded: PreparedSenders,
        task: &TrialTask,
    ) -> Result<UdpSendResult, Error> {
        let PreparedSenders { lanes, epoch, .. } = loaded;
        let (patience, work) = (Arc::default(), UdpSender::run);
        let driven = workers::run_workers(lanes, &self.cores, task, &patience, work)?;
        self.tell_sent(&driven.lanes)?;
        Ok(UdpSendResult { output: driven, epoch: epoch.get().copied() })
    }

    /// Sends the next slice. The senders keep their counts.
    pub(crate) fn send_slice(
        &self,
        loaded: PreparedSenders,
        slices: &mut ClientSlices,
    ) -> Result<PreparedSenders, Error> {
        let PreparedSenders { lanes, epoch, sent_for } = loaded;
        let window = slices.begin();
        let work = move |lane: &mut UdpSender, _: &SharedDeadline| lane.run_slice(window, sent_for);
        let lanes = slices.run(lanes, &self.cores, &self.task, &Arc::default(), work)?;
        Ok(PreparedSenders { lanes, epoch, sent_for: sent_for + (window.ends - window.begins) })
    }

    /// Ends a trial in slices: tells the servers how many datagrams were sent. Returns the senders with their counts.
    pub(crate) fn finish_slices(&self, loaded: PreparedSenders) -> Result<UdpSendResult, Error> {
        let PreparedSenders { lanes, epoch, .. } = loaded;
        self.tell_sent(&lanes)?;
        let output = WorkerOutput { lanes, cpu: Nanos(0), findings: Vec::new() };
        Ok(UdpSendResult { output, epoch: epoch.get().copied() })
    }

    /// Tells the servers how many datagrams were sent on each flow.
    fn tell_sent(&self, lanes: &[UdpSender]) -> Result<(), Error> {
        for (number, datagrams) in lanes.iter().flat_map(UdpSender::sent) {
            let flow = self.flows.iter().find(|flow| flow.number == number);
            if let Some(link) = flow.and_then(|flow| self.links.get(flow.link)) {
                link.send(UdpControlMessage::Sent { flow: number, datagrams }).map_err(
                    |error| Error::io("send the number of sent datagrams to the server", error),
                )?;
            }
        }
        Ok(())
    }
}

impl PreparedSenders {
    /// Returns the number of datagrams sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.lanes.iter().flat_map(UdpSender::sent).map(|(_, sent)| sent).sum()
    }
}
