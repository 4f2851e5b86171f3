//! What a requesting thread keeps beside its flows: when the next request is due, and what came of all.

use super::counts::Counts;
use crate::clock;
use crate::cpu::CpuLog;
use crate::drive::Patience;
use crate::latency::LatencyLog;
use crate::tcp::GRACE;
use crate::{Task, parameters};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tare_record::Finding;

/// What a flow that has nothing outstanding does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Begins a transaction, whose latency counts from this time.
    Begin(u64),
    /// Waits until one is due.
    Rest,
    /// Ends: the trial is over.
    End,
}

/// The due times of an open loop, ns after the beginning.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// Between two transactions.
    period: f64,
    /// How many have been begun.
    begun: u64,
    /// When the first is due.
    first: f64,
}

impl Schedule {
    fn due(&self) -> u64 {
        (self.first + self.begun as f64 * self.period) as u64
    }
}

/// The part of a client's flows that is one thread's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The thread's place among those of its process.
    pub(super) nth: usize,
    /// How many flows it has.
    pub(super) flows: usize,
    /// How many threads share its core.
    pub(super) sharing: u64,
}

/// What one requesting thread keeps. Times are by the monotonic clock, ns.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) log: LatencyLog,
    pub(super) cpu: CpuLog,
    pub(super) counts: Counts,
    shared_epoch: Arc<OnceLock<u64>>,
    pub(super) epoch: u64,
    duration: u64,
    schedule: Option<Schedule>,
    patience: Arc<Patience>,
}

impl Ledger {
    pub(super) fn new(
        task: &Task,
        part: Part,
        epoch: &Arc<OnceLock<u64>>,
        patience: &Arc<Patience>,
    ) -> Self {
        let schedule = asked(task).map(|rate| {
            // Every flow has its share of the rate; neither threads nor processes begin in step.
            let period = 1e9 / rate * f64::from(task.flows) / part.flows.max(1) as f64;
            Schedule { period, begun: 0, first: (part.nth as f64 + task.stagger()) * 1e9 / rate }
        });
        Self {
            log: LatencyLog::new(task.duration, task.interval, part.sharing),
            cpu: CpuLog::new(task.duration, task.interval),
            counts: Counts::new(task.duration, task.interval),
            shared_epoch: Arc::clone(epoch),
            epoch: 0,
            duration: task.duration.0,
            schedule,
            patience: Arc::clone(patience),
        }
    }

    /// The trial begins, with the first of the threads to come here.
    pub(super) fn begin(&mut self) {
        self.epoch = *self.shared_epoch.get_or_init(|| clock::now().0);
        self.cpu.begin(clock::now().0 - self.epoch);
    }

    fn end(&self) -> u64 {
        self.epoch + self.duration
    }

    /// What a flow with nothing outstanding does now.
    #[inline]
    pub(super) fn next(&mut self, now: u64) -> Next {
        if now >= self.end() {
            return Next::End;
        }
        let Some(schedule) = &mut self.schedule else {
            return Next::Begin(now);
        };
        let due = self.epoch + schedule.due();
        if now < due {
            return Next::Rest;
        }
        schedule.begun += 1;
        Next::Begin(due)
    }

    /// When a flow with nothing outstanding shall be asked again.
    pub(super) fn due(&self) -> u64 {
        self.schedule.map_or(0, |schedule| (self.epoch + schedule.due()).min(self.end()))
    }

    /// How many transactions of the schedule have been begun.
    pub(super) fn begun(&self) -> u64 {
        self.schedule.map_or(0, |schedule| schedule.begun)
    }

    /// Logs a transaction that completed now.
    #[inline]
    pub(super) fn complete(&mut self, now: u64, asked: u64) -> io::Result<()> {
        let at = now - self.epoch;
        self.cpu.at(at);
        self.log.add(at, now.saturating_sub(asked)).map_err(io::Error::other)
    }

    /// Looks at the clock: what is outstanding when the trial is over is waited for, but not for ever.
    pub(super) fn look(&mut self, now: u64) {
        self.cpu.at(now - self.epoch);
        if now >= self.end() {
            self.patience.limit(Instant::now() + GRACE);
        }
    }
}

/// Transactions per second that a process is asked for: its share of its client's.
fn asked(task: &Task) -> Option<f64> {
    parameters::number(&task.parameters, "open_loop").map(|rate| task.share(rate))
}

/// That fewer than 99 % of the transactions asked for were begun.
pub(super) fn shortfall(task: &Task, begun: u64) -> Option<Finding> {
    let asked = asked(task)?;
    let offered = begun as f64 / task.duration.as_secs_f64();
    // A short trial may hold one transaction less than the rate says.
    let enough = (asked * task.duration.as_secs_f64() * 0.99).floor() - 1.0;
    ((begun as f64) < enough).then_some(Finding::SenderTooSlow { asked, offered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::Nanos;

    fn ledger(rate: Option<f64>, flows: u32, part: Part) -> Ledger {
        let mut task = crate::Task::made_up("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        task.flows = flows;
        task.duration = Nanos(1_000_000_000);
        task.parameters.extend(rate.map(|rate| ("open_loop".to_owned(), rate.into())));
        let mut ledger = Ledger::new(&task, part, &Arc::default(), &Arc::default());
        ledger.begin();
        ledger
    }

    #[test]
    fn a_closed_loop_asks_at_once_and_an_open_one_when_it_is_due() {
        let part = Part { nth: 0, flows: 1, sharing: 1 };
        let mut closed = ledger(None, 1, part);
        let now = closed.epoch;
        assert_eq!((closed.due(), closed.next(now)), (0, Next::Begin(now)));
        let mut open = ledger(Some(1000.0), 1, part);
        let now = open.epoch;
        assert_eq!(open.next(now), Next::Begin(now));
        assert_eq!(open.next(now), Next::Rest);
        assert_eq!(open.due(), now + 1_000_000);
        // What could not be begun in time counts from when it was due.
        assert_eq!(open.next(now + 5_500_000), Next::Begin(now + 1_000_000));
        assert_eq!(open.next(now + 1_000_000_000), Next::End);
        open.schedule.as_mut().unwrap().begun = u64::MAX >> 20;
        assert_eq!(open.due(), now + 1_000_000_000);
    }

    #[test]
    fn threads_have_their_share_of_the_rate_by_their_flows() {
        let mut open = ledger(Some(1000.0), 4, Part { nth: 1, flows: 2, sharing: 1 });
        let (now, mut begun) = (open.epoch + 999_999_999, 0);
        assert_eq!(open.due(), open.epoch + 1_000_000);
        while open.next(now) != Next::Rest {
            begun += 1;
        }
        assert_eq!(begun, 500);
    }

    #[test]
    fn a_rate_that_was_not_reached_is_said() {
        let mut task = crate::Task::made_up("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        assert_eq!(shortfall(&task, 0), None);
        task.parameters.insert("open_loop".to_owned(), 1000.0.into());
        task.duration = Nanos(1_000_000_000);
        assert_eq!(shortfall(&task, 989), None);
        let expected = Finding::SenderTooSlow { asked: 1000.0, offered: 900.0 };
        assert_eq!(shortfall(&task, 900), Some(expected));
    }
}
