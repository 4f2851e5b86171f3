//! `idle`: nothing is sent. What the machine does meanwhile is the background of all other figures.

use crate::drive::{Lane, Patience, Wish};
use crate::lanes::{self, Driven};
use crate::latency::empty_intervals;
use crate::placement::{Cores, Role};
use crate::tcp::{GRACE, Granted, Options, Serving, connect, shut};
use crate::{About, Client, Error, Parameter, Report, Server, Task, Workload, clock};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;
use tare_record::{Metric, Nanos, Series};

/// The workload.
#[derive(Debug)]
pub(crate) struct Idle;

impl Workload for Idle {
    fn about(&self) -> About {
        About {
            name: "idle",
            summary: "nothing is sent; how busy the machine is all the same",
            stands_for: "the background that every other figure contains",
            source: "https://www.rfc-editor.org/rfc/rfc2544#section-26",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::CpuBusy]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn offers(&self, _: &Task) -> Option<f64> {
        Some(0.0)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let lane = |flows: Vec<_>| Resting {
            flows: flows
                .into_iter()
                .map(|flow: crate::tcp::Accepted| (flow.stream, Stage::Waiting))
                .collect(),
            until: u64::MAX,
        };
        Ok(Box::new(Waiting { serving: Serving::start(task, &Options::default(), lane)? }))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        let (streams, granted) = connect(task, &Options::default())?;
        Ok(Box::new(Sitting { streams, granted, task: task.clone() }))
    }
}

/// What a flow is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Over,
}

/// The flows of one thread, on which nothing happens.
#[derive(Debug)]
struct Resting {
    flows: Vec<(TcpStream, Stage)>,
    /// When this side ends them, by the monotonic clock; the server never does.
    until: u64,
}

impl Lane for Resting {
    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn socket(&self, flow: usize) -> BorrowedFd<'_> {
        self.flows[flow].0.as_fd()
    }

    fn wish(&self, flow: usize) -> Wish {
        match self.flows[flow].1 {
            Stage::Waiting => Wish::Read,
            Stage::Over => Wish::Over,
        }
    }

    fn turn(&mut self, flow: usize) -> io::Result<()> {
        let (stream, stage) = &mut self.flows[flow];
        if *stage == Stage::Over {
            return Ok(());
        }
        // Nothing comes but the end.
        if (&*stream).read(&mut [0])? == 0 {
            *stage = Stage::Over;
            return shut(stream, Shutdown::Both);
        }
        Ok(())
    }

    fn look(&mut self, now: u64) -> io::Result<()> {
        if now < self.until {
            return Ok(());
        }
        for (stream, stage) in &mut self.flows {
            *stage = Stage::Over;
            shut(stream, Shutdown::Both)?;
        }
        Ok(())
    }
}

/// The serving side.
struct Waiting {
    serving: Serving<Resting>,
}

impl Server for Waiting {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Driven { cpu, findings, .. } = self.serving.finish()?;
        let report = Report { findings, cpu, ..Report::default() };
        Ok(report.with(&self.serving.granted, &self.serving.cores, Role::Server))
    }
}

/// The side that says how long.
struct Sitting {
    streams: Vec<TcpStream>,
    granted: Granted,
    task: Task,
}

impl Client for Sitting {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { streams, granted, task } = *self;
        let cores = Cores::of(&task.cpus, Role::Client);
        let epoch = clock::now();
        let flows = streams.into_iter().map(|stream| (stream, Stage::Waiting)).collect();
        let lane = Resting { flows, until: epoch.0 + task.duration.0 };
        let patience = Arc::new(Patience::default());
        patience.limit(Instant::now() + task.duration.into() + GRACE);
        let Driven { cpu, findings, .. } = lanes::run(vec![lane], &cores, &task, &patience)?;
        let slots = usize::try_from(task.duration.0 / task.interval.0.max(1)).unwrap_or(usize::MAX);
        let intervals = empty_intervals(slots, Nanos(task.interval.0));
        let report = Report {
            series: vec![Series::of(task.client, intervals)],
            parameters: task.parameters,
            findings,
            cpu,
            epoch: Some(epoch),
            ..Report::default()
        };
        Ok(report.with(&granted, &cores, Role::Client))
    }
}
