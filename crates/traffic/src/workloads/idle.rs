//! `idle`: nothing is sent. The machine's activity during the trial is the background of all other figures.

use crate::event_loop::SharedDeadline;
use crate::flow_group::{FlowGroup, Interest};
use crate::latency::empty_intervals;
use crate::placement::{SideCores, TrafficRole};
use crate::tcp::{DRAIN_TIMEOUT, GrantedOptions, TcpOptions, TcpServerThread, connect, shut_down};
use crate::workers::{self, WorkerOutput};
use crate::{
    Client, Error, Parameter, Server, SideReport, TrialTask, Workload, WorkloadInfo, clock,
};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;
use tare_record::{Metric, Nanos, Series};

/// Workload `idle`.
#[derive(Debug)]
pub(crate) struct Idle;

impl Workload for Idle {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "idle",
            summary: "no traffic: the background load of the machine",
            stands_for: "the background that every other figure contains",
            source: "https://www.rfc-editor.org/rfc/rfc2544#section-26",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::CpuBusy, Metric::SoftirqCore]
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn offered_load(&self, _: &TrialTask) -> Option<f64> {
        Some(0.0)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let lane = |flows: Vec<_>| IdleFlows {
            flows: flows
                .into_iter()
                .map(|flow: crate::tcp::AcceptedFlow| (flow.stream, IdleStage::Waiting))
                .collect(),
            until: u64::MAX,
        };
        Ok(Box::new(IdleServer {
            serving: TcpServerThread::start(task, &TcpOptions::default(), lane)?,
        }))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let (streams, granted) = connect(task, &TcpOptions::default())?;
        Ok(Box::new(IdleClient { streams, granted, task: task.clone() }))
    }
}

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleStage {
    Waiting,
    Over,
}

/// Flows of one thread, which carry nothing.
#[derive(Debug)]
struct IdleFlows {
    flows: Vec<(TcpStream, IdleStage)>,
    /// Monotonic time at which this side ends the flows; `u64::MAX` on the server, which never does.
    until: u64,
}

impl FlowGroup for IdleFlows {
    fn flow_count(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].0.as_fd()
    }

    fn interest(&self, flow: usize) -> Interest {
        match self.flows[flow].1 {
            IdleStage::Waiting => Interest::Read,
            IdleStage::Over => Interest::Finished,
        }
    }

    fn step_flow(&mut self, flow: usize) -> io::Result<()> {
        let (stream, stage) = &mut self.flows[flow];
        if *stage == IdleStage::Over {
            return Ok(());
        }
        // Only the end of the stream can arrive.
        if (&*stream).read(&mut [0])? == 0 {
            *stage = IdleStage::Over;
            return shut_down(stream, Shutdown::Both);
        }
        Ok(())
    }

    fn on_tick(&mut self, now: u64) -> io::Result<()> {
        if now < self.until {
            return Ok(());
        }
        for (stream, stage) in &mut self.flows {
            *stage = IdleStage::Over;
            shut_down(stream, Shutdown::Both)?;
        }
        Ok(())
    }
}

/// Serving side of `idle`.
struct IdleServer {
    serving: TcpServerThread<IdleFlows>,
}

impl Server for IdleServer {
    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let WorkerOutput { cpu, findings, .. } = self.serving.finish()?;
        let report = SideReport { findings, cpu, ..SideReport::default() };
        Ok(report.with_granted(&self.serving.granted, &self.serving.cores, TrafficRole::Server))
    }
}

/// Client of `idle`, which ends the trial after its duration.
struct IdleClient {
    streams: Vec<TcpStream>,
    granted: GrantedOptions,
    task: TrialTask,
}

impl Client for IdleClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let Self { streams, granted, task } = *self;
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        let epoch = clock::now();
        let flows = streams.into_iter().map(|stream| (stream, IdleStage::Waiting)).collect();
        let lane = IdleFlows { flows, until: epoch.0 + task.duration.0 };
        let patience = Arc::new(SharedDeadline::default());
        patience.set(Instant::now() + task.duration.into() + DRAIN_TIMEOUT);
        let WorkerOutput { cpu, findings, .. } =
            workers::run_flow_groups(vec![lane], &cores, &task, &patience)?;
        let slots = usize::try_from(task.duration.0 / task.interval.0.max(1)).unwrap_or(usize::MAX);
        let intervals = empty_intervals(slots, Nanos(task.interval.0));
        let report = SideReport {
            series: vec![Series::new(task.client, intervals)],
            parameters: task.parameters,
            findings,
            cpu,
            epoch: Some(epoch),
            ..SideReport::default()
        };
        Ok(report.with_granted(&granted, &cores, TrafficRole::Client))
    }
}
