//! perf_event_open(2), as far as it is needed to count: two events that are counted together, and read together.
//!
//! Attributes are laid out as the first version of `struct perf_event_attr` (linux/perf_event.h), which every kernel takes.

use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An event: `type` and `config` of its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    kind: u32,
    number: u64,
}

impl Event {
    /// `PERF_TYPE_HARDWARE`, `PERF_COUNT_HW_CPU_CYCLES`.
    pub(crate) const CYCLES: Self = Self { kind: 0, number: 0 };
    /// `PERF_COUNT_HW_INSTRUCTIONS`.
    pub(crate) const INSTRUCTIONS: Self = Self { kind: 0, number: 1 };
    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`: ns that are counted whether or not the core has work.
    #[cfg(test)]
    pub(crate) const CPU_CLOCK: Self = Self { kind: 1, number: 0 };
    /// `PERF_COUNT_SW_TASK_CLOCK`: ns for which a task ran.
    #[cfg(test)]
    pub(crate) const TASK_CLOCK: Self = Self { kind: 1, number: 1 };
    /// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
    #[cfg(test)]
    pub(crate) const CONTEXT_SWITCHES: Self = Self { kind: 1, number: 3 };
}

/// Whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Of whatever runs on a core.
    Core(u32),
    /// Of a thread, wherever it runs, and of the threads and processes that it starts from now on.
    Thread(u32),
}

/// What is counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// In programs and in the kernel.
    Everything,
    /// In programs alone.
    Programs,
}

/// One reading of a pair, since it was opened (linux/perf_event.h, `struct read_format` with `PERF_FORMAT_GROUP`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Reading {
    pub(crate) events: u64,
    /// How long it was to be counted, ns.
    pub(crate) enabled: u64,
    /// How long it was, ns: less where the counters are shared in turns.
    pub(crate) running: u64,
    /// The events, in the pair's order.
    pub(crate) values: [u64; 2],
}

/// Two events that are counted at the same times, as long as this is there.
#[derive(Debug)]
pub(crate) struct Pair {
    first: OwnedFd,
    /// Counts as long as it is open; it is read with the first.
    _second: OwnedFd,
}

#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    number: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `_RUNNING` and `PERF_FORMAT_GROUP`.
const READ_FORMAT: u64 = 1 | 2 | 8;
/// Bits of the flags: `inherit` and `exclude_kernel`.
const INHERIT: u64 = flag(1);
const EXCLUDE_KERNEL: u64 = flag(5);
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// A bit-field of C's, which begins at the other end on some machines.
const fn flag(bit: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - bit) } else { 1 << bit }
}

impl Pair {
    /// Begins to count.
    pub(crate) fn open([first, second]: [Event; 2], whose: Whose, depth: Depth) -> Result<Self> {
        let first = open(first, whose, depth, -1)?;
        let second = open(second, whose, depth, first.as_raw_fd())?;
        Ok(Self { first, _second: second })
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> Result<Reading> {
        let mut reading = Reading::default();
        let size = size_of::<Reading>();
        // SAFETY: the kernel writes at most `size` bytes to `reading`, which lives through the call; any bytes are a valid
        // `Reading`, which has no padding and only whole numbers.
        let read = unsafe {
            libc::read(self.first.as_raw_fd(), std::ptr::from_mut(&mut reading).cast(), size)
        };
        // A group that the kernel could not keep whole reads as nothing.
        match usize::try_from(read) {
            Ok(read) if read == size => Ok(reading),
            Ok(_) => Err(Errno::IO),
            Err(_) => Err(last_error()),
        }
    }
}

/// One event, in the group of another where that is not -1.
fn open(event: Event, whose: Whose, depth: Depth, group: libc::c_int) -> Result<OwnedFd> {
    let (thread, core): (libc::pid_t, libc::c_int) = match whose {
        Whose::Core(core) => (-1, core.try_into().map_err(|_| Errno::INVAL)?),
        Whose::Thread(thread) => (thread.try_into().map_err(|_| Errno::INVAL)?, -1),
    };
    let inherit = if thread == -1 { 0 } else { INHERIT };
    let depth = if depth == Depth::Programs { EXCLUDE_KERNEL } else { 0 };
    let attributes = Attributes {
        kind: event.kind,
        size: size_of::<Attributes>() as u32,
        number: event.number,
        sample_period: 0,
        sample_kind: 0,
        read_format: READ_FORMAT,
        flags: inherit | depth,
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    // SAFETY: the attributes live as long as the call, hold no addresses, and tell their own size; the rest are numbers.
    let descriptor = unsafe {
        let at = std::ptr::from_ref(&attributes);
        libc::syscall(libc::SYS_perf_event_open, at, thread, core, group, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel has just opened it for this call, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Has the calling thread take 20 ms of CPU time, however long that lasts.
#[cfg(test)]
pub(crate) fn burn() {
    use rustix::time::{ClockId, clock_gettime};
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let begun = spent();
    while spent() - begun < 20_000_000 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_size_of_the_first_version() {
        // PERF_ATTR_SIZE_VER0.
        assert_eq!(size_of::<Attributes>(), 64);
        assert_eq!(size_of::<Reading>(), 40);
    }

    #[test]
    fn threads_that_are_started_later_are_counted_too() {
        let me = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let events = [Event::TASK_CLOCK, Event::CONTEXT_SWITCHES];
        let pair = Pair::open(events, Whose::Thread(me), Depth::Programs).unwrap();
        std::thread::spawn(burn).join().unwrap();
        let reading = pair.read().unwrap();
        assert!(reading.values[0] > 10_000_000, "{reading:?}");
        assert_eq!((reading.events, reading.running <= reading.enabled), (2, true));
    }
}
