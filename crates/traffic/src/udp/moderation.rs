//! Moderation of a receiving thread: pauses between batches of datagrams, as network cards pause between interrupts.
//!
//! A datagram that finds its receiver asleep wakes it, and the sender's core pays for that: over a veth pair between
//! two cores of a virtual machine, a quarter of the cost of a datagram of 64 bytes there. Where datagrams arrive
//! densely, the receiver pauses once it has taken all of them, and then takes those that have arrived since, without
//! being woken. A receiver that spins is never woken, but takes the socket's lock all the time, for which the sender's
//! core waits: such a receiver holds, which is a pause spent spinning.

use crate::clock;
use rustix::net::sockopt;
use rustix::thread::{clock_nanosleep_relative, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

/// Pauses of one receiving thread.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// Number of messages that a pause may let wait.
    room: u64,
    /// Number of messages taken since `last`.
    taken: u64,
    /// Time at which the sockets were last empty, by the monotonic clock, ns.
    last: Option<u64>,
}

impl Moderation {
    /// Longest distance between messages that counts as dense, ns: two messages in the longest pause.
    ///
    /// Over a bridge between two cores of a virtual machine, messages of 46 datagrams of 1400 bytes came at a distance
    /// of 16 µs, and waking their receiver was 12 % of the sender's core. In eight alternating runs of a second each
    /// they carried 24 Gbit/s where only a distance of 10 µs or less caused a pause, and 29 Gbit/s with this value;
    /// with `receive=drop`, 31 and 39 Gbit/s.
    const DENSE_DISTANCE: u64 = 25_000;
    /// Longest pause, ns. Over a veth pair 20, 50 and 100 µs gave the same rates.
    const MAX_PAUSE: u64 = 50_000;
    /// Longest time for which a receiver that never sleeps leaves the sockets alone, ns.
    ///
    /// Over a veth pair between two cores of a virtual machine, datagrams of 64 bytes came at 560 thousand per second
    /// while the receiver polled without a break, and at 650 thousand with breaks of 5, 10, 20 or 50 µs (medians of
    /// four alternating runs).
    const MAX_HOLD: u64 = 10_000;
    /// Shortest pause, ns. A shorter one is not worth its timer.
    const MIN_PAUSE: u64 = 20_000;
    /// Part of the socket's buffer that a pause may fill, as a divisor: a thread is not always woken in time.
    const BUFFER_SHARE: u64 = 8;
    /// Approximate memory that the kernel charges to a buffer for a message in addition to its bytes.
    const MESSAGE_OVERHEAD: u64 = 1024;

    /// Creates the moderation of the calling thread for these sockets, whose messages have `message` bytes.
    pub(crate) fn for_sockets<'s>(
        sockets: impl IntoIterator<Item = BorrowedFd<'s>>,
        message: usize,
    ) -> io::Result<Self> {
        // If this is refused, a pause is up to twice as long.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut least = usize::MAX;
        for socket in sockets {
            least = least.min(sockopt::socket_recv_buffer_size(socket)?);
        }
        Ok(Self::new(least as u64 / (message as u64 + Self::MESSAGE_OVERHEAD)))
    }

    /// Creates a moderation for a buffer that holds `messages` messages.
    fn new(messages: u64) -> Self {
        Self { room: messages / Self::BUFFER_SHARE, taken: 0, last: None }
    }

    /// Counts messages that were taken.
    #[inline]
    pub(crate) fn add_messages(&mut self, messages: usize) {
        self.taken += messages as u64;
    }

    /// Pauses if messages arrive densely. To be called when the sockets are empty.
    #[inline]
    pub(crate) fn pause(&mut self) {
        if let Some(length) = self.pause_length(clock::now().0) {
            let time = Timespec { tv_sec: 0, tv_nsec: length as _ };
            // If a signal wakes the thread early, it takes a few messages less.
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &time);
        }
    }

    /// Does the same for a receiver that never sleeps: it spins without touching the sockets, whose locks the sender's
    /// core needs.
    #[inline]
    pub(crate) fn hold(&mut self) {
        let start = clock::now().0;
        if let Some(length) = self.hold_length(start) {
            while clock::now().0.saturating_sub(start) < length {
                std::hint::spin_loop();
            }
        }
    }

    /// Returns the time to hold, ns. Returns `None` if messages do not arrive densely.
    #[inline]
    fn hold_length(&mut self, now: u64) -> Option<u64> {
        self.pause_length(now).map(|pause| pause.min(Self::MAX_HOLD))
    }

    /// Returns the time to pause, ns. Returns `None` if messages do not arrive densely.
    #[inline]
    fn pause_length(&mut self, now: u64) -> Option<u64> {
        let taken = std::mem::take(&mut self.taken);
        let since = now.saturating_sub(self.last.replace(now)?);
        let distance = since.checked_div(taken)?;
        let pause = distance.saturating_mul(self.room).min(Self::MAX_PAUSE);
        (distance <= Self::DENSE_DISTANCE && pause >= Self::MIN_PAUSE).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pause after `taken` messages that came within `since` ns, for a buffer of `messages` messages.
    fn due(messages: u64, since: u64, taken: usize) -> Option<u64> {
        let mut moderation = Moderation::new(messages);
        moderation.add_messages(1);
        assert_eq!(moderation.pause_length(1_000_000), None, "of the first no distance is known");
        moderation.add_messages(taken);
        moderation.pause_length(1_000_000 + since)
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
        assert_eq!(moderation.pause_length(0), None);
        moderation.add_messages(64);
        moderation.add_messages(64);
        assert_eq!(moderation.pause_length(1_000_000), Some(50_000));
        moderation.add_messages(1);
        assert_eq!(moderation.pause_length(2_000_000), None);
    }

    #[test]
    fn one_that_spins_holds_less_long_and_where_a_pause_would_pay() {
        let mut moderation = Moderation::new(20_000);
        moderation.add_messages(1);
        assert_eq!(moderation.hold_length(1_000_000), None);
        moderation.add_messages(1);
        assert_eq!(moderation.hold_length(1_002_000), Some(Moderation::MAX_HOLD));
        moderation.add_messages(1);
        assert_eq!(moderation.hold_length(1_028_000), None, "they do not come densely");
    }

    #[test]
    fn one_that_spins_is_away_for_as_long_as_it_holds() {
        let start = clock::now().0;
        // The messages are 10 ns apart. Even if this thread did not run for two seconds, they would still count as
        // dense.
        let mut moderation =
            Moderation { room: 2_500, taken: 100_000, last: Some(start.saturating_sub(1_000_000)) };
        moderation.hold();
        assert!(clock::now().0 - start >= Moderation::MAX_HOLD);
    }

    #[test]
    fn no_pause_fills_a_small_buffer() {
        assert_eq!(due(160, 2_000, 1), Some(40_000));
        assert_eq!(due(40, 2_000, 1), None);
        assert_eq!(due(7, 9_000, 1), None);
    }
}
