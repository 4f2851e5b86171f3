//! When a receiver that waits leaves off for a moment, as network cards do between interrupts.
//!
//! A datagram that finds its receiver asleep has it woken, and the sender's core pays for that: over a veth pair between
//! two cores of a virtual machine, a quarter of what a datagram of 64 bytes costs there. Where datagrams come densely the
//! receiver pauses when it has taken all there is, and then takes what has come meanwhile: nobody has to wake it. One that
//! spins has nobody wake it, but takes the socket's lock all the time, for which the sender's core waits: it holds, too.

use crate::clock;
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
    /// How many were taken since `last`.
    taken: u64,
    /// When all was taken that there was, by the monotonic clock, ns.
    last: Option<u64>,
}

impl Moderation {
    /// What comes at this distance or less, ns, comes densely: two in the longest pause.
    ///
    /// Over a bridge between two cores of a virtual machine messages of 46 datagrams of 1400 bytes came at 16 µs, and waking
    /// their receiver was 12 % of the sender's core. In eight alternating runs of a second each they carried 24 Gbit/s
    /// where only a distance of 10 µs made a pause, and 29 by this one; dropped, 31 and 39.
    const DENSE: u64 = 25_000;
    /// How long a pause is at most, ns. Over a veth pair 20, 50 and 100 µs gave the same rates.
    const LONGEST: u64 = 50_000;
    /// How long a receiver that never sleeps leaves the sockets alone at most, ns.
    ///
    /// Over a veth pair between two cores of a virtual machine datagrams of 64 bytes came at 560 thousand a second while the
    /// receiver asked without a break, and at 650 with breaks of 5, 10, 20 or 50 µs (medians of four alternating runs).
    const LONGEST_HOLD: u64 = 10_000;
    /// A shorter one is not worth its timer, ns.
    const SHORTEST: u64 = 20_000;
    /// The share of the socket's buffer that a pause may fill: a thread is not always woken in time.
    const SHARE: u64 = 8;
    /// What the kernel books of a buffer for a message beside its bytes, about.
    const OVERHEAD: u64 = 1024;

    /// For the calling thread and these sockets, to which messages of so many bytes come.
    pub(crate) fn of<'s>(
        sockets: impl IntoIterator<Item = BorrowedFd<'s>>,
        message: usize,
    ) -> io::Result<Self> {
        // Refused, a pause is up to twice as long.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut least = usize::MAX;
        for socket in sockets {
            least = least.min(sockopt::socket_recv_buffer_size(socket)?);
        }
        Ok(Self::new(least as u64 / (message as u64 + Self::OVERHEAD)))
    }

    /// For a buffer that holds so many messages.
    fn new(messages: u64) -> Self {
        Self { room: messages / Self::SHARE, taken: 0, last: None }
    }

    /// Notes that so many messages were taken.
    #[inline]
    pub(crate) fn took(&mut self, messages: usize) {
        self.taken += messages as u64;
    }

    /// Pauses if that pays, now that all was taken that there was.
    #[inline]
    pub(crate) fn pause(&mut self) {
        if let Some(length) = self.due(clock::now().0) {
            let time = Timespec { tv_sec: 0, tv_nsec: length as _ };
            // Woken early by a signal, it takes a little less.
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &time);
        }
    }

    /// The same for a receiver that never sleeps: it only leaves the sockets alone, whose locks the sender's core wants.
    #[inline]
    pub(crate) fn hold(&mut self) {
        let start = clock::now().0;
        if let Some(length) = self.held(start) {
            while clock::now().0.saturating_sub(start) < length {
                std::hint::spin_loop();
            }
        }
    }

    /// How long to hold, ns, if at all.
    #[inline]
    fn held(&mut self, now: u64) -> Option<u64> {
        self.due(now).map(|pause| pause.min(Self::LONGEST_HOLD))
    }

    /// How long to pause, ns, if at all.
    #[inline]
    fn due(&mut self, now: u64) -> Option<u64> {
        let taken = std::mem::take(&mut self.taken);
        let since = now.saturating_sub(self.last.replace(now)?);
        let distance = since.checked_div(taken)?;
        let pause = distance.saturating_mul(self.room).min(Self::LONGEST);
        (distance <= Self::DENSE && pause >= Self::SHORTEST).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause in the middle of messages of which so many came in so long, ns.
    fn due(messages: u64, since: u64, taken: usize) -> Option<u64> {
        let mut moderation = Moderation::new(messages);
        moderation.took(1);
        assert_eq!(moderation.due(1_000_000), None, "of the first no distance is known");
        moderation.took(taken);
        moderation.due(1_000_000 + since)
    }

    #[test]
    fn what_comes_densely_is_collected() {
        assert_eq!(due(20_000, 2_000, 1), Some(50_000));
        assert_eq!(due(20_000, 60_000, 30), Some(50_000));
        assert_eq!(due(1_000, 16_000, 1), Some(50_000));
        assert_eq!(due(20_000, 26_000, 1), None, "a pause would hold one");
        assert_eq!(due(20_000, 2_000, 0), None);
    }

    #[test]
    fn what_was_taken_in_several_calls_counts_together() {
        let mut moderation = Moderation::new(20_000);
        assert_eq!(moderation.due(0), None);
        moderation.took(64);
        moderation.took(64);
        assert_eq!(moderation.due(1_000_000), Some(50_000));
        moderation.took(1);
        assert_eq!(moderation.due(2_000_000), None);
    }

    #[test]
    fn one_that_spins_holds_less_long_and_where_a_pause_would_pay() {
        let mut moderation = Moderation::new(20_000);
        moderation.took(1);
        assert_eq!(moderation.held(1_000_000), None);
        moderation.took(1);
        assert_eq!(moderation.held(1_002_000), Some(Moderation::LONGEST_HOLD));
        moderation.took(1);
        assert_eq!(moderation.held(1_028_000), None, "they do not come densely");
    }

    #[test]
    fn one_that_spins_is_away_for_as_long_as_it_holds() {
        let start = clock::now().0;
        // 10 ns apart; were this thread not let run for two seconds, they would still come densely.
        let mut moderation =
            Moderation { room: 2_500, taken: 100_000, last: Some(start.saturating_sub(1_000_000)) };
        moderation.hold();
        assert!(clock::now().0 - start >= Moderation::LONGEST_HOLD);
    }

    #[test]
    fn no_pause_fills_a_small_buffer() {
        assert_eq!(due(160, 2_000, 1), Some(40_000));
        assert_eq!(due(40, 2_000, 1), None);
        assert_eq!(due(7, 9_000, 1), None);
    }
}
