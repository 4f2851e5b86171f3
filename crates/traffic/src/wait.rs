//! How a thread waits for the other end: a value that the driving loop takes.

use crate::sys::{busy_poll, incoming_queue};
use crate::{Error, Kind, Parameter, clock, parameters};
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use tare_record::Parameters;

/// The parameter of every workload whose threads can wait in more than one way.
pub(crate) const WAIT: Parameter = Parameter {
    name: "wait",
    summary: "how a thread waits: asleep in the kernel, spinning on calls that do not wait, or polling the card's queue",
    kind: Kind::Choice(&["block", "spin", "busy-poll"]),
    default: Some("block"),
};

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Asleep, until the kernel wakes it.
    Block,
    /// Awake, calling again and again without waiting.
    Spin,
    /// In calls that poll the network card's queue before they sleep.
    BusyPoll,
}

/// How long before something is due a sleeping thread wants to be awake, ns: what is left it spends looking at the
/// clock. A timer's wake-up takes 5–20 µs on an idle virtual machine.
const EARLY: u64 = 30_000;

impl Wait {
    /// As resolved parameters say; asleep, for a workload that has no choice.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        match parameters::word(parameters, WAIT.name) {
            Some("spin") => Self::Spin,
            Some("busy-poll") => Self::BusyPoll,
            _ => Self::Block,
        }
    }

    /// Prepares a connected socket on which something has come in through `control` (which may be itself).
    pub(crate) fn prepare(self, socket: impl AsFd, control: impl AsFd) -> Result<(), Error> {
        if self != Self::BusyPoll {
            return Ok(());
        }
        let queue = incoming_queue(control)
            .map_err(|error| Error::io("ask for a socket's NAPI queue", error))?;
        if queue == 0 {
            let why = "wait busy-poll: packets come from no NAPI queue here, as on loopback and plain veth: use block or spin";
            return Err(Error::Job(why.to_owned()));
        }
        busy_poll(socket).map_err(|error| {
            Error::io("wait busy-poll: SO_BUSY_POLL (it takes CAP_NET_ADMIN; or use spin)", error)
        })
    }

    /// How much of a time to wait may be slept, ns; nought when the thread stays awake.
    pub(crate) fn asleep(self, nanos: u64) -> u64 {
        match self {
            Self::Spin => 0,
            Self::Block | Self::BusyPoll => nanos.saturating_sub(EARLY),
        }
    }

    /// Waits until a time of the monotonic clock, asleep for as much of it as this way of waiting allows.
    pub(crate) fn until(self, due: u64) {
        let now = clock::now().0;
        let asleep = self.asleep(due.saturating_sub(now));
        if asleep > 0 {
            // A signal that wakes it early costs a little more spinning.
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(now + asleep));
        }
        while clock::now().0 < due {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps until a time of the monotonic clock, or for the most that anybody may ask for; a timer may be late.
pub(crate) fn sleep_until(due: u64) {
    const MOST: u64 = 10_000_000_000;
    let due = due.min(clock::now().0 + MOST);
    while clock::now().0 < due {
        // Woken by a signal, it goes back to sleep.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(due));
    }
}

/// Lets this thread's timers end when they should: by default the kernel is 50 µs late, to save wake-ups (prctl(2)).
pub(crate) fn precise_timers() {
    // Where it is refused, the thread wakes late, and whoever measures with it says so.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Nanoseconds as the kernel wants them.
pub(crate) fn timespec(nanos: u64) -> Timespec {
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn no_way_of_waiting_ends_early() {
        for wait in [Wait::Block, Wait::Spin, Wait::BusyPoll] {
            let due = clock::now().0 + 300_000;
            wait.until(due);
            assert!(clock::now().0 >= due);
            wait.until(0);
        }
        let due = clock::now().0 + 300_000;
        sleep_until(due);
        assert!(clock::now().0 >= due);
        assert_eq!((Wait::Spin.asleep(1 << 40), Wait::Block.asleep(10)), (0, 0));
    }

    #[test]
    fn busy_polling_is_refused_where_there_is_no_queue() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(Wait::Block.prepare(&stream, &stream).is_ok());
        let error = Wait::BusyPoll.prepare(&stream, &stream).unwrap_err().to_string();
        assert!(error.starts_with("wait busy-poll: packets come from no NAPI"), "{error}");
    }
}
