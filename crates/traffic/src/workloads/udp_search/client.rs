//! Client of a search: runs one trial after another, at the rates that MLRsearch requests.

use super::search_result::{ending_finding, recorded_bounds};
use super::{SETTLE, goals, options};
use crate::placement::TrafficRole;
use crate::udp::{
    UdpControlMessage, UdpSendResult, UdpTransmitter, granted_to_flows, unexpected_message,
};
use crate::{Client, Error, SideReport, TrialTask, clock};
use std::io;
use std::time::{Duration, Instant};
use tare_record::finding::SlowSender;
use tare_record::{EndCounts, Finding, Nanos, RateSearch as Record, SearchTrial};
use tare_stats::mlrsearch::{
    RequestedTrial, Search, SearchGoal, SearchLimits, SearchStep, TrialResult,
};

/// Rate that no sender reaches, datagrams per second.
const UNLIMITED: f64 = 1e9;

/// Share of the sender's fastest rate to which the search is limited: the sender does not reach its fastest rate every
/// time.
const HEADROOM: f64 = 0.95;

/// Share of the requested rate below which a sender is behind: the trial is repeated, and if that does not help, a
/// finding says so.
const BEHIND: f64 = 0.97;

/// Number of repetitions of such a trial.
const MAX_REPEATS: u32 = 2;

/// Share of the requested rate below which a shortfall is severe: datagrams not sent count as lost (RFC 9971, section
/// 4.9.1).
const SEVERE: f64 = 0.85;

/// Time that a trial with a loss takes beyond its duration: its settling, and the preparations of both sides.
const PAUSE: Duration = SETTLE.saturating_add(Duration::from_millis(20));

/// Time within which the server must answer, beyond its settling.
const ANSWER: Duration = Duration::from_secs(5);

/// Client of `udp-search`.
pub(super) struct SearchClient {
    transmitter: UdpTransmitter,
    goals: [SearchGoal; 2],
    began: Instant,
    /// Beginning of the search, by the monotonic clock.
    epoch: Nanos,
    record: Record,
    slowest: Option<SearchTrial>,
    datagrams_sent: u64,
    cpu: Nanos,
    findings: Vec<Finding>,
}

impl SearchClient {
    /// Connects all flows.
    pub(super) fn connect(task: &TrialTask) -> Result<Self, Error> {
        let options = options(task)?;
        Ok(Self {
            transmitter: UdpTransmitter::connect(task, options)?,
            goals: goals(task)?,
            began: Instant::now(),
            epoch: Nanos(0),
            record: Record { size: options.size as u64, ..Record::default() },
            slowest: None,
            datagrams_sent: 0,
            cpu: Nanos(0),
            findings: Vec::new(),
        })
    }

    /// Searches until all goals are reached or the task's duration is over. Returns the search and its upper limit.
    fn search(&mut self) -> Result<(Search, f64), Error> {
        (self.began, self.epoch) = (Instant::now(), clock::now());
        let [first, _] = self.goals;
        let fastest = self.probe(UNLIMITED, first.final_trial_duration)?;
        let limit = (fastest.offered * HEADROOM).max(1.0);
        let room = SearchLimits {
            min: (10.0 / first.initial_trial_duration.as_secs_f64()).min(limit),
            max: limit,
            budget: self.remaining(),
            pause: PAUSE,
        };
        let mut search = Search::new(&self.goals, room)
            .map_err(|refused| Error::Job(format!("udp-search: {refused}")))?;
        while let SearchStep::RunTrial(RequestedTrial { load, duration }) = search.next_step() {
            if duration + PAUSE > self.remaining() {
                break;
            }
            let before = self.remaining();
            let probe = self.probe_with_retry(load, duration)?;
            search
                .observe(to_trial(load, duration, &probe), before.saturating_sub(self.remaining()));
        }
        Ok((search, limit))
    }

    /// Runs a trial, and repeats it if the sender fell behind: the cause that took its core away may be gone by then.
    fn probe_with_retry(&mut self, load: f64, duration: Duration) -> Result<SearchTrial, Error> {
        let mut probe = self.probe(load, duration)?;
        for _ in 0..MAX_REPEATS {
            if !is_short(&probe, BEHIND) || duration + PAUSE > self.remaining() {
                break;
            }
            probe = self.probe(load, duration)?;
        }
        if is_short(&probe, BEHIND) && !is_short(&probe, SEVERE) {
            self.note_slow(&probe);
        }
        Ok(probe)
    }

    /// Keeps the worst trial that counts although its sender was behind.
    fn note_slow(&mut self, probe: &SearchTrial) {
        let share = |probe: &SearchTrial| probe.offered / probe.asked;
        if self.slowest.is_none_or(|worst| share(probe) < share(&worst)) {
            self.slowest = Some(*probe);
        }
    }

    /// Returns the rest of the task's duration.
    fn remaining(&self) -> Duration {
        Duration::from(self.transmitter.task.duration).saturating_sub(self.began.elapsed())
    }

    /// Runs a trial at this rate and of this duration. Returns its result.
    fn probe(&mut self, load: f64, duration: Duration) -> Result<SearchTrial, Error> {
        let trial = self.record.probes.len() as u32;
        let length = Nanos::from(duration);
        let task =
            TrialTask { duration: length, interval: length, ..self.transmitter.task.clone() };
        let refused = |error| Error::io("coordinate a trial with the server", error);
        let loaded = self.transmitter.prepare(&task, load, trial);
        self.ask(UdpControlMessage::Begin(trial), UdpControlMessage::Ready(trial))
            .map_err(refused)?;
        let began = Nanos::from(self.began.elapsed());
        let UdpSendResult { output: driven, .. } = self.transmitter.send(loaded, &task)?;
        let sent = driven.lanes.iter().map(|lane| lane.tally().total().sent).sum();
        let (received, late) = self.await_received().map_err(refused)?;
        self.datagrams_sent += sent;
        self.cpu = self.cpu + driven.cpu;
        for finding in driven.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        let offered = sent as f64 / duration.as_secs_f64();
        // The rate of the first trial is known only after it.
        let asked = if load == UNLIMITED { offered } else { load };
        let probe = SearchTrial { began, length, asked, offered, sent, received, late };
        self.record.probes.push(probe);
        Ok(probe)
    }

    /// Sends a message to all servers, and waits until all have given this answer.
    fn ask(&mut self, question: UdpControlMessage, answer: UdpControlMessage) -> io::Result<()> {
        for link in &mut self.transmitter.links {
            link.send(question)?;
            if link.receive(ANSWER)? != Some(answer) {
                return Err(unexpected_message());
            }
        }
        Ok(())
    }

    /// Returns the number of datagrams that the servers have received, and how many of them came late.
    fn await_received(&mut self) -> io::Result<(u64, u64)> {
        let (mut received, mut came_late) = (0, 0);
        for link in &mut self.transmitter.links {
            match link.receive(SETTLE + ANSWER)? {
                Some(UdpControlMessage::Received { late, datagrams }) => {
                    (received, came_late) = (received + datagrams, came_late + u64::from(late));
                }
                Some(_) => return Err(unexpected_message()),
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok((received, came_late))
    }
}

/// Returns true if less than this share of the requested rate was offered in a trial.
fn is_short(probe: &SearchTrial, share: f64) -> bool {
    // Of a few datagrams, the last may no longer have been due.
    (probe.sent as f64) < probe.asked * probe.length.as_secs_f64() * share - 1.0
}

/// Converts a probe to a trial of the search: datagrams that a sender far behind did not send count as lost.
fn to_trial(load: f64, duration: Duration, probe: &SearchTrial) -> TrialResult {
    let due = (load * duration.as_secs_f64()) as u64;
    let sent = if is_short(probe, SEVERE) { due } else { probe.sent };
    TrialResult { load, duration, sent, lost: sent.saturating_sub(probe.received) }
}

impl Client for SearchClient {
    fn run(mut self: Box<Self>) -> Result<SideReport, Error> {
        let (search, limit) = self.search()?;
        let found = search.results();
        let Self {
            transmitter, mut record, slowest, datagrams_sent, cpu, mut findings, epoch, ..
        } = *self;
        findings.extend(slowest.map(|probe| {
            Finding::SlowSender(SlowSender { asked: probe.asked, offered: probe.offered })
        }));
        let UdpTransmitter { task, options, flows, cores, .. } = &transmitter;
        record.found = found.iter().map(|found| recorded_bounds(found, &record.probes)).collect();
        for finding in found.iter().filter_map(|found| ending_finding(found, limit)) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        let report = SideReport {
            parameters: task.parameters.clone(),
            findings,
            cpu,
            epoch: Some(epoch),
            search: Some(record),
            ..SideReport::default()
        };
        let granted = granted_to_flows(flows, options, TrafficRole::Client)?;
        let ends = EndCounts { datagrams_sent, ..EndCounts::default() };
        Ok(report.with_ends(ends).with_granted(&granted, cores, TrafficRole::Client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_sender_did_not_send_has_not_passed() {
        let probe = |sent, received| SearchTrial {
            began: Nanos(0),
            length: Nanos(1_000_000_000),
            asked: 1000.0,
            offered: sent as f64,
            sent,
            received,
            late: 0,
        };
        let second = Duration::from_secs(1);
        let close = to_trial(1000.0, second, &probe(980, 980));
        assert_eq!((close.sent, close.lost), (980, 0));
        let behind = to_trial(1000.0, second, &probe(800, 790));
        assert_eq!((behind.sent, behind.lost), (1000, 210));
        assert!(is_short(&probe(960, 960), BEHIND) && !is_short(&probe(960, 960), SEVERE));
    }
}
