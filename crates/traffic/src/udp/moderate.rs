//! When a receiver that waits leaves off for a moment, as network cards do between interrupts.
//!
//! A datagram that finds its receiver asleep has it woken, and the sender's core pays for that: over a veth pair between
//! two cores of a virtual machine, a quarter of what a datagram of 64 bytes costs there. Where datagrams come densely the
//! receiver pauses when it has taken all there is, and then takes what has come meanwhile: nobody has to wake it.

use rustix::net::sockopt;
use rustix::thread::{clock_nanosleep_relative, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

/// One receiving thread's pauses.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// How many messages a pause may let wait.
    room: u64,
    /// When something was last taken, by the monotonic clock, ns.
    last: Option<u64>,
}

impl Moderation {
    /// What comes at this distance or less, ns, comes densely.
    const DENSE: u64 = 10_000;
    /// How long a pause is at most, ns. Over a veth pair 20, 50 and 100 µs gave the same rates.
    const LONGEST: u64 = 50_000;
    /// A shorter one is not worth its timer, ns.
    const SHORTEST: u64 = 20_000;
    /// The share of the socket's buffer that a pause may fill: a thread is not always woken in time.
    const SHARE: u64 = 8;
    /// What the kernel books of a buffer for a message beside its bytes, about.
    const OVERHEAD: u64 = 1024;

    /// For the calling thread and this socket, to which messages of so many bytes come.
    pub(crate) fn of(socket: BorrowedFd<'_>, message: usize) -> io::Result<Self> {
        // Refused, a pause is up to twice as long.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let buffer = sockopt::socket_recv_buffer_size(socket)? as u64;
        Ok(Self::new(buffer / (message as u64 + Self::OVERHEAD)))
    }

    /// For a buffer that holds so many messages.
    fn new(messages: u64) -> Self {
        Self { room: messages / Self::SHARE, last: None }
    }

    /// How long to pause, ns, if at all, after so many messages were taken at this time in a call with so much room.
    #[inline]
    pub(crate) fn after(&mut self, now: u64, came: usize, room: usize) -> Option<u64> {
        let since = now.saturating_sub(self.last.replace(now)?);
        // After a full batch there may be more.
        if !(1..room).contains(&came) {
            return None;
        }
        let distance = since / came as u64;
        let pause = distance.saturating_mul(self.room).min(Self::LONGEST);
        (distance <= Self::DENSE && pause >= Self::SHORTEST).then_some(pause)
    }

    /// Pauses for so long, ns.
    pub(crate) fn pause(length: u64) {
        let time = Timespec { tv_sec: 0, tv_nsec: length as _ };
        // Woken early by a signal, it takes a little less.
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause after messages at these times, ns, of which so many came last.
    fn after(messages: u64, times: [u64; 2], came: usize) -> Option<u64> {
        let mut moderation = Moderation::new(messages);
        assert_eq!(moderation.after(times[0], 1, 64), None, "of the first no distance is known");
        moderation.after(times[1], came, 64)
    }

    #[test]
    fn what_comes_densely_is_collected() {
        assert_eq!(after(20_000, [0, 2_000], 1), Some(50_000));
        assert_eq!(after(20_000, [0, 60_000], 30), Some(50_000));
        assert_eq!(after(20_000, [0, 20_000], 1), None, "a wake-up for each is cheap enough");
        assert_eq!(after(20_000, [0, 2_000], 64), None, "there may be more at once");
        assert_eq!(after(20_000, [0, 2_000], 0), None);
    }

    #[test]
    fn no_pause_fills_a_small_buffer() {
        assert_eq!(after(160, [0, 2_000], 1), Some(40_000));
        assert_eq!(after(40, [0, 2_000], 1), None);
        assert_eq!(after(7, [0, 9_000], 1), None);
    }
}
