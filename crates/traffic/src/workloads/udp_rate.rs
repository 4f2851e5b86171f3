//! `udp-rate`: datagrams at an offered load that is held precisely, and what became of each of them.
//!
//! Datagrams are counted by the interval of the client's clock in which they were sent, which each carries: a loss is
//! never negative, and what is late at the end of one interval is not lost in it. The receiver's figures are the result,
//! beside them stands what was really offered. Nothing makes up for a pause of the sender's of more than a millisecond.
//! CPU time includes what pacing takes: near its next datagram a sender looks at the clock without sleeping.

use crate::placement::{Cores, Role};
use crate::tcp::Granted;
use crate::udp::{
    BUFFER, GSO, Introduced, Options, RECEIVE, Received, Receiver, SIZE, Sent, Serving, Tally,
    Transmitter, WAIT, Wait, by_client, granted_of,
};
use crate::{About, Client, Error, Kind, Parameter, Report, Server, Task, Workload};
use crate::{cpu, lanes, parameters};
use std::io;
use tare_record::{Ends, Finding, Metric, Nanos, Placement, Series};

/// The workload.
#[derive(Debug)]
pub(crate) struct UdpRate;

/// The offered load.
const RATE: Parameter = Parameter {
    name: "rate",
    summary: "offered load of each client, all its processes and flows together: bits of payload or datagrams per second; more than it can do is as fast as it can",
    kind: Kind::Load,
    default: Some("100mbit"),
};

impl Workload for UdpRate {
    fn about(&self) -> About {
        About {
            name: "udp-rate",
            summary: "UDP datagrams at a given rate: what was offered, what came, and how",
            stands_for: "iperf3 -u, sockperf throughput, RFC 2544 frame loss rate",
            source: "https://www.rfc-editor.org/rfc/rfc2544#section-26.3",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::Offered,
            Metric::Packets,
            Metric::Loss,
            Metric::Reordered,
            Metric::Duplicates,
            Metric::Jitter,
            Metric::CpuPerGb,
            Metric::CyclesPerPacket,
            Metric::InstructionsPerPacket,
            Metric::CpuBusy,
        ]
    }

    fn ports(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[RATE, SIZE, GSO, RECEIVE, BUFFER, WAIT, lanes::THREADS]
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let options = Options::of(&task.parameters)?;
        let serving = Serving::start(task, &options, |introduced, station| {
            let Introduced { mut links, flows } = introduced;
            let received = station.receive(station.prepare(&flows, 0)?, &mut links, &flows)?;
            Ok(Caught { received, granted: granted_of(&flows, station.options, Role::Server)? })
        })?;
        Ok(Box::new(Receiving { serving, options, task: task.clone() }))
    }

    fn connect(&self, task: &Task) -> Result<Box<dyn Client>, Error> {
        let options = Options::of(&task.parameters)?;
        Ok(Box::new(Sending { transmitter: Transmitter::connect(task, options)? }))
    }
}

/// Datagrams per second that the task asks of a client's process: its share of the client's load.
fn asked(task: &Task, options: &Options) -> Result<f64, Error> {
    parameters::load(&task.parameters, RATE.name)
        .map(|load| task.share(load.packets_per_second(options.size)))
        .ok_or_else(|| Error::Job("the task says no `rate`".to_owned()))
}

/// What the serving thread hands back.
#[derive(Debug)]
struct Caught {
    received: Received,
    granted: Granted,
}

/// The serving side.
struct Receiving {
    serving: Serving<Caught>,
    options: Options,
    task: Task,
}

impl Server for Receiving {
    fn finish(mut self: Box<Self>) -> Result<Report, Error> {
        let Caught { received: Received { driven, sent }, granted } = self.serving.finish()?;
        let clients = by_client(&driven.lanes);
        let came = clients.values().map(|(tally, _)| tally.total());
        let received = came.clone().map(|total| total.received).sum();
        let again = came.map(|total| total.duplicates).sum::<u64>();
        let mut findings = driven.findings;
        findings.extend(dropped_at_socket(&driven.lanes, received, sent)?);
        findings.extend(spinning(
            &self.options,
            &self.serving.cores,
            &self.task,
            driven.lanes.len(),
        ));
        let usual = Nanos((3e9 / asked(&self.task, &self.options)?) as u64);
        let interval = self.task.interval.max(usual);
        findings.extend(clients.values().filter_map(|(_, gaps)| gaps.finding(interval)));
        let mut report = Report { findings, cpu: driven.cpu, ..Report::default() };
        for lane in &driven.lanes {
            cpu::add(&mut report.cpu_by_interval, lane.cpu().rows());
        }
        report.series = clients
            .into_iter()
            .map(|(client, (tally, _))| Series::of(client, tally.intervals()))
            .collect();
        let ends = Ends { datagrams_received: received + again, ..Ends::default() };
        Ok(report.counted(ends).with(&granted, &self.serving.cores, Role::Server))
    }
}

/// Datagrams that were lost in the receiver's own full buffers.
fn dropped_at_socket(
    lanes: &[Receiver],
    received: u64,
    sent: Option<u64>,
) -> Result<Option<Finding>, Error> {
    let full: io::Result<u64> = lanes.iter().map(Receiver::found_full).sum();
    let full = full.map_err(|error| Error::io("read what a socket lost", error))?;
    let of = sent.unwrap_or(received + full);
    let dropped = full.min(of.saturating_sub(received));
    Ok((dropped > 0).then_some(Finding::DroppedAtSocket { dropped, of }))
}

/// Whether threads that spin share their cores, with one another or with the senders.
fn spinning(options: &Options, cores: &Cores, task: &Task, lanes: usize) -> Option<Finding> {
    let threads = lanes * task.peers.max(1) as usize;
    let cores = cores.list().len();
    let shared = threads > cores || task.cpus == Placement::Same;
    (options.wait == Wait::Spin && shared)
        .then_some(Finding::SpinsOnSharedCore { threads: threads as u32, cores: cores as u32 })
}

/// The generating side.
struct Sending {
    transmitter: Transmitter,
}

impl Client for Sending {
    fn run(self: Box<Self>) -> Result<Report, Error> {
        let Self { transmitter } = *self;
        let Transmitter { task, options, flows, cores, .. } = &transmitter;
        let asked = asked(task, options)?;
        let loaded = transmitter.load(task, asked, 0);
        let Sent { driven, epoch } = transmitter.send(loaded, task)?;
        let mut tally = Tally::new(task.duration, task.interval);
        let mut report = Report {
            parameters: task.parameters.clone(),
            cpu: driven.cpu,
            epoch: epoch.map(Nanos),
            findings: driven.findings,
            ..Report::default()
        };
        for lane in &driven.lanes {
            tally.merge(lane.tally());
            cpu::add(&mut report.cpu_by_interval, lane.cpu().rows());
        }
        let sent = tally.total().sent;
        report.findings.extend(too_slow(asked, sent, task.duration));
        report.series = vec![Series::of(task.client, tally.intervals())];
        let granted = granted_of(flows, options, Role::Client)?;
        let ends = Ends { datagrams_sent: sent, ..Ends::default() };
        Ok(report.counted(ends).with(&granted, cores, Role::Client))
    }
}

/// Whether less than 99 % of what was asked for was offered.
fn too_slow(asked: f64, sent: u64, duration: Nanos) -> Option<Finding> {
    const ENOUGH: f64 = 0.99;
    let due = asked * duration.as_secs_f64();
    // Of a few datagrams the last one may not have been due any more.
    let slow = (sent as f64) < due * ENOUGH - 1.0;
    let offered = sent as f64 / duration.as_secs_f64();
    slow.then_some(Finding::SenderTooSlow { asked, offered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_offers_less_than_it_should_is_told() {
        let second = Nanos(1_000_000_000);
        assert_eq!(too_slow(1000.0, 990, second), None);
        assert_eq!(too_slow(1.0, 0, second), None);
        let expected = Finding::SenderTooSlow { asked: 1000.0, offered: 900.0 };
        assert_eq!(too_slow(1000.0, 900, second), Some(expected));
    }
}
