//! `udp-rr`: request and response over UDP.
//!
//! A request without a response for a fifth of a second counts as lost, and the flow goes on with the next one. A lost
//! transaction has no latency. One whose response is late, yet comes before the next is lost too, has the latency that
//! it had.

mod datagrams;
mod introduce;

use super::rr::{self, Requesting, Responder};
use super::tcp_rr::no_delay;
use crate::lanes;
use crate::placement::Role;
use crate::tcp::{Gathered, Granted, Serving, connect};
use crate::wait::Wait;
use crate::{About, Client, Error, Parameter, Report, Server, Task, Workload};
use datagrams::Datagrams;
use std::sync::Arc;
use tare_record::Metric;

/// The workload.
#[derive(Debug)]
pub(crate) struct UdpRr;

/// What round trips are measured by, and what was lost of them.
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
    fn about(&self) -> About {
        About {
            name: "udp-rr",
            summary: "requests and responses over UDP, one outstanding per flow; their rate, latency and loss",
            stands_for: "netperf UDP_RR, sockperf ping-pong",
            source: "https://hewlettpackard.github.io/netperf/doc/netperf.html#UDP_005fRR",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &METRICS
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        // What fits into one IPv4 packet (RFC 768, RFC 791).
        const PARAMETERS: &[Parameter] = &rr::parameters(65_507);
        PARAMETERS
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let doors = introduce::listen(&task.addresses)?;
        let serving = Serving::start_with(task, &no_delay(), task.flows, move |gathered| {
            let Gathered { flows, task, cores, patience, .. } = gathered;
            let flows = introduce::admit(&doors, flows, &task, &patience)?;
            drop(doors);
            let epoch = Arc::default();
            let mut lanes = Vec::new();
            for hand in lanes::deal(flows, &cores, &task.parameters) {
                lanes.push(Responder::new(hand, &task, &epoch)?);
            }
            lanes::run(lanes, &cores, &task, &patience)
        })?;
        Ok(Box::new(Responding { serving }))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        let (controls, _) = connect(task, &no_delay())?;
        let wires = introduce::announce(controls, task, Wait::of(&task.parameters))?;
        Ok(Box::new(Requesting::new(wires, Granted::default(), task)?))
    }
}

/// The serving side.
struct Responding {
    serving: Serving<Responder<Datagrams>>,
}

impl Server for Responding {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let report = rr::report(self.serving.finish()?)?;
        Ok(report.with(&Granted::default(), &self.serving.cores, Role::Server))
    }
}
