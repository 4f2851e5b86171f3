//! Wait mode: the way in which a thread waits for the other end. The event loop takes it as a value.

use crate::sys::{enable_busy_poll, incoming_napi_id};
use crate::{Error, Parameter, ParameterKind, clock, parameters};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use tare_record::Parameters;

/// Parameter of every workload whose threads can wait in more than one way.
pub(crate) const WAIT: Parameter = Parameter {
    name: "wait",
    summary: "waiting of a thread: asleep in the kernel, spinning on calls that do not wait, or polling the card's queue",
    kind: ParameterKind::Choice(&["block", "spin", "busy-poll"]),
    default: Some("block"),
};

/// Way in which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// The thread sleeps until the kernel wakes it.
    Block,
    /// The thread stays awake and repeats calls that do not block.
    Spin,
    /// The thread makes calls that poll the network card's queue before they sleep.
    BusyPoll,
}

/// Time before an action is due at which a sleeping thread is to be awake, ns; the thread spends the rest checking the
/// clock. A timer's wake-up takes 5–20 µs on an idle virtual machine.
const WAKE_UP_LEAD: u64 = 30_000;

impl WaitMode {
    /// Reads the mode from resolved parameters; [`WaitMode::Block`] for a workload without the choice.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Self {
        match parameters::word(parameters, WAIT.name) {
            Some("spin") => Self::Spin,
            Some("busy-poll") => Self::BusyPoll,
            _ => Self::Block,
        }
    }

    /// Prepares a connected socket for this mode. Data must have arrived through `control`, which may be the socket
    /// itself.
    pub(crate) fn prepare_socket(self, socket: impl AsFd, control: impl AsFd) -> Result<(), Error> {
        if self != Self::BusyPoll {
            return Ok(());
        }
        let queue = incoming_napi_id(control)
            .map_err(|error| Error::io("read the NAPI queue of a socket", error))?;
        if queue == 0 {
            let why = "cannot use --wait busy-poll: packets come from no NAPI queue here, as on loopback and plain veth: use --wait block or spin";
            return Err(Error::Job(why.to_owned()));
        }
        enable_busy_poll(socket).map_err(|error| {
            Error::io(
                "set SO_BUSY_POLL for --wait busy-poll (run tare as root for CAP_NET_ADMIN, or use --wait spin)",
                error,
            )
        })
    }

    /// Returns the part of a waiting time that may be slept, ns; 0 if the thread stays awake.
    pub(crate) fn sleep_part(self, nanos: u64) -> u64 {
        match self {
            Self::Spin => 0,
            Self::Block | Self::BusyPoll => nanos.saturating_sub(WAKE_UP_LEAD),
        }
    }

    /// Waits until a time of the monotonic clock, asleep for as much of it as this mode allows.
    pub(crate) fn wait_until(self, due: u64) {
        let now = clock::now().0;
        let asleep = self.sleep_part(due.saturating_sub(now));
        if asleep > 0 {
            // A signal that wakes the thread early costs a little more spinning.
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(now + asleep));
        }
        while clock::now().0 < due {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps until a time of the monotonic clock, at most ten seconds; a timer may be late.
pub fn sleep_until(due: u64) {
    const MOST: u64 = 10_000_000_000;
    let due = due.min(clock::now().0 + MOST);
    while clock::now().0 < due {
        // Woken by a signal, the thread goes back to sleep.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(due));
    }
}

/// Sleeps until one of these sockets can be read, at most this long.
pub fn sleep_until_readable<'s>(
    sockets: impl IntoIterator<Item = BorrowedFd<'s>>,
    most: Duration,
) -> io::Result<()> {
    let mut waits: Vec<_> =
        sockets.into_iter().map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)).collect();
    let most = timespec(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX));
    match poll(&mut waits, Some(&most)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes this thread's timers precise: by default the kernel is up to 50 µs late, to save wake-ups (prctl(2)).
pub(crate) fn set_precise_timers() {
    // If it is refused, the thread wakes late, and its measurement says so.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Converts nanoseconds to the kernel's `timespec`.
pub(crate) fn timespec(nanos: u64) -> Timespec {
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn no_way_of_waiting_ends_early() {
        for wait in [WaitMode::Block, WaitMode::Spin, WaitMode::BusyPoll] {
            let due = clock::now().0 + 300_000;
            wait.wait_until(due);
            assert!(clock::now().0 >= due);
            wait.wait_until(0);
        }
        let due = clock::now().0 + 300_000;
        sleep_until(due);
        assert!(clock::now().0 >= due);
        assert_eq!((WaitMode::Spin.sleep_part(1 << 40), WaitMode::Block.sleep_part(10)), (0, 0));
    }

    #[test]
    fn busy_polling_is_refused_where_there_is_no_queue() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(WaitMode::Block.prepare_socket(&stream, &stream).is_ok());
        let error = WaitMode::BusyPoll.prepare_socket(&stream, &stream).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot use --wait busy-poll: packets come from no NAPI"),
            "{error}"
        );
    }
}
