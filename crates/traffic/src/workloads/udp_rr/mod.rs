//! `udp-rr`: request and response over UDP.
//!
//! A request without a response for a fifth of a second counts as lost, and the flow continues with the next one. A
//! lost transaction has no latency. If its response is late, but arrives before the next transaction is lost too, the
//! transaction keeps its full latency.

mod handshake;
mod handshake_datagram;
mod transport;

use super::rr::{self, MessageSizes, Responder, RrClient, RrServer};
use super::serving_state::ServingState;
use super::tcp_rr::no_delay_options;
use crate::slices::progress::SliceProgress;
use crate::tcp::{AcceptedFlows, GrantedOptions, TcpServerThread, connect};
use crate::udp::SleepingSockets;
use crate::wait_mode::WaitMode;
use crate::workers;
use crate::{Client, Error, Parameter, Server, TrialTask, Workload, WorkloadInfo, WorkloadRequest};
use tare_record::{Metric, SliceKind};

/// Workload `udp-rr`.
#[derive(Debug)]
pub(crate) struct UdpRr;

/// Metrics of round trips, and the loss.
const METRICS: [Metric; rr::METRICS.len() + 1] = {
    let mut all = [Metric::Loss; rr::METRICS.len() + 1];
    let mut at = 0;
    while at < rr::METRICS.len() {
        all[at] = rr::METRICS[at];
        at += 1;
    }
    all
};

impl Workload for UdpRr {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "udp-rr",
            summary: "requests and responses over UDP, one outstanding per flow; their rate, latency and loss",
            stands_for: "netperf UDP_RR, sockperf ping-pong",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#UDP_005fRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &METRICS
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        // Largest payload of one IPv4 packet (RFC 768, RFC 791).
        const PARAMETERS: &[Parameter] = &rr::parameters(65_507);
        PARAMETERS
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        rr::validate(asked)
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Messages)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let sizes = MessageSizes::from_parameters(&task.parameters)?;
        let doors = handshake::listen(&task.addresses)?;
        let progress = SliceProgress::for_task(task);
        let shared = ServingState::new(task, progress.clone());
        let asleep = SleepingSockets::default();
        let sockets = asleep.clone();
        let serving =
            TcpServerThread::start_with(task, &no_delay_options(), task.flows, move |gathered| {
                let AcceptedFlows { flows, task, cores, patience, .. } = gathered;
                let flows = handshake::admit(&doors, flows, &task, &patience)?;
                drop(doors);
                sockets.add(flows.iter().map(|(flow, _)| flow.shared_socket()));
                let mut lanes = Vec::new();
                for hand in workers::distribute(flows, &cores, &task.parameters) {
                    lanes.push(Responder::new(hand, sizes, &task, &shared));
                }
                workers::run_flow_groups(lanes, &cores, &task, &patience)
            })?;
        Ok(Box::new(RrServer { serving, granted: GrantedOptions::default(), asleep, progress }))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let (controls, _) = connect(task, &no_delay_options())?;
        let wires =
            handshake::announce(controls, task, WaitMode::from_parameters(&task.parameters))?;
        let sizes = MessageSizes::from_parameters(&task.parameters)?;
        Ok(Box::new(RrClient::new(wires, sizes, GrantedOptions::default(), task)))
    }
}
