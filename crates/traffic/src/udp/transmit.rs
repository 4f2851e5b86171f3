//! A client's side: its flows dealt over lanes, and one trial after another sent over them.

use super::control::{Link, Message};
use super::introduce::{Flow, Introduced, announce};
use super::options::Options;
use super::send::{Pace, Sender};
use crate::drive::Patience;
use crate::lanes::{self, Driven};
use crate::placement::{Cores, Role};
use crate::{Error, Task};
use std::sync::{Arc, OnceLock};

/// A client whose flows are known to their servers.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// What it was told.
    pub(crate) task: Task,
    /// How datagrams are carried.
    pub(crate) options: Options,
    /// The conversations with its servers.
    pub(crate) links: Vec<Link>,
    /// Its flows.
    pub(crate) flows: Vec<Flow>,
    /// Where its lanes run.
    pub(crate) cores: Cores,
}

/// What was sent in a trial.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The lanes, with what they counted.
    pub(crate) driven: Driven<Sender>,
    /// When the trial began, by the monotonic clock, ns.
    pub(crate) epoch: Option<u64>,
}

/// Lanes that are ready to send.
#[derive(Debug)]
pub(crate) struct Loaded {
    lanes: Vec<Sender>,
    epoch: Arc<OnceLock<u64>>,
}

impl Transmitter {
    /// Introduces all flows.
    pub(crate) fn connect(task: &Task, options: Options) -> Result<Self, Error> {
        let Introduced { links, flows } = announce(task, &options)?;
        let cores = Cores::of(&task.cpus, Role::Client);
        Ok(Self { task: task.clone(), options, links, flows, cores })
    }

    /// Prepares everything that sending so many datagrams per second will use, in a trial of this number. The task says
    /// how long.
    pub(crate) fn load(&self, task: &Task, per_second: f64, trial: u32) -> Loaded {
        let all = self.flows.len().max(1) as f64;
        let epoch = Arc::new(OnceLock::new());
        let hands = lanes::deal(self.flows.clone(), &self.cores, &task.parameters);
        let lane = |(nth, flows): (usize, Vec<Flow>)| {
            let pace = Pace {
                per_second: per_second * flows.len() as f64 / all,
                origin: (nth as f64 + task.stagger()) * 1e9 / per_second,
                trial,
            };
            Sender::new(flows, task, &self.options, pace, &epoch)
        };
        let lanes = hands.into_iter().enumerate().map(lane).collect();
        Loaded { lanes, epoch }
    }

    /// Sends, and tells the servers how much it was.
    pub(crate) fn send(&self, loaded: Loaded, task: &Task) -> Result<Sent, Error> {
        let Loaded { lanes, epoch } = loaded;
        let patience = Patience::default();
        let work = |lane: &mut Sender| lane.run(&patience);
        let driven = lanes::run_by(lanes, &self.cores, task, &patience, work)?;
        for (number, datagrams) in driven.lanes.iter().flat_map(Sender::sent) {
            let flow = self.flows.iter().find(|flow| flow.number == number);
            if let Some(link) = flow.and_then(|flow| self.links.get(flow.link)) {
                link.tell(Message::Sent { flow: number, datagrams })
                    .map_err(|error| Error::io("tell the server what was sent", error))?;
            }
        }
        Ok(Sent { driven, epoch: epoch.get().copied() })
    }
}
