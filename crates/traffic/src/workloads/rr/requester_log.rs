//! Log and schedule of a requesting thread: when the next request is due, and the results of all requests.

use super::COUNT;
use super::counts::RequestCounts;
use crate::clock;
use crate::cpu::CpuLog;
use crate::event_loop::SharedDeadline;
use crate::latency::LatencyLog;
use crate::slices::window::SliceWindow;
use crate::tcp::DRAIN_TIMEOUT;
use crate::{TrialTask, parameters};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tare_record::Finding;
use tare_record::finding::{CountShortfall, SlowSender};

/// Next step of a flow that has nothing outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Begin a transaction, whose latency counts from this time.
    Begin(u64),
    /// Wait until a transaction is due.
    WaitUntilDue,
    /// Rest until the next slice.
    Rest,
    /// End the flow: the trial is over.
    End,
}

/// Due times of an open loop, ns after the beginning.
#[derive(Clone, Copy, Debug)]
struct OpenLoopSchedule {
    /// Time between two transactions.
    period: f64,
    /// Number of transactions begun.
    begun: u64,
    /// Due time of the first transaction.
    first: f64,
}

impl OpenLoopSchedule {
    fn due(&self) -> u64 {
        (self.first + self.begun as f64 * self.period) as u64
    }
}

/// Share of a client's flows that one thread has.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadShare {
    /// Index of the thread within its process.
    pub(super) nth: usize,
    /// Number of the thread's flows.
    pub(super) flows: usize,
    /// Number of threads that share its core.
    pub(super) sharing: u64,
}

/// Logs, counters and schedule of one requesting thread. Times are by the monotonic clock, ns.
#[derive(Debug)]
pub(super) struct RequesterLog {
    pub(super) log: LatencyLog,
    pub(super) cpu: CpuLog,
    pub(super) counts: RequestCounts,
    shared_epoch: Arc<OnceLock<u64>>,
    pub(super) epoch: u64,
    duration: u64,
    /// Window of the present slice, or of the trial in one piece.
    window: SliceWindow,
    /// Time for which transactions were due in earlier slices, ns: the schedule does not go on between two slices.
    scheduled: u64,
    /// True in a trial in slices.
    in_slices: bool,
    schedule: Option<OpenLoopSchedule>,
    /// Transactions that may still begin; `None` if time alone ends the trial.
    remaining: Option<u64>,
    /// Time of the last completion, ns after the beginning.
    last_completion: u64,
    patience: Arc<SharedDeadline>,
}

impl RequesterLog {
    pub(super) fn new(
        task: &TrialTask,
        part: ThreadShare,
        epoch: &Arc<OnceLock<u64>>,
        patience: &Arc<SharedDeadline>,
    ) -> Self {
        let schedule = requested_rate(task).map(|rate| {
            // Every flow has its share of the rate; neither threads nor processes begin in step.
            let period = 1e9 / rate * f64::from(task.flows) / part.flows.max(1) as f64;
            OpenLoopSchedule {
                period,
                begun: 0,
                first: (part.nth as f64 + task.stagger()) * 1e9 / rate,
            }
        });
        Self {
            log: LatencyLog::new(task.duration, task.interval, part.sharing),
            cpu: CpuLog::new(task.duration, task.interval),
            counts: RequestCounts::new(task.duration, task.interval),
            shared_epoch: Arc::clone(epoch),
            epoch: 0,
            duration: task.duration.0,
            window: SliceWindow::whole_trial(0, task.duration.0),
            scheduled: 0,
            in_slices: false,
            schedule,
            remaining: requested_count(task),
            last_completion: 0,
            patience: Arc::clone(patience),
        }
    }

    /// Returns the time at which the traffic ended by its number of transactions, ns after the beginning. Returns `None`
    /// if time alone ended it.
    pub(super) fn counted_end(&self) -> Option<u64> {
        (self.remaining == Some(0)).then_some(self.last_completion)
    }

    /// Begins the trial; the first thread to call this sets the time for all. In slices the window has been set.
    pub(super) fn begin(&mut self) {
        self.epoch = *self.shared_epoch.get_or_init(|| clock::now().0);
        if !self.in_slices {
            self.window = SliceWindow::whole_trial(self.epoch, self.duration);
            self.cpu.begin(clock::now().0 - self.epoch);
        }
    }

    /// Begins a slice with this window.
    pub(super) fn begin_slice(&mut self, window: SliceWindow, patience: &Arc<SharedDeadline>) {
        if self.in_slices {
            self.scheduled += self.window.ends - self.window.begins;
        }
        self.in_slices = true;
        self.window = window;
        self.patience = Arc::clone(patience);
    }

    /// Ends the last slice: from now on a flow with nothing outstanding ends.
    pub(super) fn end_slices(&mut self, patience: &Arc<SharedDeadline>) {
        self.in_slices = false;
        self.duration = 0;
        self.patience = Arc::clone(patience);
    }

    fn end(&self) -> u64 {
        self.window.ends
    }

    /// Returns the time at which the next transaction of the schedule is due, by the monotonic clock.
    fn due(&self, schedule: &OpenLoopSchedule) -> u64 {
        (self.window.begins + schedule.due()).saturating_sub(self.scheduled)
    }

    /// Returns the next step of a flow with nothing outstanding.
    #[inline]
    pub(super) fn next(&mut self, now: u64) -> NextStep {
        if now >= self.end() || self.remaining == Some(0) {
            return self.end_traffic();
        }
        let Some(schedule) = self.schedule else {
            self.count_begun();
            return NextStep::Begin(now);
        };
        let due = self.due(&schedule);
        if now < due {
            return NextStep::WaitUntilDue;
        }
        self.schedule = Some(OpenLoopSchedule { begun: schedule.begun + 1, ..schedule });
        self.count_begun();
        NextStep::Begin(due)
    }

    /// Counts a transaction that begins.
    #[inline]
    fn count_begun(&mut self) {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(1);
        }
    }

    /// Returns the next step of a flow whose slice, or trial, is over.
    #[cold]
    fn end_traffic(&mut self) -> NextStep {
        if !self.in_slices {
            return NextStep::End;
        }
        self.cpu.end_slice();
        NextStep::Rest
    }

    /// Returns the time of the next step of a flow with nothing outstanding.
    pub(super) fn next_due(&self) -> u64 {
        self.schedule.map_or(0, |schedule| self.due(&schedule).min(self.end()))
    }

    /// Counts a request that was sent at `now`.
    pub(super) fn count_sent(&mut self, now: u64) {
        self.counts.count_sent(self.window.slice_time(now));
    }

    /// Counts the answer to a request that was sent at this time.
    pub(super) fn count_answered(&mut self, sent: u64) {
        self.counts.count_answered(self.window.slice_time(sent));
    }

    /// Returns the number of transactions of the schedule that have begun.
    pub(super) fn begun(&self) -> u64 {
        self.schedule.map_or(0, |schedule| schedule.begun)
    }

    /// Logs a transaction that completed at `now`, and whose latency counts from `asked`.
    #[inline]
    pub(super) fn complete(&mut self, now: u64, asked: u64) -> io::Result<()> {
        let Some(at) = self.window.slice_time(now) else {
            self.log.add_outside();
            return Ok(());
        };
        self.record_cpu(now, at);
        self.last_completion = at;
        self.log.add(at, now.saturating_sub(asked)).map_err(io::Error::other)
    }

    /// Records the current time, and its slice time, in the CPU log.
    #[inline]
    fn record_cpu(&mut self, now: u64, at: u64) {
        if self.in_slices {
            self.cpu.record_in_slice(&self.window, now);
        } else {
            self.cpu.record(at);
        }
    }

    /// Handles the current time: after the end of the trial, outstanding responses are awaited up to [`DRAIN_TIMEOUT`].
    pub(super) fn on_tick(&mut self, now: u64) {
        if let Some(at) = self.window.slice_time(now) {
            self.record_cpu(now, at);
        }
        if now >= self.end() {
            self.patience.set(Instant::now() + DRAIN_TIMEOUT);
        }
    }
}

/// Returns the transactions per second that a process is to offer: its share of its client's rate. Returns `None` for a
/// closed loop.
fn requested_rate(task: &TrialTask) -> Option<f64> {
    parameters::number(&task.parameters, "open_loop").map(|rate| task.process_share(rate))
}

/// Returns the number of transactions after which the trial ends. Slices end by their time. Returns `None` if time alone
/// ends the trial.
fn requested_count(task: &TrialTask) -> Option<u64> {
    let count = parameters::optional_size(&task.parameters, COUNT).map(|count| count as u64);
    count.filter(|_| task.slices.is_none())
}

/// Returns a finding if time ended a trial that a number of transactions should have ended.
pub(super) fn find_early_end(task: &TrialTask, completed: u64) -> Option<Finding> {
    requested_count(task).map(|asked| Finding::CountShortfall(CountShortfall { asked, completed }))
}

/// Returns a finding if fewer than 99 % of the requested transactions were begun.
pub(super) fn find_shortfall(task: &TrialTask, begun: u64) -> Option<Finding> {
    let asked = requested_rate(task)?;
    let seconds = task.sending_time().as_secs_f64();
    let offered = begun as f64 / seconds;
    // A short trial may hold one transaction less than the rate implies.
    let enough = (asked * seconds * 0.99).floor() - 1.0;
    ((begun as f64) < enough).then_some(Finding::SlowSender(SlowSender { asked, offered }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::{Nanos, SlicePlan};

    fn ledger(rate: Option<f64>, flows: u32, part: ThreadShare) -> RequesterLog {
        let mut task = crate::TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        task.flows = flows;
        task.duration = Nanos(1_000_000_000);
        task.parameters.extend(rate.map(|rate| ("open_loop".to_owned(), rate.into())));
        let mut ledger = RequesterLog::new(&task, part, &Arc::default(), &Arc::default());
        ledger.begin();
        ledger
    }

    #[test]
    fn a_closed_loop_asks_at_once_and_an_open_one_when_it_is_due() {
        let part = ThreadShare { nth: 0, flows: 1, sharing: 1 };
        let mut closed = ledger(None, 1, part);
        let now = closed.epoch;
        assert_eq!((closed.next_due(), closed.next(now)), (0, NextStep::Begin(now)));
        let mut open = ledger(Some(1000.0), 1, part);
        let now = open.epoch;
        assert_eq!(open.next(now), NextStep::Begin(now));
        assert_eq!(open.next(now), NextStep::WaitUntilDue);
        assert_eq!(open.next_due(), now + 1_000_000);
        // A transaction that could not be begun in time counts from its due time.
        assert_eq!(open.next(now + 5_500_000), NextStep::Begin(now + 1_000_000));
        assert_eq!(open.next(now + 1_000_000_000), NextStep::End);
        open.schedule.as_mut().unwrap().begun = u64::MAX >> 20;
        assert_eq!(open.next_due(), now + 1_000_000_000);
    }

    #[test]
    fn a_schedule_goes_on_from_slice_to_slice() {
        let plan = SlicePlan { rounds: 2, warm_up: 0, length: Nanos(4_000_000), skip: Nanos(0) };
        let mut open = ledger(Some(1000.0), 1, ThreadShare { nth: 0, flows: 1, sharing: 1 });
        let begin = |open: &mut RequesterLog, index, at| {
            open.begin_slice(SliceWindow::slice(&plan, index, at), &Arc::default());
        };
        begin(&mut open, 0, 50_000_000);
        for due in [50_000_000, 51_000_000, 52_000_000] {
            assert_eq!(open.next(53_500_000), NextStep::Begin(due));
        }
        assert_eq!(open.next(54_000_000), NextStep::Rest);
        // What was due at 53 ms could not be begun in time: it is a millisecond late in the next slice.
        begin(&mut open, 1, 90_000_000);
        assert_eq!(open.next(90_000_000), NextStep::Begin(89_000_000));
        assert_eq!(open.next(90_000_000), NextStep::Begin(90_000_000));
        assert_eq!(open.next(90_000_000), NextStep::WaitUntilDue);
        assert_eq!(open.next_due(), 91_000_000);
    }

    #[test]
    fn threads_have_their_share_of_the_rate_by_their_flows() {
        let mut open = ledger(Some(1000.0), 4, ThreadShare { nth: 1, flows: 2, sharing: 1 });
        let (now, mut begun) = (open.epoch + 999_999_999, 0);
        assert_eq!(open.next_due(), open.epoch + 1_000_000);
        while open.next(now) != NextStep::WaitUntilDue {
            begun += 1;
        }
        assert_eq!(begun, 500);
    }

    #[test]
    fn a_rate_that_was_not_reached_is_said() {
        let mut task = crate::TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        assert_eq!(find_shortfall(&task, 0), None);
        task.parameters.insert("open_loop".to_owned(), 1000.0.into());
        task.duration = Nanos(1_000_000_000);
        assert_eq!(find_shortfall(&task, 989), None);
        let expected = Finding::SlowSender(SlowSender { asked: 1000.0, offered: 900.0 });
        assert_eq!(find_shortfall(&task, 900), Some(expected));
        // In slices more is due than in the time that counts.
        let (length, skip) = (Nanos(400_000_000), Nanos(100_000_000));
        task.slices = Some(SlicePlan { rounds: 3, warm_up: 1, length, skip });
        assert!(find_shortfall(&task, 1_900).is_some());
        assert_eq!(find_shortfall(&task, 1_980), None);
    }
}
