//! The searching side: one trial after another, at the rates that MLRsearch asks for.

use super::found::{bounds, finding};
use super::{SETTLE, goals, options};
use crate::placement::Role;
use crate::udp::{Message, Sent, Transmitter, granted_of, out_of_turn};
use crate::{Client, Error, Report, Task, clock};
use std::io;
use std::time::{Duration, Instant};
use tare_record::{Ends, Finding, Nanos, Probe, Search as Record};
use tare_stats::mlrsearch::{Ask, Goal, Room, Search, Step, Trial};

/// More than any sender can do, datagrams per second.
const UNLIMITED: f64 = 1e9;

/// What a sender was seen to do at its fastest it does not do every time: the search goes no further than this share.
const HEADROOM: f64 = 0.95;

/// A sender that sends less than this share of what it was asked is behind: the trial is done again, and if that does
/// not help, it is said.
const BEHIND: f64 = 0.97;

/// So often.
const AGAIN: u32 = 2;

/// Less than this share is a severe shortfall: what was not sent counts as lost (RFC 9971, section 4.9.1).
const SEVERE: f64 = 0.85;

/// What a trial takes beyond its duration where something was lost: its settling, and both sides' preparations.
const PAUSE: Duration = SETTLE.saturating_add(Duration::from_millis(20));

/// How long the server may take to answer, beyond its settling.
const ANSWER: Duration = Duration::from_secs(5);

/// The searching side.
pub(super) struct Searching {
    transmitter: Transmitter,
    goals: [Goal; 2],
    began: Instant,
    /// When the search began, by the monotonic clock.
    epoch: Nanos,
    record: Record,
    slowest: Option<Probe>,
    datagrams_sent: u64,
    cpu: Nanos,
    findings: Vec<Finding>,
}

impl Searching {
    /// Connects all flows.
    pub(super) fn connect(task: &Task) -> Result<Self, Error> {
        let options = options(task)?;
        Ok(Self {
            transmitter: Transmitter::connect(task, options)?,
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

    /// Searches until all goals are reached or the task's duration is over. Says what the sender could do.
    fn search(&mut self) -> Result<(Search, f64), Error> {
        (self.began, self.epoch) = (Instant::now(), clock::now());
        let [first, _] = self.goals;
        let fastest = self.probe(UNLIMITED, first.final_trial_duration)?;
        let limit = (fastest.offered * HEADROOM).max(1.0);
        let room = Room {
            min: (10.0 / first.initial_trial_duration.as_secs_f64()).min(limit),
            max: limit,
            budget: self.left(),
            pause: PAUSE,
        };
        let mut search = Search::new(&self.goals, room)
            .map_err(|refused| Error::Job(format!("udp-search: {refused}")))?;
        while let Step::Ask(Ask { load, duration }) = search.step() {
            if duration + PAUSE > self.left() {
                break;
            }
            let before = self.left();
            let probe = self.prompt_probe(load, duration)?;
            search.observe(outcome(load, duration, &probe), before.saturating_sub(self.left()));
        }
        Ok((search, limit))
    }

    /// A trial, again where the sender fell well behind in it: what took its core away may be gone by then.
    fn prompt_probe(&mut self, load: f64, duration: Duration) -> Result<Probe, Error> {
        let mut probe = self.probe(load, duration)?;
        for _ in 0..AGAIN {
            if !is_short(&probe, BEHIND) || duration + PAUSE > self.left() {
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
    fn note_slow(&mut self, probe: &Probe) {
        let share = |probe: &Probe| probe.offered / probe.asked;
        if self.slowest.is_none_or(|worst| share(probe) < share(&worst)) {
            self.slowest = Some(*probe);
        }
    }

    /// What is left of the task's duration.
    fn left(&self) -> Duration {
        Duration::from(self.transmitter.task.duration).saturating_sub(self.began.elapsed())
    }

    /// Sends at a rate for so long, and hears what came of it.
    fn probe(&mut self, load: f64, duration: Duration) -> Result<Probe, Error> {
        let trial = self.record.probes.len() as u32;
        let length = Nanos::from(duration);
        let task = Task { duration: length, interval: length, ..self.transmitter.task.clone() };
        let refused = |error| Error::io("talk to the server about a trial", error);
        let loaded = self.transmitter.load(&task, load, trial);
        self.ask(Message::Begin(trial), Message::Ready(trial)).map_err(refused)?;
        let began = Nanos::from(self.began.elapsed());
        let Sent { driven, .. } = self.transmitter.send(loaded, &task)?;
        let sent = driven.lanes.iter().map(|lane| lane.tally().total().sent).sum();
        let received = self.hear_received().map_err(refused)?;
        self.datagrams_sent += sent;
        self.cpu = self.cpu + driven.cpu;
        for finding in driven.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        let offered = sent as f64 / duration.as_secs_f64();
        // Of the first trial it is known only afterwards what it could be asked.
        let asked = if load == UNLIMITED { offered } else { load };
        let probe = Probe { began, length, asked, offered, sent, received };
        self.record.probes.push(probe);
        Ok(probe)
    }

    /// Says something to all servers, and waits until all have given this answer.
    fn ask(&mut self, question: Message, answer: Message) -> io::Result<()> {
        for link in &mut self.transmitter.links {
            link.tell(question)?;
            if link.hear(ANSWER)? != Some(answer) {
                return Err(out_of_turn());
            }
        }
        Ok(())
    }

    fn hear_received(&mut self) -> io::Result<u64> {
        let mut received = 0;
        for link in &mut self.transmitter.links {
            match link.hear(SETTLE + ANSWER)? {
                Some(Message::Received { datagrams, .. }) => received += datagrams,
                Some(_) => return Err(out_of_turn()),
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(received)
    }
}

/// Whether less than this share of what was asked for was offered in a trial.
fn is_short(probe: &Probe, share: f64) -> bool {
    // Of a few datagrams the last one may not have been due any more.
    (probe.sent as f64) < probe.asked * probe.length.as_secs_f64() * share - 1.0
}

/// What a trial tells the search: what a sender far behind did not send has not passed.
fn outcome(load: f64, duration: Duration, probe: &Probe) -> Trial {
    let due = (load * duration.as_secs_f64()) as u64;
    let sent = if is_short(probe, SEVERE) { due } else { probe.sent };
    Trial { load, duration, sent, lost: sent.saturating_sub(probe.received) }
}

impl Client for Searching {
    fn run(mut self: Box<Self>) -> Result<Report, Error> {
        let (search, limit) = self.search()?;
        let found = search.found();
        let Self {
            transmitter, mut record, slowest, datagrams_sent, cpu, mut findings, epoch, ..
        } = *self;
        findings.extend(
            slowest
                .map(|probe| Finding::SenderTooSlow { asked: probe.asked, offered: probe.offered }),
        );
        let Transmitter { task, options, flows, cores, .. } = &transmitter;
        record.found = found.iter().map(|found| bounds(found, &record.probes)).collect();
        for finding in found.iter().filter_map(|found| finding(found, limit)) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        let report = Report {
            parameters: task.parameters.clone(),
            findings,
            cpu,
            epoch: Some(epoch),
            search: Some(record),
            ..Report::default()
        };
        let granted = granted_of(flows, options, Role::Client)?;
        let ends = Ends { datagrams_sent, ..Ends::default() };
        Ok(report.counted(ends).with(&granted, cores, Role::Client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_sender_did_not_send_has_not_passed() {
        let probe = |sent, received| Probe {
            began: Nanos(0),
            length: Nanos(1_000_000_000),
            asked: 1000.0,
            offered: sent as f64,
            sent,
            received,
        };
        let second = Duration::from_secs(1);
        let close = outcome(1000.0, second, &probe(980, 980));
        assert_eq!((close.sent, close.lost), (980, 0));
        let behind = outcome(1000.0, second, &probe(800, 790));
        assert_eq!((behind.sent, behind.lost), (1000, 210));
        assert!(is_short(&probe(960, 960), BEHIND) && !is_short(&probe(960, 960), SEVERE));
    }
}
