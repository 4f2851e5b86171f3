//! The sending loop of one thread: what is due by the schedule is stamped and handed to the kernel.

use super::header::{Header, Mark};
use super::introduce::Flow;
use super::options::{Handing, Options};
use super::pace::{Schedule, Waiter};
use super::tally::Tally;
use crate::cpu::CpuLog;
use crate::drive::{Patience, TICK};
use crate::payload::payload;
use crate::sys::Outbox;
use crate::{Task, clock};
use rustix::io::Errno;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

/// One sending flow.
#[derive(Debug)]
struct Outgoing {
    socket: Arc<UdpSocket>,
    number: u32,
    mark: Mark,
    /// How many were sent.
    sent: u64,
}

/// The sending flows of one thread.
#[derive(Debug)]
pub(crate) struct Sender {
    flows: Vec<Outgoing>,
    /// Whose turn it is.
    turn: usize,
    outbox: Outbox,
    schedule: Schedule,
    /// Datagrams in each message.
    group: usize,
    size: usize,
    /// How long to send, ns.
    duration: u64,
    /// When the trial began, by the monotonic clock: the same for all threads of a client.
    epoch: Arc<OnceLock<u64>>,
    tally: Tally,
    cpu: CpuLog,
}

impl Sender {
    /// Messages handed over in one call, where one call a message cannot keep up.
    const BATCH: usize = 32;
    /// The same of messages that hold many datagrams each.
    const GROUPS: usize = 4;

    /// For these flows, at so many datagrams per second together, in a trial of this number. `place` is this thread's
    /// among `of`: their datagrams are interleaved. All memory that the loop will use is allocated here.
    pub(crate) fn new(
        flows: Vec<Flow>,
        task: &Task,
        options: &Options,
        pace: Pace,
        epoch: &Arc<OnceLock<u64>>,
    ) -> Self {
        let group = match options.handing {
            Handing::Single => 1,
            Handing::Grouped => {
                let release = rustix::system::uname();
                group(options.size, pace.per_second, segments(&release.release().to_string_lossy()))
            }
        };
        let batch = if group > 1 { Self::GROUPS } else { Self::BATCH };
        let outgoing = |flow: Flow| Outgoing {
            mark: Mark::new(task.token, pace.trial, flow.number),
            number: flow.number,
            socket: flow.socket,
            sent: 0,
        };
        Self {
            flows: flows.into_iter().map(outgoing).collect(),
            turn: 0,
            outbox: Outbox::new(batch, &payload(options.size * group)),
            schedule: Schedule::new(pace.per_second, group as u64, pace.origin),
            group,
            size: options.size,
            duration: task.duration.0,
            epoch: Arc::clone(epoch),
            tally: Tally::new(task.duration, task.interval),
            cpu: CpuLog::new(task.duration, task.interval),
        }
    }

    /// What was sent.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// This thread's CPU time.
    pub(crate) fn cpu(&self) -> &CpuLog {
        &self.cpu
    }

    /// How much was sent on each flow.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (u32, u64)> {
        self.flows.iter().map(|flow| (flow.number, flow.sent))
    }

    /// Sends for the duration, or until patience is over.
    pub(crate) fn run(&mut self, patience: &Patience) -> io::Result<()> {
        for flow in &self.flows {
            flow.socket.set_nonblocking(false)?;
            flow.socket.set_write_timeout(Some(TICK))?;
        }
        let waiter = Waiter::new(*self.epoch.get_or_init(|| clock::now().0));
        self.cpu.begin(waiter.now());
        loop {
            let now = waiter.now();
            self.cpu.at(now);
            let next = self.schedule.next();
            if now >= self.duration || next >= self.duration as f64 || patience.is_over() {
                // What is left of the last interval is this thread's too.
                waiter.sleep_until(self.duration);
                self.cpu.at(waiter.now());
                return Ok(());
            }
            match self.schedule.due(now) {
                0 => waiter.approach(next as u64, now),
                due => self.hand_over(now, due as usize / self.group)?,
            }
        }
    }

    /// Hands over so many messages, or as many as fit into one call, on the flow whose turn it is.
    #[inline]
    fn hand_over(&mut self, now: u64, messages: usize) -> io::Result<()> {
        let messages = messages.min(self.outbox.messages());
        let flow = &mut self.flows[self.turn];
        let mut number = flow.sent;
        for message in 0..messages {
            for datagram in self.outbox.message(message).chunks_exact_mut(self.size) {
                Header { mark: flow.mark, number, sent: now }.write(datagram);
                number += 1;
            }
        }
        let taken = match self.outbox.send(flow.socket.as_fd(), messages) {
            Ok(taken) => taken,
            Err(error) => given_up(error)?,
        };
        let datagrams = (taken * self.group) as u64;
        flow.sent += datagrams;
        self.schedule.sent(datagrams);
        self.tally.sent(now, datagrams, self.size as u64);
        self.turn = (self.turn + 1) % self.flows.len();
        Ok(())
    }
}

/// How fast a thread sends, and when it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Datagrams per second.
    pub(crate) per_second: f64,
    /// When the first one is due, ns after the trial's beginning.
    pub(crate) origin: f64,
    /// Which trial of its session it is, from 0.
    pub(crate) trial: u32,
}

/// How many messages are lost where the kernel refuses the first one of a call: that one where it was refused on its
/// way, none where it was not even tried.
fn given_up(error: io::Error) -> io::Result<usize> {
    match Errno::from_io_error(&error) {
        // The sender's buffer is full, a signal, or news of an earlier datagram that nobody was there for.
        Some(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => Ok(0),
        // A filter, a queue without room, a route or a device that is gone: this is loss as any other.
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
            format!("{error}: with --gso a datagram has to fit into the MTU, use a smaller --size"),
        )),
        _ => Err(error),
    }
}

/// How many datagrams of this size are handed over as one: as many as the kernel splits a message into, and no more than a
/// millisecond's.
fn group(size: usize, per_second: f64, segments: usize) -> usize {
    /// Bytes, headers left out: less than 64 KiB in either family.
    const BYTES: usize = 65_000;
    let timely = (per_second / 1e3) as usize;
    (BYTES / size).min(segments).min(timely).max(1)
}

/// Into how many datagrams a kernel of this release splits a message at most (UDP_MAX_SEGMENTS, udp(7)).
fn segments(release: &str) -> usize {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(Result::ok).unwrap_or_default();
    // It was doubled in Linux 6.9.
    if (number(), number()) >= (6, 9) { 128 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fit_into_one_message_and_into_a_millisecond() {
        assert_eq!(group(64, 1e9, 64), 64);
        assert_eq!(group(1400, 1e9, 64), 46);
        assert_eq!(group(65_507, 1e9, 64), 1);
        assert_eq!(group(64, 10_000.0, 64), 10);
        assert_eq!(group(64, 10.0, 64), 1);
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
            assert_eq!(segments(release), most, "{release}");
        }
    }

    #[test]
    fn what_is_refused_on_its_way_is_lost_and_what_was_not_tried_is_not() {
        let of = |errno: Errno| given_up(errno.into());
        assert_eq!((of(Errno::AGAIN).unwrap(), of(Errno::CONNREFUSED).unwrap()), (0, 0));
        assert_eq!((of(Errno::PERM).unwrap(), of(Errno::NETUNREACH).unwrap()), (1, 1));
        assert!(of(Errno::BADF).is_err());
        let error = given_up(Errno::INVAL.into()).unwrap_err().to_string();
        assert!(error.contains("--size"), "{error}");
    }
}
