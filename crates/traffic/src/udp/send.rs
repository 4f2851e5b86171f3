//! Sending loop of one thread: stamps the datagrams that are due by the schedule and passes them to the kernel.

use super::handshake::UdpFlow;
use super::header::{DatagramHeader, FlowTag};
use super::interval_counters::IntervalCounters;
use super::options::{DatagramGrouping, Options};
use super::schedule::{PreciseTimer, SendSchedule};
use crate::cpu::CpuLog;
use crate::event_loop::{SharedDeadline, TICK};
use crate::payload::incompressible_payload;
use crate::slices::window::{SlicePlace, SliceWindow};
use crate::sys::SendBatch;
use crate::{TrialTask, clock};
use rustix::io::Errno;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use tare_record::SlicePlan;

/// Sending side of one flow.
#[derive(Debug)]
struct SendingFlow {
    socket: Arc<UdpSocket>,
    number: u32,
    mark: FlowTag,
    /// Number of datagrams sent.
    sent: u64,
}

/// Sending side of all flows of one thread.
#[derive(Debug)]
pub(crate) struct UdpSender {
    flows: Vec<SendingFlow>,
    /// Index of the flow that sends next.
    next_flow: usize,
    outbox: SendBatch,
    schedule: SendSchedule,
    /// Datagrams in each message.
    group: usize,
    size: usize,
    /// Time for which to send, ns.
    duration: u64,
    /// Beginning of the trial, by the monotonic clock, ns: the same for all threads of a client.
    epoch: Arc<OnceLock<u64>>,
    tally: IntervalCounters,
    cpu: CpuLog,
    /// Slices of the trial. `None` if it runs in one piece.
    slices: Option<SlicePlan>,
}

impl UdpSender {
    /// Messages per call. One call per message could not keep up.
    const MESSAGE_BATCH: usize = 32;
    /// Messages per call where each message holds many datagrams.
    const GROUP_BATCH: usize = 4;

    /// Creates the sender of these flows, at the rate and in the trial that `pace` states. The datagrams of several
    /// threads are interleaved. Allocates all memory that the loop uses.
    pub(crate) fn new(
        flows: Vec<UdpFlow>,
        task: &TrialTask,
        options: &Options,
        pace: SendPace,
        epoch: &Arc<OnceLock<u64>>,
    ) -> Self {
        let group = match options.grouping {
            DatagramGrouping::Single => 1,
            DatagramGrouping::Grouped => {
                let release = rustix::system::uname();
                group_size(
                    options.size,
                    pace.per_second,
                    max_segments(&release.release().to_string_lossy()),
                )
            }
        };
        let batch = if group > 1 { Self::GROUP_BATCH } else { Self::MESSAGE_BATCH };
        let outgoing = |flow: UdpFlow| SendingFlow {
            mark: FlowTag::new(task.token, pace.trial, flow.number),
            number: flow.number,
            socket: flow.socket,
            sent: 0,
        };
        Self {
            flows: flows.into_iter().map(outgoing).collect(),
            next_flow: 0,
            outbox: SendBatch::new(batch, &incompressible_payload(options.size * group)),
            schedule: SendSchedule::new(pace.per_second, group as u64, pace.origin),
            group,
            size: options.size,
            duration: task.duration.0,
            epoch: Arc::clone(epoch),
            tally: IntervalCounters::new(task.duration, task.interval),
            cpu: CpuLog::new(task.duration, task.interval),
            slices: task.slices,
        }
    }

    /// Returns the counts by interval.
    pub(crate) fn tally(&self) -> &IntervalCounters {
        &self.tally
    }

    /// Returns the CPU time of this thread.
    pub(crate) fn cpu(&self) -> &CpuLog {
        &self.cpu
    }

    /// Returns each flow's number with its number of datagrams sent.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (u32, u64)> {
        self.flows.iter().map(|flow| (flow.number, flow.sent))
    }

    fn prepare_sockets(&self) -> io::Result<()> {
        self.flows.iter().try_for_each(|flow| {
            flow.socket.set_nonblocking(false)?;
            flow.socket.set_write_timeout(Some(TICK))
        })
    }

    /// Sends in a slice with this window, whose sending time begins at `from`.
    pub(crate) fn run_slice(&mut self, window: SliceWindow, from: u64) -> io::Result<()> {
        self.prepare_sockets()?;
        self.epoch.get_or_init(|| window.begins);
        let until = from + (window.ends - window.begins);
        let waiter = PreciseTimer::new(window.begins.saturating_sub(from));
        loop {
            let now = waiter.now();
            self.cpu.record_in_slice(&window, window.begins + (now - from));
            let next = self.schedule.next_due();
            if now >= until || next >= until as f64 {
                waiter.sleep_until(until);
                self.cpu.end_slice();
                return Ok(());
            }
            match self.schedule.due(now) {
                0 => waiter.approach(next as u64, now),
                due => self.send_messages(now, due as usize / self.group)?,
            }
        }
    }

    /// Sends for the duration, or until patience is over.
    pub(crate) fn run(&mut self, patience: &SharedDeadline) -> io::Result<()> {
        self.prepare_sockets()?;
        let waiter = PreciseTimer::new(*self.epoch.get_or_init(|| clock::now().0));
        self.cpu.begin(waiter.now());
        loop {
            let now = waiter.now();
            self.cpu.record(now);
            let next = self.schedule.next_due();
            if now >= self.duration || next >= self.duration as f64 || patience.is_past() {
                // The rest of the last interval counts for this thread too.
                waiter.sleep_until(self.duration);
                self.cpu.record(waiter.now());
                return Ok(());
            }
            match self.schedule.due(now) {
                0 => waiter.approach(next as u64, now),
                due => self.send_messages(now, due as usize / self.group)?,
            }
        }
    }

    /// Sends up to `messages` messages in one call, on the flow that is next in turn.
    #[inline]
    fn send_messages(&mut self, now: u64, messages: usize) -> io::Result<()> {
        let messages = messages.min(self.outbox.messages());
        let flow = &mut self.flows[self.next_flow];
        let mut number = flow.sent;
        for message in 0..messages {
            for datagram in self.outbox.message(message).chunks_exact_mut(self.size) {
                DatagramHeader { tag: flow.mark, number, sent: now }.write(datagram);
                number += 1;
            }
        }
        let taken = match self.outbox.send(flow.socket.as_fd(), messages) {
            Ok(taken) => taken,
            Err(error) => messages_lost(error)?,
        };
        let datagrams = (taken * self.group) as u64;
        flow.sent += datagrams;
        self.schedule.record_sent(datagrams);
        let at = self.slices.map_or(now, |plan| {
            SlicePlace::find(&plan, now).slice_time.unwrap_or(IntervalCounters::OUTSIDE)
        });
        self.tally.count_sent(at, datagrams, self.size as u64);
        self.next_flow = (self.next_flow + 1) % self.flows.len();
        Ok(())
    }
}

/// Rate and start of a thread's sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SendPace {
    /// Datagrams per second.
    pub(crate) per_second: f64,
    /// Due time of the first datagram, ns after the trial's beginning.
    pub(crate) origin: f64,
    /// Number of the trial in its session, from 0.
    pub(crate) trial: u32,
}

/// Returns the number of messages that are lost when the kernel refuses the first message of a call: one if it was
/// refused on its path, 0 if the kernel did not try to send it. Fails for any other error.
fn messages_lost(error: io::Error) -> io::Result<usize> {
    match Errno::from_io_error(&error) {
        // The sender's buffer is full, a signal arrived, or an earlier datagram found no receiver.
        Some(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => Ok(0),
        // A filter, a full queue, or a missing route or device: this is loss like any other.
        Some(
            Errno::PERM
            | Errno::NOBUFS
            | Errno::NETUNREACH
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::HOSTDOWN,
        ) => Ok(1),
        Some(Errno::INVAL | Errno::MSGSIZE) => Err(io::Error::new(
            error.kind(),
            format!("{error}: with --gso a datagram must fit into the MTU: use a smaller --size"),
        )),
        _ => Err(error),
    }
}

/// Returns the number of datagrams of this size in one message: as many as the kernel splits a message into, and no
/// more than are due in a millisecond.
fn group_size(size: usize, per_second: f64, segments: usize) -> usize {
    /// Maximum payload of a message without headers, bytes: less than 64 KiB in either address family.
    const BYTES: usize = 65_000;
    let timely = (per_second / 1e3) as usize;
    (BYTES / size).min(segments).min(timely).max(1)
}

/// Returns the number of datagrams into which a kernel of this release splits a message at most (UDP_MAX_SEGMENTS,
/// udp(7)).
fn max_segments(release: &str) -> usize {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(Result::ok).unwrap_or_default();
    // The limit was doubled in Linux 6.9.
    if (number(), number()) >= (6, 9) { 128 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fit_into_one_message_and_into_a_millisecond() {
        assert_eq!(group_size(64, 1e9, 64), 64);
        assert_eq!(group_size(1400, 1e9, 64), 46);
        assert_eq!(group_size(65_507, 1e9, 64), 1);
        assert_eq!(group_size(64, 10_000.0, 64), 10);
        assert_eq!(group_size(64, 10.0, 64), 1);
    }

    #[test]
    fn kernels_split_as_far_as_their_release_does() {
        for (release, most) in [
            ("6.18.44-fc-v595", 128),
            ("6.9.0", 128),
            ("6.9-rc1", 128),
            ("7.0.1", 128),
            ("6.8.12", 64),
            ("5.15.0-91-generic", 64),
            ("unknown", 64),
        ] {
            assert_eq!(max_segments(release), most, "{release}");
        }
    }

    #[test]
    fn what_is_refused_on_its_way_is_lost_and_what_was_not_tried_is_not() {
        let of = |errno: Errno| messages_lost(errno.into());
        assert_eq!((of(Errno::AGAIN).unwrap(), of(Errno::CONNREFUSED).unwrap()), (0, 0));
        assert_eq!((of(Errno::PERM).unwrap(), of(Errno::NETUNREACH).unwrap()), (1, 1));
        assert!(of(Errno::BADF).is_err());
        let error = messages_lost(Errno::INVAL.into()).unwrap_err().to_string();
        assert!(error.contains("--size"), "{error}");
    }
}
