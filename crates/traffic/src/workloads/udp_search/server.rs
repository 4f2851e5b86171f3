//! Server of a search: receives one trial after another, and reports the result of each to the client.

use super::options;
use crate::placement::TrafficRole;
use crate::tcp::GrantedOptions;
use crate::udp::{
    EstablishedFlows, UdpControlLink, UdpControlMessage, UdpReceiveResult, UdpReceiver, UdpServer,
    UdpServerContext, counts_by_client, granted_to_flows, unexpected_message,
};
use crate::{Error, Server, SideReport, TrialTask};
use std::io;
use std::time::Duration;
use tare_record::finding::SocketDrops;
use tare_record::{EndCounts, Finding, Nanos};

/// Time to wait for the client's next message before the deadline is checked.
const TICK: Duration = Duration::from_millis(20);

/// Totals of all trials.
#[derive(Debug, Default)]
struct SearchTotals {
    /// Received datagrams, including duplicates.
    all: u64,
    sent: u64,
    dropped: u64,
    cpu: Nanos,
    findings: Vec<Finding>,
    granted: GrantedOptions,
}

/// Server of `udp-search`.
pub(super) struct SearchServer {
    serving: UdpServer<SearchTotals>,
}

impl SearchServer {
    /// Listens, and answers the trials on a thread of its own.
    pub(super) fn start(task: &TrialTask) -> Result<Self, Error> {
        let serving = UdpServer::start(task, &options(task)?, |mut introduced, station| {
            let mut sum = SearchTotals {
                granted: granted_to_flows(&introduced.flows, station.options, TrafficRole::Server)?,
                ..SearchTotals::default()
            };
            while let Some(trial) = next_trial(&mut introduced.links, station)? {
                sum.run_trial(trial, &mut introduced, station)?;
            }
            Ok(sum)
        })?;
        Ok(Self { serving })
    }
}

/// Waits for the number of the trial that the client begins. Returns `None` once the client is gone, or the deadline
/// has passed.
fn next_trial(
    links: &mut [UdpControlLink],
    station: &UdpServerContext<'_>,
) -> Result<Option<u32>, Error> {
    let Some(link) = links.first_mut() else { return Ok(None) };
    while !station.patience.is_past() {
        match link.receive(TICK) {
            Ok(Some(UdpControlMessage::Begin(trial))) => return Ok(Some(trial)),
            // No message yet, or the count sent in a trial that was no longer awaited.
            Ok(None | Some(UdpControlMessage::Sent { .. })) => {}
            Ok(Some(_)) => {
                return Err(Error::io("receive the announcement of a trial", unexpected_message()));
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

impl SearchTotals {
    /// Runs one trial.
    fn run_trial(
        &mut self,
        trial: u32,
        introduced: &mut EstablishedFlows,
        station: &UdpServerContext<'_>,
    ) -> Result<(), Error> {
        let EstablishedFlows { links, flows } = introduced;
        let refused = |error| Error::io("answer the client", error);
        let mut prepared = station.prepare(flows, trial)?;
        prepared.forget_earlier_drops()?;
        send_to_all(links, UdpControlMessage::Ready(trial)).map_err(refused)?;
        let UdpReceiveResult { output: driven, sent } = station.receive(prepared, links, flows)?;
        let totals = counts_by_client(&driven.lanes).into_values().map(|(tally, _)| tally.total());
        let (received, all) = totals.fold((0, 0), |(received, all), total| {
            (received + total.received, all + total.received + total.duplicates)
        });
        let full: io::Result<u64> = driven.lanes.iter().map(UdpReceiver::buffer_drops).sum();
        let full = full.map_err(|error| {
            Error::io("read the number of datagrams that a socket dropped", error)
        })?;
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
        // Datagrams that a queue accepted but could not have sustained do not count as received.
        let excess: u64 = driven.lanes.iter().map(UdpReceiver::excess_datagrams).sum();
        let late: u64 = driven.lanes.iter().map(UdpReceiver::late_datagrams).sum();
        let received = received.saturating_sub(excess);
        let late = u32::try_from(late.saturating_sub(excess).min(received)).unwrap_or(u32::MAX);
        // A client that has gone does not need the result.
        let _ = send_to_all(links, UdpControlMessage::Received { late, datagrams: received });
        Ok(())
    }
}

fn send_to_all(links: &[UdpControlLink], message: UdpControlMessage) -> io::Result<()> {
    links.iter().try_for_each(|link| link.send(message))
}

impl Server for SearchServer {
    fn finish(mut self: Box<Self>) -> Result<SideReport, Error> {
        let SearchTotals { all, sent, dropped, cpu, mut findings, granted, .. } =
            self.serving.finish()?;
        if dropped > 0 {
            findings.push(Finding::SocketDrops(SocketDrops { dropped, of: sent }));
        }
        let report = SideReport { findings, cpu, ..SideReport::default() };
        let ends = EndCounts { datagrams_received: all, ..EndCounts::default() };
        Ok(report.with_ends(ends).with_granted(&granted, &self.serving.cores, TrafficRole::Server))
    }
}
