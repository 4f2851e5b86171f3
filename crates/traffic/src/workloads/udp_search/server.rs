//! The serving side: receives one trial after another, and tells the client what came of each.

use super::options;
use crate::placement::Role;
use crate::tcp::Granted;
use crate::udp::{
    Introduced, Link, Message, Received, Receiver, Serving, Station, by_client, granted_of,
    out_of_turn,
};
use crate::{Error, Report, Server, Task};
use std::io;
use std::time::Duration;
use tare_record::{Ends, Finding, Nanos};

/// How long to wait for the client's next word before looking whether it is time to end.
const TICK: Duration = Duration::from_millis(20);

/// What all trials together came to.
#[derive(Debug, Default)]
struct Sum {
    /// Duplicates included.
    all: u64,
    sent: u64,
    dropped: u64,
    cpu: Nanos,
    findings: Vec<Finding>,
    granted: Granted,
}

/// The serving side.
pub(super) struct Answering {
    serving: Serving<Sum>,
}

impl Answering {
    /// Listens.
    pub(super) fn start(task: &Task) -> Result<Self, Error> {
        let serving = Serving::start(task, &options(task)?, |mut introduced, station| {
            let mut sum = Sum {
                granted: granted_of(&introduced.flows, station.options, Role::Server)?,
                ..Sum::default()
            };
            while let Some(trial) = next_trial(&mut introduced.links, station)? {
                sum.trial(trial, &mut introduced, station)?;
            }
            Ok(sum)
        })?;
        Ok(Self { serving })
    }
}

/// The number of the trial that the client begins; nothing once it is gone, or patience is over.
fn next_trial(links: &mut [Link], station: &Station<'_>) -> Result<Option<u32>, Error> {
    let Some(link) = links.first_mut() else { return Ok(None) };
    while !station.patience.is_over() {
        match link.hear(TICK) {
            Ok(Some(Message::Begin(trial))) => return Ok(Some(trial)),
            // Nothing yet; or how much was sent in a trial of which no more was awaited.
            Ok(None | Some(Message::Sent { .. })) => {}
            Ok(Some(_)) => return Err(Error::io("hear of a trial", out_of_turn())),
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

impl Sum {
    /// One trial.
    fn trial(
        &mut self,
        trial: u32,
        introduced: &mut Introduced,
        station: &Station<'_>,
    ) -> Result<(), Error> {
        let Introduced { links, flows } = introduced;
        let refused = |error| Error::io("answer the client", error);
        let prepared = station.prepare(flows, trial)?;
        tell(links, Message::Ready(trial)).map_err(refused)?;
        let Received { driven, sent } = station.receive(prepared, links, flows)?;
        let totals = by_client(&driven.lanes).into_values().map(|(tally, _)| tally.total());
        let (received, all) = totals.fold((0, 0), |(received, all), total| {
            (received + total.received, all + total.received + total.duplicates)
        });
        let full: io::Result<u64> = driven.lanes.iter().map(Receiver::found_full).sum();
        let full = full.map_err(|error| Error::io("read what a socket lost", error))?;
        let dropped = full.min(sent.unwrap_or(u64::MAX).saturating_sub(received));

        self.all += all;
        self.sent += sent.unwrap_or(received + dropped);
        self.dropped += dropped;
        self.cpu = self.cpu + driven.cpu;
        for finding in driven.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        let dropped = u32::try_from(dropped).unwrap_or(u32::MAX);
        // What a queue took that it could not have gone on taking was not carried.
        let late = driven.lanes.iter().map(Receiver::late).sum();
        let received = received.saturating_sub(late);
        // Gone meanwhile, the client does not want to know.
        let _ = tell(links, Message::Received { dropped, datagrams: received });
        Ok(())
    }
}

fn tell(links: &[Link], message: Message) -> io::Result<()> {
    links.iter().try_for_each(|link| link.tell(message))
}

impl Server for Answering {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Sum { all, sent, dropped, cpu, mut findings, granted, .. } = self.serving.finish()?;
        if dropped > 0 {
            findings.push(Finding::DroppedAtSocket { dropped, of: sent });
        }
        let report = Report { findings, cpu, ..Report::default() };
        let ends = Ends { datagrams_received: all, ..Ends::default() };
        Ok(report.counted(ends).with(&granted, &self.serving.cores, Role::Server))
    }
}
